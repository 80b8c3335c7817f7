"""One release of the small hospital for all tests that only look at it."""

import dataclasses
from pathlib import Path

import pytest

import sfumato
from sfumato.artefact.families.release import FamilyRelease
from tests.families.commands import release, tokened, write_folder
from tests.families.hospital import schema, tables

FEW = 1 << 12


@pytest.fixture(autouse=True, scope="module")
def _few_answering():
    """Answers come from fewer drawn persons."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.artefact.families.release._ANSWERING", FEW)
        yield


@pytest.fixture(scope="session")
def hospital() -> FamilyRelease:
    """Of 1,500 patients, with a seed: the same in every run."""
    made = sfumato.release(tables(1_500), schema(), epsilon=4.0, types="declared", ledger=None, seed=1)
    assert isinstance(made, FamilyRelease)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.artefact.families.release._ANSWERING", FEW)
        assert len(made.answering["patients"]) == FEW  # kept from here on
    return made


@pytest.fixture(scope="session")
def proven(hospital) -> FamilyRelease:
    """The same as if its noise were not seeded, for what is said of a promise."""
    made = dataclasses.replace(hospital, statement=hospital.statement.model_copy(update={"seeded": False}))
    vars(made)["answering"] = hospital.answering
    return made


@pytest.fixture(scope="session")
def bundle(hospital, tmp_path_factory):
    """The path of its bundle."""
    path = tmp_path_factory.mktemp("bundle") / "h.sfumato"
    hospital.save(path)
    return path


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    """A folder with private tables, other persons, and the bundle that the command line made."""
    place = tmp_path_factory.mktemp("place")
    write_folder(place / "private", tokened(400))
    write_folder(place / "kept", tables(150, 6))
    done = release(place, "--ledger", place / "l.sqlite", out="h.sfumato")
    assert done.exit_code == 0, done.output
    (place / "said").write_text(done.output + done.stderr)
    return place
