"""Croissant metadata describes the very files, and its own checker has nothing to say."""

import hashlib
import json

import pyarrow.parquet as pq
import pytest

from sfumato.errors import RequestError
from sfumato.exports.croissant import croissant, write_croissant


@pytest.fixture
def files(release, tmp_path):
    bundle, table = tmp_path / "mixed.sfumato", tmp_path / "some.parquet"
    release.save(bundle)
    pq.write_table(release.sample(50, seed=1, output="arrow"), table)
    return bundle, table


def test_files_are_named_by_their_hashes(release, about, files):
    found = croissant(release, files[0], about, files[1])["distribution"]
    assert [one["sha256"] for one in found] == [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    assert found[0]["contentUrl"] == "https://example.org/mixed/mixed.sfumato"


def test_every_column_is_a_field_and_promise_and_limits_are_there(release, about, files):
    content = croissant(release, files[0], about, files[1])
    assert [one["name"] for one in content["recordSet"][0]["field"]] == list(release.schema.by_name)
    assert content["rai:personalSensitiveInformation"] == release.statement.promise
    assert content["rai:dataCollection"] == "Admissions of 2024."
    assert "research" in content["rai:dataUseCases"]
    assert "recordSet" not in croissant(release, files[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of the checker's own libraries
@pytest.mark.parametrize(("said", "drawn"), [(True, True), (False, True), (False, False)])
def test_its_own_checker_finds_nothing(release, about, files, tmp_path, said, drawn):
    mlcroissant = pytest.importorskip("mlcroissant", reason="pip install 'sfumato[croissant]'")
    path = tmp_path / "croissant.json"
    path.write_text(
        write_croissant(release, files[0], about if said else None, files[1] if drawn else None), encoding="utf-8"
    )
    dataset = mlcroissant.Dataset(jsonld=path)
    assert not dataset.metadata.ctx.issues.errors
    assert not said or not dataset.metadata.ctx.issues.warnings
    if drawn and not said:
        rows = list(dataset.records("records"))
        assert len(rows) == 50


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_checker_can_fail(release, files):
    mlcroissant = pytest.importorskip("mlcroissant", reason="pip install 'sfumato[croissant]'")
    content = json.loads(write_croissant(release, files[0], None, files[1]))
    content["recordSet"][0]["field"][0]["source"]["fileObject"]["@id"] = "elsewhere"
    with pytest.raises(mlcroissant.ValidationError):
        mlcroissant.Dataset(jsonld=content)


def test_a_table_of_another_format_or_nowhere_is_refused(release, files, tmp_path):
    with pytest.raises(RequestError, match=r"some.xlsx is neither .parquet nor .csv; draw one with"):
        croissant(release, files[0], None, tmp_path / "some.xlsx")
    with pytest.raises(
        RequestError, match=r"gone.parquet cannot be read \(No such file or directory\); check the path"
    ):
        croissant(release, files[0], None, tmp_path / "gone.parquet")
