"""The evaluation of a family: a copy is good, rows that nothing links are not; links and constraints are counted."""

import dataclasses
import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sfumato
from sfumato.artefact.families.release import FamilyRelease
from sfumato.errors import DataError, RequestError
from sfumato.evaluation.families.evaluation import NOTICE, FamilyEvaluation, _graded, evaluate_family
from sfumato.evaluation.families.reading import link_tables
from sfumato.trusted.schema import FamilySchema
from tests.families.hospital import broken_tables, schema, tables

REAL, TEST = tables(1_500), tables(1_500, 6)
UNLINKED = ("rows above, by person", "row before", "a column with its own value before", "figures of persons")
TOPICS = (*UNLINKED, "numbers of rows", "columns", "rows above, by row")


def permuted(table: pa.Table, column: str) -> pa.Table:
    """The same rows, each with the parent of another."""
    place = table.column_names.index(column)
    keys = np.random.default_rng(0).permutation(table.column(column).to_numpy())
    return table.set_column(place, column, pa.array(keys))


def evaluate_instead(hospital, drawn, monkeypatch, real=REAL, test=TEST) -> FamilyEvaluation:
    """The evaluation as if the release had drawn these tables."""
    monkeypatch.setattr(FamilyRelease, "sample", lambda *_, **__: drawn)
    return evaluate_family(hospital, real, test)


@pytest.fixture(scope="module")
def found(hospital) -> FamilyEvaluation:
    return evaluate_family(hospital, REAL, TEST)


def test_every_topic_is_there_and_no_grade_is_unknown(found):
    topics = {finding.topic for finding in found.findings}
    for name in ("stays", "diagnoses"):
        assert {f"{name}: {topic}" for topic in TOPICS} <= topics
    assert "stays: emergency from its history alone" in topics
    assert {finding.grade for finding in found.findings} <= {"good", "fair", "poor"}


def test_a_copy_is_good_in_everything(hospital, monkeypatch):
    found = evaluate_instead(hospital, REAL, monkeypatch)
    assert {finding.grade for finding in found.findings} == {"good"}
    assert found.headline == f"all {len(found.findings)} topics are good"
    assert all(one.synthetic == one.real for one in found.scores)


def test_rows_that_nothing_links_are_seen_in_linked_topics_alone(hospital, monkeypatch):
    """Columns, pairs of columns and numbers of rows are those of the real rows."""
    drawn = {**REAL, "stays": permuted(REAL["stays"], "patient_id")}
    found = evaluate_instead(hospital, drawn, monkeypatch)
    grades = {finding.topic: finding.grade for finding in found.findings}
    assert grades["stays: columns"] == grades["stays: pairs of columns"] == grades["stays: numbers of rows"] == "good"
    assert all(grades[f"stays: {topic}"] != "good" for topic in UNLINKED)
    assert grades["stays: a column with its own value before"] == "poor"
    assert "stays: a column with its own value before" in found.headline


def test_numbers_of_rows_that_are_wrong_are_poor(hospital, monkeypatch):
    some = pa.array(np.arange(0, len(REAL["diagnoses"]), 2))
    found = evaluate_instead(hospital, {**REAL, "diagnoses": REAL["diagnoses"].take(some)}, monkeypatch)
    grades = {finding.topic: finding.grade for finding in found.findings}
    assert grades["diagnoses: numbers of rows"] == "poor"
    assert grades["diagnoses: columns"] == "good"


def test_constraints_within_and_between_all_tables_are_counted(hospital, monkeypatch):
    late = REAL["patients"].set_column(2, "born", pa.array([dt.date(2023, 12, 31)] * 1_500))
    found = evaluate_instead(hospital, {**REAL, "patients": late}, monkeypatch)
    shares = {one.rule: (one.real, one.synthetic) for one in found.violations}
    assert shares["stays: discharged >= admitted"] == (0.0, 0.0)
    assert shares["stays.admitted >= patients.born"][1] > 0.99


def test_constraints_that_end_at_the_third_level_are_counted(hospital, monkeypatch):
    rule = {"if": {"diagnoses.code": "birth"}, "then": {"stays.ward": "maternity"}}
    known = FamilySchema.from_dict({**schema().to_dict(), "constraints": [rule]})
    wards = pa.array(["surgery"] * len(REAL["stays"]))
    moved = REAL["stays"].set_column(REAL["stays"].column_names.index("ward"), "ward", wards)
    ruled = dataclasses.replace(hospital, schema=known)
    found = evaluate_instead(ruled, {**REAL, "stays": moved}, monkeypatch)
    (one,) = [one for one in found.violations if "diagnoses.code" in one.rule]
    births = np.mean(np.array(REAL["diagnoses"].column("code").to_pylist()) == "birth")
    assert one.real == 0.0
    assert one.synthetic == pytest.approx(births)


def test_rows_that_do_not_count_are_told_and_never_below_zero():
    facts = {one.table: one for one in link_tables(broken_tables(), schema()).facts}
    assert facts["patients"].unlinked == 6  # they come twice
    assert facts["stays"].beyond >= 60 // 2 - 20
    assert facts["diagnoses"].unlinked >= 4  # two name nobody, two a stay that is not there
    assert all(one.unlinked >= 0 and one.beyond >= 0 for one in facts.values())


def test_persons_without_a_key_do_not_count_and_are_told():
    keys = pa.array([None, None, *REAL["patients"].column("patient_id").to_pylist()[2:]], pa.int32())
    found = link_tables({**REAL, "patients": REAL["patients"].set_column(0, "patient_id", keys)}, schema())
    assert found.persons == 1_498
    assert found.facts[0].unlinked == 2
    assert found.stored_rows("patients").tolist() == list(range(2, 1_500))


def test_the_content_is_plain_and_carries_its_notice(found):
    content = json.loads(json.dumps(found.to_dict()))
    assert content["notice"] == NOTICE
    assert content["persons"] == {"real": 1_500, "test": 1_500, "synthetic": 1_500}
    assert set(content["tables"]["stays"]["linked"]["synthetic"]) == set(content["tables"]["stays"]["linked"]["test"])
    assert NOTICE in repr(found)


EMPTY = {name: table.slice(0, 0) for name, table in TEST.items()}
BAD = {
    "no persons": (
        {name: table.slice(0, 0) for name, table in TEST.items()},
        {},
        RequestError,
        "the test tables: there",
    ),
    "no table": ({"patients": TEST["patients"]}, {}, DataError, "the test tables: table 'stays'"),
    "a column": ({**TEST, "stays": TEST["stays"].drop_columns(["ward"])}, {}, DataError, "table 'stays': .*'ward'"),
    "no rows": (TEST, {"rows": 0}, RequestError, "0 synthetic persons"),
    "a fraction": (TEST, {"rows": 2.5}, RequestError, "2.5 synthetic persons"),
}


@pytest.mark.parametrize(("test", "options", "kind", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_compared_is_refused_in_words(hospital, test, options, kind, words):
    with pytest.raises(kind, match=words):
        sfumato.evaluate(hospital, tables(50), test, **options)


def test_keys_of_two_persons_and_too_few_rows_are_told():
    """Which the release itself cannot do."""
    content = dict(tables(60))
    stays = content["stays"]
    first, other = (
        stays.slice(0, 1),
        stays.filter(pc.not_equal(stays["patient_id"], stays["patient_id"][0])).slice(0, 1),
    )
    shared = other.set_column(stays.column_names.index("stay_id"), "stay_id", first["stay_id"])
    content["stays"] = pa.concat_tables([stays, shared])
    content["diagnoses"] = content["diagnoses"].slice(5)
    facts = {one.table: one for one in link_tables(content, schema()).facts}
    assert facts["stays"].shared == 1
    assert "keys that two persons or more have: 1" in facts["stays"].describe()
    assert facts["diagnoses"].below > 0
    assert "fewer rows than the schema says" in facts["diagnoses"].describe()
    assert facts["patients"].describe() == ""


def test_an_empty_test_table_is_no_error(hospital):
    bare = {
        **tables(60, 6),
        "stays": tables(60, 6)["stays"].slice(0, 0),
        "diagnoses": tables(60)["diagnoses"].slice(0, 0),
    }
    found = evaluate_family(hospital, tables(60), bare, persons=50)
    assert all(one.real is None and one.synthetic is None for one in found.scores)


def test_what_is_far_off_is_poor_however_far_test_persons_are():
    assert _graded("a topic", 0.9, 0.9).grade == "poor"
    assert _graded("a topic", 0.4, 0.4).grade == "good"
