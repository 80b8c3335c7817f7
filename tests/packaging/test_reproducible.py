"""Whoever builds the same sources with the same hatchling gets the same bytes."""

import hashlib
import os
import tarfile
from pathlib import Path

import pytest

from sfumato._version import __version__
from tests.packaging.building import build, copy_checkout

ELSEWHERE = {"TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
"""An environment that is not this one."""


def hash_of(path: Path) -> str:
    """Two of them are compared at once; of two files that differ pytest would look for minutes where."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> Path:
    """Another checkout: in another folder, written in 2001, readable by its owner alone."""
    root = copy_checkout(tmp_path_factory.mktemp("another") / "place")
    for path in root.rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            os.utime(path, (1_000_000_000, 1_000_000_000))
    return root


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_two_folders_two_times_the_same_bytes(kind, elsewhere, request, tmp_path):
    here: Path = request.getfixturevalue(kind)
    there = build(kind, elsewhere, tmp_path / "out", **ELSEWHERE)
    assert here.name == there.name
    assert hash_of(here) == hash_of(there)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_the_same_bytes_with_a_date_that_is_given(kind, checkout, elsewhere, tmp_path):
    """As distributions do that build everything anew (SOURCE_DATE_EPOCH)."""
    here = build(kind, checkout, tmp_path / "1", SOURCE_DATE_EPOCH="1700000000")
    there = build(kind, elsewhere, tmp_path / "2", SOURCE_DATE_EPOCH="1700000000", **ELSEWHERE)
    assert hash_of(here) == hash_of(there)


def test_other_sources_or_another_date_are_seen(wheel, elsewhere, tmp_path):
    """The comparison above could fail."""
    dated = build("wheel", elsewhere, tmp_path / "1", SOURCE_DATE_EPOCH="1700000000")
    assert dated.read_bytes() != wheel.read_bytes()
    root = copy_checkout(tmp_path / "changed")
    with (root / "sfumato" / "errors.py").open("a") as file:
        file.write("\n")
    assert build("wheel", root, tmp_path / "2").read_bytes() != wheel.read_bytes()


def test_the_source_distribution_makes_the_same_wheel(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    again = build("wheel", tmp_path / f"sfumato-{__version__}", tmp_path / "out")
    assert again.read_bytes() == wheel.read_bytes()
