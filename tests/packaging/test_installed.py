"""A stranger installs what `make dist` makes into an empty environment, and uses it. Needs a package index."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement

from sfumato._version import __version__
from tests.packaging.building import ROOT
from tests.packaging.sbom import ALONE, describe, install
from tests.packaging.test_contents import PROJECT

pytestmark = pytest.mark.slow

USE = """
import sfumato
reveal_type(sfumato.open("a.sfumato"))
sfumato.open(1)
"""


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """The interpreter of an environment that has the wheel."""
    return install(wheel, tmp_path_factory.mktemp("of_the_wheel"))


@pytest.fixture(scope="module")
def python_of_sources(sdist, tmp_path_factory) -> Path:
    """The same of the source distribution."""
    return install(sdist, tmp_path_factory.mktemp("of_the_sources"))


@pytest.fixture(scope="module")
def bill(python, wheel) -> str:
    """The bill of materials."""
    return describe(wheel, python)


def run(*command: str | Path, cwd: Path, rc: int = 0) -> str:
    done = subprocess.run(command, cwd=cwd, env=ALONE, capture_output=True, text=True, check=False)
    assert done.returncode == rc, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("installed", ["python", "python_of_sources"])
def test_the_whole_path_works(installed, request, tmp_path):
    """From the demonstration's table to a report, by the command and in Python, with no file of a checkout."""
    python: Path = request.getfixturevalue(installed)
    where = run(python, "-c", "import sfumato; print(sfumato.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(python.parents[1])
    sfumato = python.with_name("sfumato")
    assert run(sfumato, "--version", cwd=tmp_path) == f"sfumato {__version__}\n"
    run(sfumato, "demo", "--out", "tour", cwd=tmp_path)
    run(sfumato, "verify", "tour/clinic.sfumato", "--ledger", "tour/ledger.sqlite", cwd=tmp_path)
    run(sfumato, "demo", "--family", "--out", "tour", cwd=tmp_path)
    code = "import sfumato; print(len(sfumato.open('tour/clinic.sfumato').sample(7)))"
    assert run(python, "-c", code, cwd=tmp_path) == "7\n"


def test_nothing_that_it_needs_is_missing(python):
    run(sys.executable, "-m", "pip", "--python", str(python), "check", cwd=ROOT)


def test_a_user_gets_the_types(python, tmp_path):
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    said = run(sys.executable, "-m", "mypy", "--python-executable", str(python), "use.py", cwd=tmp_path, rc=1)
    assert 'Revealed type is "sfumato.artefact.release.Release' in said
    assert 'incompatible type "int"; expected "str | Path"' in said


class TestBillOfMaterials:
    def test_it_is_valid(self, bill):
        check = JsonStrictValidator(SchemaVersion.V1_6)
        assert check.validate_str(bill) is None
        assert check.validate_str(bill.replace('"name": "numpy"', '"nom": "numpy"')) is not None

    def test_it_names_what_is_installed(self, bill, python):
        document = json.loads(bill)
        code = "from importlib.metadata import distributions as d; print(*{f'{x.name}=={x.version}' for x in d()})"
        there = set(run(python, "-c", code, cwd=ROOT).split())
        listed = {f"{one['name']}=={one['version']}" for one in document["components"]}
        assert listed | {f"sfumato=={__version__}"} == there
        assert {Requirement(line).name for line in PROJECT["dependencies"]} <= {
            one["name"].lower() for one in document["components"]
        }

    def test_it_says_what_it_is_of(self, bill):
        about = json.loads(bill)["metadata"]["component"]
        assert (about["name"], about["version"], about["type"]) == ("sfumato", __version__, "library")

    def test_it_names_no_place_of_this_machine(self, bill):
        assert "file:" not in bill
        assert str(Path.home()) not in bill
