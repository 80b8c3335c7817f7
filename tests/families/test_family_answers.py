"""Answers about a family: intervals hold the truth, both weightings are what slow sums say, refusals are in words."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.errors import RequestError
from sfumato.fitting.families.sampling import FamilySampler
from tests.families.hospital import schema, tables
from tests.parameters import mostly_slow

COLUMNS = [(name, column) for name in schema().tables for column in schema().schema_of(name).by_name]
WAYS = ("row", "person")


def joined(content: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Every table with a column `person` and the weight of each row where every person counts alike."""
    stays = content["stays"].assign(person=content["stays"].patient_id)
    diagnoses = content["diagnoses"].merge(stays[["stay_id", "person"]], on="stay_id")
    held = {"patients": content["patients"].assign(person=content["patients"].patient_id), "stays": stays}
    return {
        name: frame.assign(weight=1 / frame.groupby("person").person.transform("size"))
        for name, frame in {**held, "diagnoses": diagnoses}.items()
    }


def mean(frame: pd.DataFrame, column: str, by: str) -> float:
    weights = np.ones(len(frame)) if by == "row" else frame.weight
    return float(np.average(frame[column].astype(float), weights=weights))


def questions(release, held: dict[str, pd.DataFrame]):
    """Every answer with its interval, and the truth."""
    persons = len(held["patients"])
    for name, frame in held.items():
        yield release[name].count(), len(frame)
        yield release[name].per_person(), len(frame) / persons
    for name, column in (("patients", "smoker"), ("stays", "emergency"), ("stays", "cost"), ("diagnoses", "confirmed")):
        for by in WAYS if name != "patients" else WAYS[:1]:
            yield release[name].mean(column, by=by), mean(held[name], column, by)
    for name, column in (("patients", "region"), ("stays", "ward"), ("diagnoses", "code")):
        for by in WAYS:
            shares = held[name].assign(one=1.0).groupby(held[name][column].astype(str)).weight.sum()
            if by == "row":
                shares = held[name][column].astype(str).value_counts()
            for row in release[name].marginal(column, by=by, output="pandas").itertuples():
                answer = sfumato.artefact.figures.Expectation(row.probability, row.low, row.high)
                yield answer, shares.get(row.value, 0.0) / shares.sum()


@pytest.mark.parametrize("times", mostly_slow([1, 20], 1))
def test_intervals_hold_the_truth(times, monkeypatch):
    """At epsilon 1; intervals a quarter as long do not hold it, so they are not too long either."""
    monkeypatch.setattr("sfumato.artefact.families.release._ANSWERING", 1 << 13)
    held = joined({name: table.to_pandas() for name, table in tables(1_500).items()})
    found = []
    for seed in range(times):
        release = sfumato.release(tables(1_500), schema(), epsilon=1.0, types="declared", ledger=None, seed=seed)
        for answer, truth in questions(release, held):
            assert answer.low <= answer.mean <= answer.high
            reach = (answer.high - answer.low) / 2
            found.append((answer.low <= truth <= answer.high, abs(answer.mean - truth) <= reach / 4))
    inside, near = np.mean(found, axis=0)
    assert inside > 0.88
    assert near < 0.85


@pytest.fixture(scope="module")
def drawn(hospital) -> dict[str, pd.DataFrame]:
    """The drawn persons that answers come from."""
    return {
        name: rows.values.to_pandas().assign(person=rows.person, weight=1 / np.bincount(rows.person)[rows.person])
        for name, rows in hospital.answering.items()
    }


@pytest.mark.parametrize("by", WAYS)
def test_means_are_what_slow_sums_over_drawn_rows_say(hospital, drawn, by):
    for name, column in (("stays", "cost"), ("stays", "emergency"), ("diagnoses", "confirmed")):
        answer = hospital[name].mean(column, by=by).mean
        assert answer == pytest.approx(mean(drawn[name], column, by))
        per_person = drawn[name].assign(value=drawn[name][column].astype(float)).groupby("person").value.mean().mean()
        assert (answer == pytest.approx(per_person)) == (by == "person")


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize(("name", "column"), COLUMNS)
def test_marginals_sum_to_one_and_lie_in_their_intervals(hospital, name, column, by):
    shares = hospital[name].marginal(column, by=by, output="pandas")
    assert shares.probability.sum() == pytest.approx(1.0)
    measured = ~np.isnan(shares.low)
    assert ((shares.low >= 0) & (shares.low <= shares.probability))[measured].all()
    assert ((shares.probability <= shares.high) & (shares.high <= 1))[measured].all()
    if "first" in shares:
        known = shares.dropna(subset=["first"])
        assert (known["first"] <= known["last"]).all()
        assert (known["first"].to_numpy()[1:] > known["last"].to_numpy()[:-1]).all()


def test_quantiles_are_what_a_slow_search_says(hospital, drawn):
    cost = drawn["stays"].sort_values("cost")
    for by, weights in (("row", np.ones(len(cost))), ("person", cost.weight.to_numpy())):
        up_to = np.cumsum(weights) / weights.sum()
        for share in (0.0, 0.25, 0.5, 0.9):
            slow = cost.cost.to_numpy()[np.flatnonzero(up_to >= share - 1e-12)[0]]
            assert hospital["stays"].quantile("cost", share, by=by) == pytest.approx(slow)
    assert hospital["stays"].quantile("cost", np.float32(1.0)) == cost.cost.max()


def test_conditions_choose_persons_with_all_their_rows(hospital, drawn):
    women = drawn["patients"].index[drawn["patients"].sex == "f"]
    births = drawn["stays"].person[drawn["stays"].ward == "maternity"].unique()
    for given, persons in (({"patients": {"sex": "f"}}, women), ({"stays": {"ward": "maternity"}}, births)):
        answer = hospital["stays"].mean("cost", given=given)
        assert answer.mean == pytest.approx(drawn["stays"][drawn["stays"].person.isin(persons)].cost.mean())
        assert answer.high - answer.low >= hospital["stays"].mean("cost").high - hospital["stays"].mean("cost").low


def test_what_follows_from_other_columns_has_no_interval(hospital):
    for column in ("admitted", "discharged"):
        assert math.isnan(hospital["stays"].mean(column).low)
        assert hospital["stays"].mean(column).mean.year in range(2018, 2024)
    assert hospital["patients"].mean("died").low < hospital["patients"].mean("died").high


def without(hospital, chosen: np.ndarray):
    """The same release as if these persons had been drawn."""
    made = dataclasses.replace(hospital)
    sampler = FamilySampler(hospital.fitted, hospital.layout)
    vars(made)["answering"] = sampler.keep(hospital.answering, np.flatnonzero(chosen))
    return made


def test_a_column_without_any_value_has_a_distribution_and_no_quantile(hospital, drawn):
    alive = without(hospital, drawn["patients"].died.isna().to_numpy())
    shares = alive["patients"].marginal("died", output="pandas")
    assert shares["first"].isna().all()
    assert shares.probability.tolist() == pytest.approx([1.0])
    for ask in (lambda: alive["patients"].quantile("died", 0.5), lambda: alive["patients"].mean("died")):
        with pytest.raises(RequestError, match="no row has a value of column 'died'"):
            ask()


def test_a_table_without_a_drawn_row_has_a_page_and_no_mean(hospital, drawn):
    nobody = without(hospital, ~drawn["patients"].index.isin(drawn["stays"].person))
    with pytest.raises(RequestError, match="no drawn person has a row of 'stays'"):
        nobody["stays"].marginal("ward")
    assert nobody["stays"].count().mean == 0
    assert "0 of 5 columns are drawn" in sfumato.report(nobody)


BAD = {
    "a list": (lambda r: r[["stays"]], "there is no table"),
    "a table": (lambda r: r.count("stay"), "did you mean 'stays'"),
    "a column": (lambda r: r["stays"].marginal("wards"), "did you mean 'ward'"),
    "by": (lambda r: r["stays"].marginal("ward", by="patient"), "use 'row' or 'person'"),
    "output": (lambda r: r["stays"].marginal("ward", output="spark"), "use arrow, pandas or polars"),
    "a share": (lambda r: r["stays"].quantile("cost", 2), "the share of a quantile is 2"),
    "no number": (lambda r: r["stays"].quantile("cost", math.nan), "the share of a quantile is nan"),
    "truth": (lambda r: r["stays"].quantile("cost", True), "the share of a quantile is True"),
    "no order": (lambda r: r["stays"].quantile("ward", 0.5), "'ward' have no order"),
    "words": (lambda r: r["diagnoses"].mean("code"), "have no mean; use marginal"),
    "given": (lambda r: r["stays"].mean("cost", given={"stays": 3}), "a condition is a dictionary"),
    "nobody": (lambda r: r["stays"].mean("cost", given={"stays": {"cost": (0, 0)}}), "no drawn person meets"),
}


@pytest.mark.parametrize(("ask", "words"), BAD.values(), ids=BAD)
def test_questions_that_cannot_be_answered_are_refused_in_words(hospital, ask, words):
    with pytest.raises(RequestError, match=words):
        ask(hospital)


def test_a_number_of_rows_that_is_drawn_as_nothing_is_not_certain(hospital):
    """The interval has the noise of the number of rows, whatever was drawn."""
    drawn = dict(hospital.answering)
    drawn["stays"] = drawn["stays"].take(np.zeros(0, dtype=np.int64))
    bare = dataclasses.replace(hospital)
    vars(bare)["answering"] = drawn
    assert bare["stays"].count().mean == 0
    assert bare["stays"].count().high > 0
    assert bare["stays"].per_person().high > 0
    assert hospital["diagnoses"].count().high > 1.05 * hospital["diagnoses"].count().mean
