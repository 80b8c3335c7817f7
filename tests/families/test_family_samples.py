"""Samples of the hospital: bounds, parts, conditions and constraints hold in every row, in frames of every kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import RequestError
from sfumato.trusted.schema import FamilySchema
from tests.families.hospital import schema, tables
from tests.families.making import few_bins

PERSONS = 700

FLAG = {"name": "c", "type": "boolean"}


def frames(drawn: dict[str, pa.Table]) -> dict[str, pd.DataFrame]:
    return {name: table.to_pandas() for name, table in drawn.items()}


@pytest.fixture(scope="module")
def parts(hospital) -> list[dict[str, pa.Table]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.artefact.families.release._PERSONS_AT_ONCE", 150)
        return list(hospital.sample_tables(PERSONS, seed=5))


@pytest.fixture(scope="module")
def drawn(parts) -> dict[str, pd.DataFrame]:
    return frames({name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]})


def check_links(drawn: dict[str, pd.DataFrame]) -> None:
    """Keys are 1, 2, 3 ..; every row has a parent row, and no parent row has too few or too many."""
    for name, table in schema().tables.items():
        if table.key is not None:
            assert drawn[name][table.key].tolist() == list(range(1, len(drawn[name]) + 1))
        if table.parent is not None:
            keys = drawn[table.parent][schema().tables[table.parent].key]
            foreign = drawn[name][schema().foreign_key_of(name)]
            held = foreign.value_counts().reindex(keys, fill_value=0)
            assert held.sum() == len(drawn[name])
            least, most = schema().rows_of(name)
            assert held.between(least, most).all()


def check_constraints(drawn: dict[str, pd.DataFrame]) -> None:
    """Those of the schema, between tables and within, row by row."""
    stays = drawn["stays"].merge(drawn["patients"], on="patient_id")
    assert (stays.discharged >= stays.admitted).all()
    assert (stays.admitted >= stays.born).all()
    assert (stays.died.isna() | (stays.discharged <= stays.died)).all()
    assert (stays[stays.ward == "maternity"].sex == "f").all()
    assert (stays.groupby("patient_id").admitted.diff().dropna() >= pd.Timedelta(0)).all()


def test_a_sample_in_parts_hangs_together(parts, drawn):
    assert len(parts) == 5
    assert [part["patients"].num_rows for part in parts] == [150, 150, 150, 150, 100]
    check_links(drawn)
    check_constraints(drawn)


def test_no_part_names_a_row_of_another(parts):
    for part in parts:
        patients = set(part["patients"].column("patient_id").to_pylist())
        stays = set(part["stays"].column("stay_id").to_pylist())
        assert set(part["stays"].column("patient_id").to_pylist()) <= patients
        assert set(part["diagnoses"].column("stay_id").to_pylist()) == stays  # every stay has one


def test_a_seed_repeats_parts_and_whole_samples_alike(hospital, parts, monkeypatch):
    monkeypatch.setattr("sfumato.artefact.families.release._PERSONS_AT_ONCE", 150)
    whole = hospital.sample(PERSONS, seed=5)
    for name, table in whole.items():
        together = pa.concat_tables([part[name] for part in parts]).select(table.column_names).to_pandas()
        pd.testing.assert_frame_equal(table.to_pandas(), together, check_dtype=False, check_categorical=False)
    assert not hospital.sample(PERSONS, seed=6)["stays"].equals(whole["stays"])


def test_a_check_of_links_can_fail(drawn):
    for spoilt in (
        {**drawn, "stays": pd.concat([drawn["stays"], drawn["stays"].head(1)])},
        {**drawn, "diagnoses": drawn["diagnoses"].iloc[30:]},
        {**drawn, "patients": drawn["patients"].iloc[:-9]},
    ):
        with pytest.raises(AssertionError):
            check_links(spoilt)


GIVEN = {
    "a person's value": ({"patients": {"region": "west"}}, "patients", lambda f: f.region == "west"),
    "a person's range": (
        {"patients": {"born": ("1950-01-01", "1960-12-31")}},
        "patients",
        lambda f: pd.to_datetime(f.born).between("1950-01-01", "1960-12-31"),
    ),
    "not missing": ({"patients": {"died": ("2018-01-01", None)}}, "patients", lambda f: f.died.notna()),
    "a child's value": ({"stays": {"ward": "geriatrics"}}, "stays", lambda f: f.ward == "geriatrics"),
    "two of one row": (
        {"stays": {"ward": "surgery", "emergency": True}},
        "stays",
        lambda f: (f.ward == "surgery") & f.emergency,
    ),
    "what follows from others": (
        {"stays": {"discharged": ("2021-01-01", None)}},
        "stays",
        lambda f: pd.to_datetime(f.discharged) >= "2021-01-01",
    ),
    "a grandchild's value": ({"diagnoses": {"code": "fracture"}}, "diagnoses", lambda f: f.code == "fracture"),
}


def meets(found: dict[str, pd.DataFrame], name: str, met) -> pd.Series:
    """Whether each person has a row of a table that meets a condition."""
    rows = found[name][met(found[name])]
    if name == "diagnoses":
        rows = found["stays"][found["stays"].stay_id.isin(rows.stay_id)]
    return found["patients"].patient_id.isin(rows.patient_id)


@pytest.mark.parametrize(("given", "name", "met"), GIVEN.values(), ids=GIVEN)
def test_conditions_are_met_by_every_person(hospital, given, name, met):
    found = frames(hospital.sample(40, given=given, seed=1))
    assert len(found["patients"]) == 40
    assert meets(found, name, met).all()
    assert not meets(frames(hospital.sample(40, seed=1)), name, met).all()
    check_links(found)
    check_constraints(found)


def test_persons_without_rows_are_drawn_too(drawn):
    assert 0.1 < 1 - drawn["patients"].patient_id.isin(drawn["stays"].patient_id).mean() < 0.9


def texts(frame: pd.DataFrame) -> list[list[str]]:
    return [[str(one).removesuffix(" 00:00:00") for one in frame[column]] for column in frame.columns]


@pytest.mark.parametrize("output", ["arrow", "pandas", "polars"])
def test_frames_of_every_kind_hold_the_same(hospital, output):
    kind = {"arrow": pa.Table, "pandas": pd.DataFrame, "polars": pl.DataFrame}[output]
    plain = hospital.sample(30, seed=2, output="arrow")
    for name, frame in hospital.sample(30, seed=2, output=output).items():
        assert isinstance(frame, kind)
        there = frame if output == "pandas" else frame.to_pandas()
        assert list(there.columns) == tables(50)[name].column_names
        known = [column for column in there.columns if column != "died"]  # nulls are written in many ways
        assert texts(there[known]) == texts(plain[name].to_pandas()[known])


@pytest.mark.parametrize(
    "turn", [lambda one: one.to_pandas(date_as_object=False), pl.from_arrow], ids=["pandas", "polars"]
)
def test_a_sample_is_of_the_kind_that_was_released(turn):
    given = {name: turn(table) for name, table in tables(120).items()}
    with few_bins():
        made = sfumato.release(given, schema(), epsilon=2.0, types="declared", ledger=None, seed=1)
    for name, frame in made.sample(10, seed=1).items():
        assert type(frame) is type(given[name])
        assert list(frame.columns) == list(given[name].columns)


BAD = {
    "a fraction": (lambda r: r.sample(2.5), "the number of persons is 2.5"),
    "truth": (lambda r: r.sample(True), "it must be an integer"),
    "below": (lambda r: next(r.sample_tables(-1)), "must not be below 0"),
    "a seed": (lambda r: r.sample(3, seed="a"), "the seed is 'a'"),
    "output": (lambda r: r.sample(3, output="spark"), "use arrow, pandas or polars"),
    "none": (lambda r: r.sample(3, given={"stays": None}), "a condition is a dictionary"),
    "a range": (lambda r: r.sample(3, given={"stays": {"cost": (9, 1)}}), "is no range"),
}


@pytest.mark.parametrize(("ask", "words"), BAD.values(), ids=BAD)
def test_samples_that_cannot_be_drawn_are_refused_in_words(hospital, ask, words):
    with pytest.raises(RequestError, match=words):
        ask(hospital)


def test_nobody_is_a_sample_too(hospital):
    for given in (None, {"stays": {"ward": "surgery"}}):
        assert {table.num_rows for table in hospital.sample(0, given=given).values()} == {0}
    assert np.array_equal(hospital.sample(0)["stays"].column_names, tables(50)["stays"].column_names)


def test_persons_with_very_many_rows_are_drawn_in_small_parts(hospital, monkeypatch):
    monkeypatch.setattr("sfumato.artefact.families.release._ROWS_AT_ONCE", 2_000)
    parts = list(hospital.sample_tables(1_500, seed=1))
    assert len(parts) > 3
    assert sum(part["patients"].num_rows for part in parts) == 1_500
    assert max(sum(table.num_rows for table in part.values()) for part in parts) < 4_000


def test_a_condition_on_the_target_of_persons_is_met():
    columns = [{"name": "a", "type": "category", "values": ["p", "q", "r"]}, {"name": "b", "type": "boolean"}]
    content = {
        "people": {"key": "id", "columns": columns, "target": "a"},
        "rows": {"parent": "people", "rows": [0, 3], "columns": [{"name": "c", "type": "boolean"}]},
    }
    family = FamilySchema.from_dict({"sfumato": 2, "name": "t", "tables": content})
    rng = np.random.default_rng(0)
    people = {"id": np.arange(900), "a": np.array(["p", "q", "r"])[np.arange(900) % 3], "b": np.arange(900) % 3 == 0}
    rows = {"id": rng.integers(0, 900, 800), "c": rng.random(800) < 0.5}
    frames = {"people": pa.table(people), "rows": pa.table(rows)}
    made = sfumato.release(frames, family, epsilon=20.0, types="declared", ledger=None, seed=1)
    assert made.fitted.labellers["persons"]
    for wanted in ("q", ["p", "r"]):
        drawn = made.sample(60, given={"people": {"a": wanted}}, seed=1)["people"]
        assert set(drawn["a"].to_pylist()) <= {*wanted}


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_keys_that_are_text_come_back_as_text(kind):
    """And match; keys that are numbers stay numbers."""
    content = {
        "people": {"key": "id", "columns": [{"name": "b", "type": "boolean"}]},
        "accounts": {"parent": "people", "key": "no", "unique_key": True, "rows": [0, 3], "columns": [FLAG]},
        "bookings": {"parent": "accounts", "rows": [1, 3], "columns": [FLAG]},
    }
    family = FamilySchema.from_dict({"sfumato": 2, "name": "t", "tables": content})
    numbers = np.arange(80)
    frames = {
        "people": pa.table({"id": numbers, "b": numbers % 2 == 0}),
        "accounts": pa.table({"no": [f"A-{one}" for one in numbers], "id": numbers, "c": numbers % 3 == 0}),
        "bookings": pa.table({"no": [f"A-{one}" for one in numbers], "c": numbers % 5 == 0}),
    }
    if kind == "pandas":
        frames = {name: table.to_pandas() for name, table in frames.items()}
    elif kind == "polars":
        frames = {name: pl.from_arrow(table) for name, table in frames.items()}
    with few_bins():
        made = sfumato.release(frames, family, epsilon=9.0, types="declared", ledger=None, seed=1)
    drawn = {name: pl.DataFrame(table) for name, table in made.sample(40, seed=1).items()}
    text = {name: drawn[name]["no"].to_list() for name in ("accounts", "bookings")}
    assert all(isinstance(key, str) for keys in text.values() for key in keys)
    assert set(text["bookings"]) == set(text["accounts"])
    assert all(isinstance(key, int) for key in drawn["accounts"]["id"].to_list())
