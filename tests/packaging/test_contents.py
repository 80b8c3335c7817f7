"""What is in the wheel and the source distribution, and what they say about themselves."""

import configparser
import re
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sfumato._version import __version__
from tests.packaging.building import ROOT, files_of_the_checkout

INFO = f"sfumato-{__version__}.dist-info"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def archive(wheel):
    with zipfile.ZipFile(wheel) as archive:
        yield archive


@pytest.fixture
def metadata(archive) -> Message:
    return Parser().parsestr(archive.read(f"{INFO}/METADATA").decode())


class TestWheel:
    def test_it_is_for_every_machine(self, wheel, archive):
        assert wheel.name == f"sfumato-{__version__}-py3-none-any.whl"
        said = Parser().parsestr(archive.read(f"{INFO}/WHEEL").decode())
        assert (said["Tag"], said["Root-Is-Purelib"]) == ("py3-none-any", "true")

    def test_it_holds_the_package_whole_and_nothing_else(self, archive):
        package = [name for name in files_of_the_checkout() if name.startswith("sfumato/")]
        about = ("METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD")
        assert sorted(archive.namelist()) == sorted([*package, *(f"{INFO}/{name}" for name in about)])

    @pytest.mark.parametrize(
        "name",
        [
            *("py.typed", "demo/clinic.parquet", "demo/clinic.yaml", "demo/hospital/stays.parquet"),
            *("reports/public.html", "reports/public.css", "reports/private.css", "reports/audit.html"),
            "fitting/mechanisms/mixture/designs_1.json",
        ],
    )
    def test_what_is_no_code_comes_along(self, archive, name):
        """Named here as well, so that a file that is lost from the checkout is missed."""
        assert archive.read(f"sfumato/{name}") == (ROOT / "sfumato" / name).read_bytes()

    def test_the_licence_comes_along(self, archive, metadata):
        assert (metadata["License-Expression"], metadata["License-File"]) == ("Apache-2.0", "LICENSE")
        assert archive.read(f"{INFO}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()

    def test_the_command(self, archive):
        points = configparser.ConfigParser()
        points.read_string(archive.read(f"{INFO}/entry_points.txt").decode())
        assert {name: dict(points[name]) for name in points.sections()} == {
            "console_scripts": {"sfumato": "sfumato.cli:main"}
        }


class TestMetadata:
    def test_the_words(self, metadata):
        assert (metadata["Name"], metadata["Version"]) == ("sfumato", __version__)
        assert metadata["Summary"] == PROJECT["description"]
        assert metadata["Requires-Python"] == PROJECT["requires-python"]
        assert metadata["Description-Content-Type"] == "text/markdown"
        assert metadata.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
        assert "Typing :: Typed" in metadata.get_all("Classifier")

    def test_what_it_needs(self, metadata):
        """A plain installation gets the dependencies alone, and each extra what pyproject.toml says."""
        needed = [Requirement(line) for line in metadata.get_all("Requires-Dist")]
        plain = {str(one) for one in needed if one.marker is None}
        assert plain == {str(Requirement(line)) for line in PROJECT["dependencies"]}
        assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
        for extra, lines in PROJECT["optional-dependencies"].items():
            brought = {canonicalize_name(one.name) for one in needed if _asks_for(one, extra)}
            assert {canonicalize_name(Requirement(line).name) for line in lines} - {"sfumato"} <= brought

    def test_the_page_names_every_extra(self):
        """docs/install.md is where a user chooses; `dev` and `audit-outside` are for those who change the code."""
        page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
        named = set(re.findall(r"^\| .*?\| `([\w-]+)` \|", page, re.MULTILINE))
        assert named == set(PROJECT["optional-dependencies"])


def _asks_for(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is not None and requirement.marker.evaluate({"extra": extra})


def test_the_source_distribution_holds_what_is_named_and_tracked(sdist):
    with tarfile.open(sdist) as archive:
        top = f"sfumato-{__version__}/"
        names = {name.removeprefix(top) for name in archive.getnames()}
        assert all(member.isfile() and member.name.startswith(top) for member in archive)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    kept = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    always = {"pyproject.toml", "README.md", "LICENSE", ".gitignore"}
    tracked = {name for name in files_of_the_checkout() if name in always or name.split("/")[0] in kept}
    assert names == tracked | {"PKG-INFO"}
    assert not [name for name in names if name.startswith(("papers/", ".ci", ".github"))]
