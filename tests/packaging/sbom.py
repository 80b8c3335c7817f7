"""`make sbom`: what a wheel needs at run time, to the version, as CycloneDX.

The wheel is installed as a user would install it, under the constraints of the checkout, into an environment of its
own; what is there afterwards is listed. Run as `python -m tests.packaging.sbom dist`, beside the wheel in that folder.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[2]
ALONE = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
"""The environment of a process that sees its own packages, and none of the checkout."""


def install(distribution: Path, folder: Path) -> Path:
    """A new environment with the distribution, what it needs and nothing else, not even pip; its interpreter."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    command = [*pip, "--constraint", str(ROOT / "constraints.txt"), str(distribution)]
    subprocess.run(command, env=ALONE, check=True)
    return python


def describe(wheel: Path, python: Path) -> str:
    """The bill of materials of a wheel, from an environment in which it was installed."""
    tool = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"]
    about = ["--pyproject", "pyproject.toml", "--mc-type", "library", str(python)]
    done = subprocess.run([*tool, *about], cwd=ROOT, env=ALONE, check=True, capture_output=True, text=True)
    document = json.loads(done.stdout)
    _, version, _, _ = parse_wheel_filename(wheel.name)
    document["metadata"]["component"] |= {  # the tool leaves out a version that pyproject.toml does not hold
        "version": str(version),
        "purl": f"pkg:pypi/sfumato@{version}",
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}],
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def main(folder: str) -> None:
    """Write it beside the wheel."""
    (wheel,) = Path(folder).glob("*.whl")
    with tempfile.TemporaryDirectory() as place:
        text = describe(wheel, install(wheel, Path(place)))
    out = wheel.with_name(f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json")
    out.write_text(text, encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
