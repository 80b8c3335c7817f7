"""A family in a notebook: short reprs, HTML that can be shown, functions of the package that take it or its path."""

import pytest

import sfumato
from sfumato.errors import BundleError, DataError, OutputError
from tests.families.hospital import tables
from tests.test_notebook import LONGEST, read_html


def test_reprs_are_short(hospital, proven):
    measurement = hospital.measurements[0]
    shown = (hospital, hospital.schema, hospital.statement, hospital.plan, hospital.fitted, hospital["stays"])
    for one in (*shown, measurement, measurement.statistic, sfumato.report(hospital)):
        assert len(repr(one)) <= LONGEST, type(one)
        assert "object at 0x" not in repr(one)
    assert "3 tables (patients, stays, diagnoses)" in repr(hospital)
    assert "NOT PRIVATE, seeded" in repr(hospital)
    assert "differential privacy for one person" in repr(proven)


def test_a_notebook_shows_promise_and_tables(proven):
    page = read_html(proven._repr_html_())
    assert page.tags.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert not any(name.startswith("on") or name in ("src", "href") for name in page.attributes)
    assert proven.statement.promise in page.text
    assert "stays: 0 to 20 rows of each row of patients" in page.text
    assert "2018-01-01 to 2023-12-31" in page.text


def test_a_notebook_shows_the_schema(hospital):
    page = read_html(hospital.schema._repr_html_())
    assert "stays, 0 to 20 rows of each row of patients" in page.text
    assert "heart failure" in page.text
    assert "stays.admitted >= patients.born" in page.text


def test_functions_take_a_release_or_the_path_of_its_bundle(hospital, bundle, tmp_path):
    found = sfumato.verify(bundle)
    assert found.failed == ["noise from a cryptographic source"]
    assert len(repr(found)) <= LONGEST
    page = sfumato.report(bundle, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page
    assert isinstance(sfumato.open(bundle), sfumato.FamilyRelease)
    assert isinstance(hospital.schema, sfumato.FamilySchema)
    assert sfumato.evaluate(bundle, tables(60), tables(60, 6), rows=30).persons["synthetic"] == 30
    with pytest.raises(OutputError, match="is there already"):
        sfumato.report(hospital, tmp_path / "r.html")
    with pytest.raises(OutputError, match="is there already"):
        hospital.save(bundle)


def test_what_is_not_there_is_named(hospital, tmp_path):
    with pytest.raises(BundleError, match="check the path"):
        sfumato.open(tmp_path / "none.sfumato")
    with pytest.raises(DataError, match=r"the real tables: .*nowhere"):
        sfumato.evaluate(hospital, tmp_path / "nowhere", tables(20))
    with pytest.raises(DataError, match="the real tables"):
        sfumato.evaluate(hospital, tables(20)["stays"], tables(20))
