"""Bounds and lists that a release buys: usable, paid for out of one budget, and replayed by anybody."""

import dataclasses
import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.artefact import verify as checks
from sfumato.artefact.verify import verify
from sfumato.auditing.transcript import mu_between
from sfumato.errors import BudgetError, BudgetExceededError, BundleError, DataError, SchemaError
from sfumato.fitting.completion.bounds import _round, _round_days, estimate_bounds
from sfumato.fitting.completion.plan import delta_of_lists, plan_completion
from sfumato.fitting.completion.ranges import Range, even, found, octaves
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.privacy_filter import units_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import KeyCounts, RangeCounts
from tests.parameters import mostly_slow

TEXT = """
sfumato: 1
name: stays
target: ward
columns:
  - {name: age, type: integer, bounds: estimate}
  - {name: cost, type: number, bounds: estimate, atoms: [0], missing: true}
  - {name: year, type: integer, bounds: estimate}
  - {name: admitted, type: date, bounds: estimate}
  - {name: arrived, type: datetime, bounds: estimate}
  - {name: ward, type: category, values: discover}
  - {name: code, type: category, values: discover, missing: true, otherwise: rest}
"""
SCHEMA = Schema.from_yaml(TEXT)
SMALL = Schema.from_yaml("""
{sfumato: 1, name: small, target: y, columns: [
  {name: x, type: number, bounds: estimate}, {name: y, type: category, values: discover}]}
""")
FOLLOWS = "bought bounds and lists follow from the measurements"
ABOVE = "discovered values are above their thresholds"


def stays(rows: int = 5_000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    wards = np.array(["surgery", "maternity", "emergency"])
    return pa.table(
        {
            "age": rng.integers(18, 96, rows),
            "cost": pa.array(np.exp(rng.normal(6, 1, rows)), mask=rng.random(rows) < 0.05),
            "year": rng.integers(1990, 2021, rows),
            "admitted": pa.array(18_000 + rng.integers(0, 900, rows), pa.int32()).cast(pa.date32()),
            "arrived": pa.array(1_600_000_000 + rng.integers(0, 31_000_000, rows)).cast(pa.timestamp("s")),
            "ward": wards[rng.choice(3, rows, p=[0.5, 0.3, 0.2])],
            "code": pa.array([f"{n:03d}" for n in rng.choice([1, 7, 42, *range(100, 900)], rows, p=_mostly(803))]),
        }
    )


def _mostly(size: int) -> np.ndarray:
    """Three codes that are common, and many that are not."""
    return np.array([0.3, 0.3, 0.3, *[0.1 / (size - 3)] * (size - 3)])


def small(rows: int = 800, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"x": rng.normal(50, 5, rows), "y": np.array(["no", "yes"])[rng.integers(0, 2, rows)]})


def release(table=None, schema=SCHEMA, **terms) -> sfumato.Release:
    terms = {"epsilon": 1.0, "ledger": None, "types": "declared", **terms}
    return sfumato.release(stays() if table is None else table, schema, **terms)


@pytest.fixture(scope="module")
def released() -> sfumato.Release:
    return release()


def outcomes(made: sfumato.Release) -> dict[str, bool]:
    return {check.what: check.holds for check in verify(made)}


def test_a_table_of_five_thousand_rows_gives_usable_bounds_and_lists(released):
    table, known = stays(), released.schema
    assert known.is_complete
    assert known["ward"].values == ("emergency", "maternity", "surgery", "other")
    assert known["code"].values == ("001", "007", "042", "rest")
    assert known["code"].otherwise == "rest"
    widths = {"age": 1_000, "cost": 50_000, "year": 500, "admitted": 40 * 366, "arrived": 20 * 366 * 86_400}
    for name, most in widths.items():
        values = table[name].drop_null().to_pylist()
        low, high = known[name].bounds
        assert np.mean([low <= value <= high for value in values]) > 0.99, name
        width = high - low
        seconds = width.total_seconds() if isinstance(width, dt.timedelta) else width
        assert (seconds / 86_400 if name == "admitted" else seconds) < most, name
    assert known["age"].bounds[0] == known["cost"].bounds[0] == 0
    drawn = released.sample(2_000, seed=0)
    assert np.mean(drawn["age"].to_numpy()) == pytest.approx(56.5, rel=0.1)
    assert set(drawn["ward"].to_pylist()) <= set(known["ward"].values)


def test_all_is_paid_for_out_of_one_budget(released):
    statement, budget = released.statement, Budget(1.0, 1e-6, delta_keys=delta_of_lists(SCHEMA, 1e-6))
    assert (statement.epsilon, statement.delta, statement.delta_keys) == (1.0, 1e-6, 1e-7)
    assert statement.units_budget == budget.units
    assert statement.units_spent == sum(units_of(item.mu) for item in released.measurements) <= budget.units
    assert "of lists" not in statement.promise
    assert "1e-07 is for lists of values" in statement.promise
    items = [item.what for item in statement.items]
    assert items[:2] == ["list of values of ward; delta 5e-08", "list of values of code; delta 5e-08"]
    assert items[2:5] == ["bounds of 5 columns"] * 3
    bought = sum(item.units for item in statement.items[:5])
    assert bought == pytest.approx(0.1 * statement.units_budget, rel=1e-3)
    assert released.completing == released.measurements[:5]


def test_a_bundle_holds_what_was_asked_and_verify_replays_it(released, tmp_path):
    released.save(tmp_path / "b.sfumato")
    opened = sfumato.open(tmp_path / "b.sfumato")
    assert opened.schema == released.schema
    assert Schema.from_dict(opened.plan.asked) == SCHEMA
    found = outcomes(opened)
    assert all(found.values())
    assert {FOLLOWS, ABOVE} <= set(found)
    assert opened.refit(components=2).sample(3).num_rows == 3


class TestTampering:
    """What does not follow from the measurements is found; untouched, all of it holds (above)."""

    def test_other_bounds(self, released):
        content = released.schema.to_dict()
        content["columns"][0]["bounds"] = [0, 999]
        changed = dataclasses.replace(released, schema=Schema.from_dict(content))
        assert not checks._completion(changed).holds

    def test_a_value_that_was_not_found(self, released):
        content = released.schema.to_dict()
        content["columns"][5]["values"].insert(0, "intensive")
        assert not checks._completion(dataclasses.replace(released, schema=Schema.from_dict(content))).holds

    def test_a_key_below_the_threshold(self, released):
        first, *others = released.measurements
        values = first.values.copy()
        values[0] = 3
        changed = dataclasses.replace(released, measurements=(dataclasses.replace(first, values=values), *others))
        assert not checks._lists(changed).holds

    def test_more_delta_than_was_set_aside(self, released):
        first, *others = released.measurements
        dearer = dataclasses.replace(first, statistic=dataclasses.replace(first.statistic, delta=9e-8))
        changed = dataclasses.replace(released, measurements=(dearer, *others))
        assert not checks._lists(changed).holds
        assert not checks._completion(changed).holds

    def test_a_smaller_delta_in_the_statement(self, released):
        lied = released.statement.model_copy(update={"delta_keys": None})
        assert not checks._claim(dataclasses.replace(released, statement=lied)).holds

    def test_an_unpaid_question(self, released):
        first = released.measurements[0]
        changed = dataclasses.replace(released, measurements=(first, *released.measurements))
        assert not checks._budget(changed).holds
        assert not checks._completion(changed).holds

    def test_an_incomplete_schema_in_a_bundle(self, released, tmp_path):
        dataclasses.replace(released, schema=SCHEMA).save(tmp_path / "b.sfumato")
        with pytest.raises(BundleError):
            sfumato.open(tmp_path / "b.sfumato")


@pytest.mark.parametrize("records", mostly_slow([None, 1, 3], None, 3))
@pytest.mark.parametrize("adjacency", Adjacency)
def test_every_adjacency_by_record_and_by_person(adjacency, records, tmp_path):
    table, schema = small(3_000), SMALL
    if records:
        table = table.append_column("who", pa.array([f"p{number // records}" for number in range(len(table))]))
        schema = Schema.from_dict({**SMALL.to_dict(), "unit": {"column": "who", "records": records}})
    book = sfumato.Ledger(tmp_path / "ledger")
    book.set_limit("small", Budget(3.0, 1e-6), adjacency, "who" if records else None)
    made = release(table, schema, epsilon=3.0, adjacency=adjacency, ledger=book)
    assert all(outcomes(made).values())
    assert made.schema["y"].values == ("no", "yes", "other")
    low, high = made.schema["x"].bounds
    assert low <= 35 < 65 <= high
    _, reserved, committed = book.entries()
    assert reserved.units == made.statement.units_budget
    assert reserved.delta == made.statement.delta_keys == 1e-7
    assert made.statement.hash in committed.detail
    with pytest.raises(BudgetExceededError):
        release(table, schema, epsilon=0.1, adjacency=adjacency, ledger=book)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_questions_about_bounds_spend_no_more_than_they_cost(adjacency):
    here = small(300)
    last = {
        Adjacency.ADD_REMOVE: pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.string())}),
        Adjacency.REPLACE: pa.table({"x": [-1e9], "y": ["no"]}),
        Adjacency.LABEL: pa.table({"x": here["x"][-1:], "y": ["no" if here["y"][-1].as_py() == "yes" else "yes"]}),
    }
    there = pa.concat_tables([here.slice(0, 299), last[adjacency]])
    made = release(here, SMALL, adjacency=adjacency)
    asked = [item for item in made.completing if isinstance(item.statistic, RangeCounts)]
    spent = mu_between(asked, *(open_source(rows, SMALL, declared=True) for rows in (here, there)))
    paid = np.sqrt(sum(item.mu**2 for item in asked))
    assert spent <= paid
    if adjacency != Adjacency.LABEL:
        assert spent >= 0.99 * paid


HOSTILE = {
    "empty": {"x": pa.array([], pa.float64()), "y": pa.array([], pa.string())},
    "one row": {"x": [1.0], "y": ["a"]},
    "nulls": {"x": pa.nulls(500, pa.float64()), "y": pa.nulls(500, pa.string())},
    "words": {"x": ["word"] * 500, "y": ["a"] * 500},
    "infinite": {"x": [np.inf, -np.inf] * 250, "y": ["a"] * 500},
    "zeros": {"x": [0.0] * 500, "y": [""] * 500},
    "huge": {"x": [1e300, -1e300] * 250, "y": ["x" * 1_000] * 500},
    "ids": {"x": np.arange(500.0), "y": [f"id {place}" for place in range(500)]},
}


@pytest.fixture(scope="module")
def ordinary() -> sfumato.Release:
    return release(small(), SMALL)


@pytest.mark.parametrize("rows", HOSTILE.values(), ids=HOSTILE)
def test_whatever_the_rows_hold_the_spend_is_the_same(rows, ordinary):
    made = release(pa.table(rows), SMALL)
    assert [item.what for item in made.statement.items[:4]] == [item.what for item in ordinary.statement.items[:4]]
    assert [item.mu for item in made.completing] == [item.mu for item in ordinary.completing]
    assert made.statement.units_spent == pytest.approx(ordinary.statement.units_spent, rel=1e-3)
    assert all(outcomes(made).values())
    assert made.schema["y"].otherwise == "other"


def test_objects_of_any_kind_are_counted_by_their_keys():
    column = pd.Series([True, 1, "1", 1.0, "a", dt.date(2020, 1, 1), None, [3], b"\xff", 10**350] * 300, dtype=object)
    table = pd.DataFrame({"x": np.zeros(len(column)), "y": column})
    made = release(table, SMALL, epsilon=3.0)
    assert made.schema["y"].values == ("1", "2020-01-01", "a", "other")


def test_ids_are_never_named():
    made = release(pa.table({"x": np.zeros(20_000), "y": [f"patient {place}" for place in range(20_000)]}), SMALL)
    assert made.schema["y"].values == ("other",)


def test_another_name_is_taken_where_other_is_a_value():
    table = pa.table({"x": np.zeros(2_000), "y": ["other", "a"] * 1_000})
    assert release(table, SMALL).schema["y"].values == ("a", "other", "other_")
    named = Schema.from_dict(
        {
            **SMALL.to_dict(),
            "columns": [*SMALL.to_dict()["columns"][:1], {**SMALL.to_dict()["columns"][1], "otherwise": "other"}],
        }
    )
    assert release(table, named).schema["y"].values == ("a", "other")


def test_a_run_shares_what_its_columns_need():
    schema = Schema.from_yaml("""
    {sfumato: 1, name: run, columns: [{name: "h_{0..2}", type: number, bounds: estimate}]}
    """)
    rng = np.random.default_rng(0)
    table = pa.table({f"h_{place}": rng.normal(10.0**place, 0.1, 4_000) for place in range(3)})
    made = release(table, schema, epsilon=3.0)
    (column,) = made.schema.columns
    assert column.name == "h_{0..2}"
    assert column.bounds[0] <= 1
    assert column.bounds[1] >= 100


def test_files_buy_as_well(tmp_path):
    pyarrow.csv.write_csv(small(3_000), tmp_path / "t.csv")
    made = release(tmp_path / "t.csv", SMALL, epsilon=3.0, types=None)
    assert made.schema["y"].values == ("no", "yes", "other")


class TestRefusals:
    """Before anything is spent."""

    @pytest.mark.parametrize(
        ("error", "terms"),
        [
            (DataError, {"types": None}),
            (BudgetError, {"epsilon": 1e-6}),
            (SchemaError, {"mechanism": "subspace"}),
        ],
    )
    def test_nothing_is_written_down(self, error, terms, tmp_path):
        book = sfumato.Ledger(tmp_path / "ledger")
        with pytest.raises(error):
            release(small(), SMALL, **{"ledger": book, **terms})
        assert book.entries() == []

    def test_a_limit_with_a_smaller_delta(self, tmp_path):
        book = sfumato.Ledger(tmp_path / "ledger")
        book.set_limit("small", Budget(5.0, 1e-8))
        with pytest.raises(BudgetExceededError):
            release(small(), SMALL, ledger=book)
        assert len(book.entries()) == 1


@given(st.floats(0.05, 20), st.sampled_from([1, 2, 5]))
def test_questions_and_rest_are_the_budget(epsilon, records):
    schema = Schema.from_dict({**SCHEMA.to_dict(), "unit": {"column": "who", "records": records}})
    budget = Budget(epsilon, 1e-6, records, delta_of_lists(schema, 1e-6))
    plan = plan_completion(schema, budget)
    bought = records**2 * sum(map(units_of, (*plan.mu_values, *plan.mu_bounds)))
    assert bought + plan.rest.units == budget.units
    assert bought == pytest.approx(0.1 * budget.units, rel=1e-3)
    assert 2 * plan.delta <= budget.delta_keys


def test_a_complete_schema_costs_nothing_more():
    known = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [0, 1]}]}")
    budget = Budget(1.0, 1e-6)
    plan = plan_completion(known, budget)
    assert (plan.rest, plan.mu_values, plan.mu_bounds, plan.guesses) == (budget, (), (), (known,))
    made = release(pa.table({"x": [0.5] * 50}), known)
    assert made.plan.asked is None
    assert "delta_keys" not in made.statement.to_dict()
    assert made.completing == ()


class Exact:
    """A curator without noise, for one column of numbers."""

    def __init__(self, numbers, sigma: float = 1.0) -> None:
        self._source = open_source(pa.table({"x": numbers}), SMALL_X, declared=True)
        self._sigma = sigma

    def measure(self, statistic, mu):
        return Measurement(statistic, mu, self._sigma, self._source.sum(statistic))


SMALL_X = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: estimate}]}")


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e4))
def test_bounds_hold_what_stands_out_and_little_else(centre, spread):
    numbers = centre + spread * np.linspace(-1, 1, 400)
    (low, high) = estimate_bounds(Exact(numbers), SMALL_X, (0.1, 0.1, 0.1))["x"]
    assert low <= numbers.min()
    assert numbers.max() <= high
    assert high - low <= max(50 * spread, 0.3 * abs(centre))


def test_nothing_but_noise_is_not_found():
    rng = np.random.default_rng(0)
    for cells in (octaves(), even(Range(-1.0, 3.0))):
        seen = [found(cells, np.rint(rng.normal(0, 50, len(cells.begins) + 1)).astype(int), 50.0) for _ in range(300)]
        assert sum(one is not None for one in seen) <= 3


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_round_numbers_lie_outside_and_near(low, width):
    within = Range(low, low + width)
    if within.width > 2.0**-30 * max(map(abs, within)):
        first, last = _round(within)
        assert first <= within.low
        assert last >= within.high
        assert last - first <= 1.3 * within.width


@pytest.mark.parametrize(
    ("days", "bounds"),
    [
        ((18_000.3, 18_010.0), ("2019-04-14", "2019-04-24")),
        ((18_000, 18_900), ("2019-04-01", "2021-09-30")),
        ((0, 18_900), ("1970-01-01", "2021-12-31")),
        ((-1e9, 1e9), ("0001-01-01", "9999-12-31")),
        ((2_932_000, 2_932_896), ("9997-07-01", "9999-12-31")),
    ],
)
def test_round_days(days, bounds):
    assert tuple(map(str, _round_days(Range(*days)))) == bounds


def test_the_schema_says_it_by_words():
    assert Schema.from_yaml(SCHEMA.to_yaml()) == SCHEMA
    assert Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict()))) == SCHEMA
    assert SCHEMA.estimated == ("age", "cost", "year", "admitted", "arrived")
    assert SCHEMA.discovered == ("ward", "code")
    written = Schema.from_dict(
        {**SMALL_X.to_dict(), "columns": [{"name": "x", "type": "number", "bounds": [-1e6, 1e6]}]}
    )
    assert written != SMALL_X
    for wrong in ("bounds: guess", "bounds: discover"):
        with pytest.raises(SchemaError):
            Schema.from_yaml(f"sfumato: 1\nname: t\ncolumns:\n  - {{name: x, type: number, {wrong}}}")
    with pytest.raises(SchemaError, match="does not fit"):
        Schema.from_dict({**SMALL.to_dict(), "types": {"y": "int8"}})


def test_keys_of_an_invented_bundle_are_checked():
    for keys in (("b", "a"), ("a", "a"), ("x" * 129,), ("FILL",), (3,), ("nan",)):
        with pytest.raises((ValueError, TypeError)):
            KeyCounts("y", 1e-7, 1, keys)
    for delta, records in ((0.0, 1), (1.0, 1), (0.5, 0), (0.5, 1.5)):
        with pytest.raises(ValueError, match="delta between 0 and 1"):
            KeyCounts("y", delta, records)
