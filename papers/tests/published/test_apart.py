"""What is published stays apart from what is proven; `lint-imports` keeps the library from importing it."""

import subprocess
import sys
from importlib.metadata import files


def test_the_library_does_without_the_papers():
    code = "import sys, sfumato, sfumato.cli; sys.exit(any(name.startswith('sfumato_papers') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_they_are_another_distribution():
    assert not [file for file in files("sfumato") or () if "papers" in str(file)]
