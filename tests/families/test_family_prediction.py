"""The target of a row: distributions over classes, of frames of any kind, with and without a history."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import RequestError
from tests.families.hospital import tables
from tests.families.making import few_bins

ROWS = tables(200)
STAYS = len(ROWS["stays"])


def with_stays(stays: pa.Table) -> dict[str, pa.Table]:
    return {**ROWS, "stays": stays}


def with_column(name: str, values: object) -> dict[str, pa.Table]:
    return with_stays(ROWS["stays"].set_column(ROWS["stays"].column_names.index(name), name, pa.array(values)))


@pytest.fixture(scope="module")
def told(hospital) -> np.ndarray:
    return hospital.predict_proba(ROWS)


def test_rows_are_distributions_over_the_classes_in_their_order(hospital, told):
    assert told.shape == (STAYS, len(hospital.classes()))
    assert np.allclose(told.sum(axis=1), 1)
    assert (told > 0).all()
    likeliest = np.array(hospital.classes())[told.argmax(axis=1)]
    assert hospital.predict(ROWS).tolist() == likeliest.tolist()


def test_the_second_class_is_the_one_that_is_told(hospital, told):
    """Real emergencies have a higher probability of True: the columns are not swapped."""
    truth = ROWS["stays"].column("emergency").to_numpy()
    assert hospital.classes() == [False, True]
    assert told[truth, 1].mean() > told[~truth, 1].mean() + 0.02


@pytest.mark.parametrize("kind", [pa.Table.to_pandas, pl.from_arrow], ids=["pandas", "polars"])
def test_frames_of_any_kind_are_told_alike(hospital, told, kind):
    assert np.array_equal(hospital.predict_proba({name: kind(table) for name, table in ROWS.items()}), told)


def test_the_order_of_rows_and_the_type_of_keys_do_not_matter(hospital, told):
    mixed = np.random.default_rng(0).permutation(STAYS)
    assert np.array_equal(hospital.predict_proba(with_stays(ROWS["stays"].take(pa.array(mixed)))), told[mixed])
    named = pa.array([str(key) for key in ROWS["patients"].column("patient_id").to_pylist()])
    texts = {**ROWS, "patients": ROWS["patients"].set_column(0, "patient_id", named)}
    assert np.array_equal(hospital.predict_proba(texts), told)


def test_a_value_that_is_not_listed_is_read_as_the_schema_says(hospital):
    other, unlisted = (hospital.predict_proba(with_column("ward", [ward] * STAYS)) for ward in ("other", "kitchen"))
    assert np.array_equal(unlisted, other)
    assert np.array_equal(hospital.predict_proba(with_column("ward", pa.nulls(STAYS, pa.string()))), other)
    assert not np.array_equal(hospital.predict_proba(with_column("ward", ["cardiology"] * STAYS)), other)


def test_the_target_of_a_row_is_not_looked_at_but_that_of_the_row_before_is(hospital, told):
    stays = ROWS["stays"].to_pandas()
    first = (stays.groupby("patient_id").cumcount() == 0).to_numpy()
    turned = hospital.predict_proba(with_column("emergency", ~stays.emergency.to_numpy()))
    assert np.array_equal(turned[first], told[first])
    assert (np.abs(turned[~first] - told[~first]).max(axis=1) > 1e-4).mean() > 0.5


def test_a_row_whose_history_is_not_given_is_told_as_a_first_one(hospital, told):
    stays = ROWS["stays"].to_pandas()
    last = (stays.groupby("patient_id").cumcount(ascending=False) == 0).to_numpy()
    alone = hospital.predict_proba(with_stays(ROWS["stays"].filter(pa.array(last))))
    single = (stays.groupby("patient_id").patient_id.transform("size") == 1).to_numpy()[last]
    assert np.allclose(alone[single], told[last][single])
    assert np.abs(alone[~single] - told[last][~single]).max() > 0.01


def test_rows_that_no_person_has_are_told_by_the_distribution_alone(hospital):
    nobody = hospital.predict_proba({**ROWS, "patients": ROWS["patients"].slice(0, 0)})
    assert len(np.unique(nobody, axis=0)) == 1
    assert np.allclose(nobody.sum(axis=1), 1)


def test_persons_without_a_key_are_nobody(hospital, told):
    """The rows that named them are told as those of strangers, all others as before."""
    named = ROWS["stays"].column("patient_id").to_numpy()
    keys = ROWS["patients"].column("patient_id").to_numpy()
    nobody = ROWS["patients"].set_column(0, "patient_id", pa.array(keys, mask=keys == named[0]))
    found = hospital.predict_proba({**ROWS, "patients": nobody})
    assert np.array_equal(found[named != named[0]], told[named != named[0]])
    assert not np.allclose(found[0], told[0])


def test_a_target_of_persons_is_told_row_by_row():
    """Also behind a row without a key."""
    people = {"key": "id", "target": "b", "columns": [{"name": name, "type": "boolean"} for name in "ab"]}
    calls = {"parent": "people", "rows": [0, 2], "columns": [{"name": "c", "type": "boolean"}]}
    family = {"sfumato": 2, "name": "t", "tables": {"people": people, "calls": calls}}
    a = np.random.default_rng(0).random(400) < 0.5
    given = {
        "people": pa.table({"id": np.arange(400), "a": a, "b": a}),
        "calls": pa.table({"id": np.arange(400), "c": a}),
    }
    with few_bins():
        made = sfumato.release(given, family, epsilon=20.0, types="declared", ledger=None, seed=1)
    keys = pa.array(np.arange(400), mask=np.arange(400) % 5 == 0)
    told = made.predict_proba({**given, "people": given["people"].set_column(0, "id", keys)})
    known = np.arange(400) % 5 > 0
    assert ((told[:, 1] > 0.5) == a)[known].all()
    assert len(np.unique(told[~known], axis=0)) == 1


def test_doubles_crowds_and_nothing_at_all_are_told(hospital):
    twice = pa.concat_tables([ROWS["stays"], ROWS["stays"].slice(0, 3)])
    for given in (with_stays(twice), with_column("patient_id", pa.array([1_000] * STAYS, pa.int32()))):
        assert np.allclose(hospital.predict_proba(given).sum(axis=1), 1)
    assert hospital.predict_proba(with_stays(ROWS["stays"].slice(0, 0))).shape == (0, 2)
    assert len(hospital.predict(with_stays(ROWS["stays"].slice(0, 0)))) == 0


def test_tables_below_that_are_not_given_are_summed_out(hospital, told):
    """Rather than read as stays without diagnoses, of which there are none."""
    above = {name: ROWS[name] for name in ("patients", "stays")}
    none = {**ROWS, "diagnoses": ROWS["diagnoses"].slice(0, 0)}
    assert not np.allclose(hospital.predict_proba(above), hospital.predict_proba(none))


def test_columns_and_tables_that_are_not_known_are_not_needed(hospital, told):
    more = ROWS["stays"].append_column("note", pa.array(["x"] * STAYS))
    assert np.array_equal(hospital.predict_proba({**with_stays(more), "wards": 3}), told)
    assert np.array_equal(hospital.predict_proba(ROWS, "stays"), told)


BAD = {
    "nothing": (lambda r: r.predict_proba(None), "a NoneType was given; give a dictionary"),
    "a frame": (lambda r: r.predict_proba(pd.DataFrame()), "a DataFrame was given"),
    "no persons": (lambda r: r.predict_proba({"stays": ROWS["stays"]}), "the rows of 'patients' are needed"),
    "no frame": (lambda r: r.predict_proba({**ROWS, "stays": ROWS["stays"].to_pydict()}), "a dict is not a table"),
    "no target": (lambda r: r.classes("patients"), "tables with a target: stays"),
    "a table that is none": (lambda r: r.predict(ROWS, "stay"), "tables with a target: stays"),
    **{
        f"no {column}": (
            lambda r, column=column: r.predict_proba(with_stays(ROWS["stays"].drop_columns([column]))),
            f"the rows of 'stays' have no column '{column}'",
        )
        for column in ("patient_id", "stay_id", "admitted", "ward")
    },
}


@pytest.mark.parametrize(("ask", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_told_is_refused_in_words(hospital, ask, words):
    with pytest.raises(RequestError, match=words):
        ask(hospital)
