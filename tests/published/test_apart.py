"""Studies stay apart from what protects people."""

import subprocess
import sys
from pathlib import Path

import sfumato

ROOT = Path(sfumato.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
HERE = [file for file in FILES if file.is_relative_to(ROOT / "published")]


def test_the_rest_of_the_library_never_imports_them():
    assert len(HERE) > 10
    assert not [
        file
        for file in FILES
        if file not in HERE and ("sfumato.published" in imports(file) or "sfumato import published" in imports(file))
    ]


def imports(file: Path) -> str:
    return "\n".join(line for line in file.read_text().splitlines() if line.lstrip().startswith(("from ", "import ")))


def test_importing_the_library_does_not_load_them():
    code = "import sys, sfumato, sfumato.cli; sys.exit('sfumato.published' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_randomness_comes_from_the_argument():
    for file in HERE:
        assert "np.random." not in file.read_text().replace("np.random.Generator", "")
