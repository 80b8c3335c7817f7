"""The made tables, scores and counts behind `experiments.structure`, on rows that need no data."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from experiments import structure
from experiments.structure_census import CENSUS_RULES, CONNECTICUT_RULES, columns_of, with_rules
from experiments.structure_data import LABELLED, TARGET, YEAR, described, stays, xor, zips
from experiments.structure_measures import broken, cells_of, pair_apart, score, score_by, share_broken
from hypothesis import given
from hypothesis import strategies as st

values = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from(["u", "v", None]), st.one_of(st.none(), st.integers(0, 40).map(float))
    ),
    min_size=1,
    max_size=60,
)
COLUMNS = ["area", "kind", "number"]


def frame(rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype({"number": float, "kind": object})


def slow_cell(name, value, real):
    """The cell of a value: itself, or how many distinct deciles are not above it."""
    if value is None or value != value:
        return "missing"
    if name != "number":
        return value
    known = sorted(v for v in real["number"] if v == v)
    return sum(cut <= value for cut in {np.quantile(known, k / 10) for k in range(1, 10)})


def slow_apart(real, other, names, cuts):
    if not len(other):
        return 1.0
    shares = []
    for rows in (real, other):
        found = Counter(tuple(slow_cell(n, row[n], cuts) for n in names) for _, row in rows.iterrows())
        shares.append({cell: count / len(rows) for cell, count in found.items()})
    return sum(abs(shares[0].get(cell, 0) - shares[1].get(cell, 0)) for cell in {*shares[0], *shares[1]}) / 2


@given(values, values)
def test_the_score_is_what_a_slow_count_says(real_rows, other_rows):
    real, other = frame([*real_rows, ("a", "u", 3.0)]), frame(other_rows)
    cells = cells_of(real, other, ["number"])
    pairs = itertools.combinations(COLUMNS, 2)
    slow = np.mean([slow_apart(real, other, pair, real) for pair in pairs])
    assert score(cells) == pytest.approx(1000 * (1 - slow))


@given(values, values)
def test_the_score_by_area_is_what_a_slow_count_says(real_rows, other_rows):
    real, other = frame([*real_rows, *[("a", "u", 3.0)] * 30]), frame(other_rows)
    big = [area for area in "ab" if (real["area"] == area).sum() >= 30]
    slow = [
        slow_apart(real[real["area"] == area], other[other["area"] == area], ("kind", "number"), real) for area in big
    ]
    assert score_by(cells_of(real, other, ["number"]), "area") == pytest.approx(1000 * (1 - np.mean(slow)))


def test_equal_rows_score_1000_and_others_less():
    rows = zips(20, 0, 2_000).rows
    assert score(cells_of(rows, rows, [])) == 1000
    mixed = rows.assign(city=rows["city"].sample(frac=1, random_state=0).to_numpy())
    cells = cells_of(rows, mixed, [])
    assert score(cells) < 1000
    assert pair_apart(cells["zip"], cells["state"]) == 0
    assert pair_apart(cells["zip"], cells["city"]) > 0.5


@pytest.mark.parametrize("count", [20, 40, 200])
def test_city_is_a_function_of_zip_and_state_of_city(count):
    rows = zips(count, 3, 5_000).rows
    assert (rows.groupby("zip")["city"].nunique() == 1).all()
    assert (rows.groupby("city")["state"].nunique() == 1).all()
    assert rows["city"].nunique() < rows["zip"].nunique() <= count


def test_no_stay_breaks_its_rules():
    table = stays(1, 3_000)
    assert share_broken(table.rules, table.rows) == 0
    assert (table.rows["age"] + table.rows["birth_year"] == YEAR).all()
    assert table.rows["country"].nunique() <= 8 < table.rows["city"].nunique()
    worse = table.rows.copy()
    worse.loc[:299, "discharged"] = worse["admitted"] - pd.Timedelta(days=1)
    worse.loc[300:899, "age"] += 1
    assert [broken(rule, worse).mean() for rule in table.rules] == pytest.approx([0.1, 0.0, 0.2])
    assert share_broken(table.rules, worse) == pytest.approx(0.3)


def test_rules_are_counted_as_they_read():
    rows = pd.DataFrame(
        {"age": [10, 20, None, 14], "school": ["doctorate", "doctorate", "doctorate", "none"], "a": [1, None, 1, 2]}
    ).astype({"age": "Float64"})
    rows["b"] = [1, 1, None, 2]
    minors = {"age": {"to": 14}}
    assert broken({"forbid": {**minors, "school": ["doctorate"]}}, rows).tolist() == [True, False, False, False]
    assert broken({"if": minors, "then": {"school": "none"}}, rows).tolist() == [True, False, False, False]
    assert broken({"if": {"school": "none"}, "then": {"age": {"from": 15}}}, rows).tolist() == [False] * 3 + [True]
    assert broken({"forbid": {"age": {"missing": True}}}, rows).tolist() == [False, False, True, False]
    assert broken({"null_together": ["a", "b"]}, rows).tolist() == [False, True, True, False]
    table = {"doctorate": 1, "none": 2}
    assert broken({"column": "b", "of": "school", "table": table}, rows).tolist() == [False, False, True, False]
    with pytest.raises(ValueError, match="no rule"):
        broken({"total": 100, "of": ["a", "b"]}, rows)


@pytest.mark.parametrize("data", ["development", "held out"])
def test_no_real_row_breaks_a_rule_of_its_table(data, data_folder):
    table = with_rules(data, 27_000)
    rules = CONNECTICUT_RULES if data == "development" else CENSUS_RULES
    assert list(table.rows) == columns_of(rules)
    assert [int(broken(rule, table.rows).sum()) for rule in rules] == [0] * len(rules)
    table.schema()


@pytest.mark.parametrize("name", LABELLED)
def test_every_state_gives_a_table_of_its_own_that_fits_its_schema(name):
    one, same, other = (LABELLED[name](state, rows=300) for state in (0, 0, 1))
    assert one.rows.equals(same.rows)
    assert not one.rows.equals(other.rows)
    assert one.schema().target == TARGET
    for column in one.numbers:
        low, high = one.schema()[column].bounds
        assert one.rows[column].between(low, high).all()


def test_a_parity_is_told_by_its_columns_and_by_no_fewer():
    rows = xor(3, 8, 0, 4_000).rows.astype(int)
    told = [
        which
        for which in itertools.combinations([name for name in rows if name != TARGET], 3)
        if (rows[list(which)].sum(axis=1) % 2 == rows[TARGET]).all()
    ]
    assert len(told) == 1
    assert max(abs(rows[[name, TARGET]].corr().iloc[0, 1]) for name in told[0]) < 0.06


def test_nulls_are_declared_where_there_are_some():
    table = described("t", pd.DataFrame({"a": ["x", None], "b": [1.5, 2.5]}), {"b": (0.0, 3.0)})
    assert table.content["columns"][0] == {"name": "a", "type": "category", "values": ["x"], "missing": True}
    assert table.numbers == ("b",)


@pytest.mark.parametrize("row", ["20 zips", "stays", "xor of 3 among 8"])
def test_a_row_of_made_data_is_measured(row):
    found = structure.run(row, [structure.Draw("development", 0, few=True)])
    assert found["rows"] in (3_000, 2_250)
    assert all(len(values) == 1 and np.isfinite(values).all() for values in found["figures"].values())
    assert structure.SECONDS in found["figures"]


def test_made_data_for_choosing_and_for_reporting_have_no_state_in_common():
    states = [{structure.Draw(data, seed).state for seed in range(20)} for data in structure.FIRST_STATE]
    assert states[0].isdisjoint(states[1])


def test_declared_rows_wait_for_a_library_that_can_be_told_rules(monkeypatch):
    monkeypatch.setattr(structure, "available", lambda row: not row.endswith("declared"))
    found = structure.run("stays declared", [structure.Draw("held out", 0)])
    assert found == {"figures": {}}
    assert structure.line(found["figures"]) == "not available"


def test_before_and_after_stand_side_by_side(capsys):
    told = {"row": "stays", "data": "held out"}
    structure.show(
        [{**told, "tag": tag, "figures": {"score": [one, one + 2]}} for tag, one in (("before", 900), ("after", 950))]
    )
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| stays |")]
    assert lines == ["| stays | score |  |  | 901 | 951 |"]


def test_a_quick_run_has_one_kind_of_data_and_no_large_table():
    chosen = structure.chosen(None, quick=True)
    assert {data for _, data in chosen} == {"development"}
    assert "census" not in dict(chosen)
    assert structure.chosen(["stays"], quick=False) == [("stays", "development"), ("stays", "held out")]
