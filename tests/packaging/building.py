"""Builds of a checkout, as `make dist` makes them."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def files_of_the_checkout() -> list[str]:
    """What git tracks, or would: no builds, no caches, no data that lies about."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    if not (ROOT / ".git").exists():
        pytest.skip("builds are compared with what git tracks, and this is no checkout")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted(name for name in listed if (ROOT / name).is_file())


def copy_checkout(to: Path) -> Path:
    """A checkout in another folder."""
    for name in files_of_the_checkout():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)
    return to


def build(kind: str, root: Path, out: Path, **environment: str) -> Path:
    """The wheel or the sdist (`kind`) of a folder."""
    importlib.import_module("hatchling")  # where it is absent, tests/extras.py skips
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    inherited = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    done = subprocess.run(command, cwd=root, env=inherited | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = out.iterdir()
    return made
