"""The version is in one place, and whatever repeats it says the same."""

import re

import pytest
import yaml
from packaging.version import Version

from sfumato._version import __version__
from tests.packaging.building import ROOT

HEADING = re.compile(r"(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)")


def check_headings(changes: str, version: str) -> None:
    """First what is to come, then each version with its date, the newest first; none above the package's own."""
    first, *rest = re.findall(r"^## (.*)$", changes, re.MULTILINE)
    assert first == "Unreleased"
    assert all(HEADING.fullmatch(heading) for heading in rest), rest
    released = [Version(HEADING.fullmatch(heading)[1]) for heading in rest]
    assert released == sorted(set(released), reverse=True)
    assert released[:1] <= [Version(version)]


def test_the_changes_name_versions_in_order():
    check_headings((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__)


@pytest.mark.parametrize(
    "headings",
    [
        ["0.1.0 (2026-12-01)"],
        ["Unreleased", "0.1.0"],
        ["Unreleased", "0.2.0 (2027-01-01)"],
        ["Unreleased", "0.0.1 (2026-01-01)", "0.1.0 (2026-12-01)"],
    ],
    ids=["nothing to come", "no date", "newer than the package", "the oldest first"],
)
def test_headings_out_of_order_are_seen(headings):
    with pytest.raises(AssertionError):
        check_headings("".join(f"## {heading}\n\n- A change.\n\n" for heading in headings), "0.1.0")


def test_whoever_cites_names_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__
    assert cited["license"] == "Apache-2.0"
    assert str(Version(__version__)) == __version__  # as installers write it


def test_whoever_finds_a_hole_knows_where_to_write():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "in private" in text
    assert "latest version" in text
