"""Independent columns never appear as dependent, and true dependences are seen."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.demo import SCHEMA, TABLE
from sfumato.reports.public_dependence import find_dependences, measured_behind
from sfumato.trusted.constraints import layout_of

JOBS = [f"j{k}" for k in range(12)]
INDEPENDENT = """
{sfumato: 1, name: independent, TARGET columns: [
  {name: age, type: integer, bounds: [0, 99]}, {name: cost, type: number, bounds: [0, 50000], atoms: [0], scale: log},
  {name: job, type: category, values: JOBS}, {name: even, type: category, values: [a, b, c, d]},
  {name: rare, type: boolean}, {name: flag, type: boolean},
  {name: bmi, type: number, bounds: [0, 80], missing: true}, {name: nights, type: integer, bounds: [0, 60]}]}
""".replace("JOBS", str(JOBS))


def independent_table(rows: int, seed: int) -> pa.Table:
    """Columns of every kind and skew, drawn one by one."""
    rng = np.random.default_rng(seed)
    cost = np.minimum(np.exp(rng.normal(7, 1.2, rows)), 49_999)
    return pa.table(
        {
            "age": np.clip(rng.normal(50, 18, rows), 0, 99).astype(int),
            "cost": np.round(np.where(rng.random(rows) < 0.2, 0, cost), 2),
            "job": np.array(JOBS)[np.minimum(rng.zipf(1.6, rows) - 1, 11)],
            "even": np.array(list("abcd"))[rng.integers(0, 4, rows)],
            "rare": rng.random(rows) < 0.02,
            "flag": rng.random(rows) < 0.45,
            "bmi": pa.array(rng.gamma(6, 4, rows), mask=rng.random(rows) < 0.1),
            "nights": np.minimum(rng.geometric(0.4, rows) - 1, 60),
        }
    )


def shown_of(release):
    found = find_dependences(release, list(release.schema.by_name))
    return {pair for pair, one in found.items() if one.shown}


def release_independent(number: int, mechanism: str = "tables"):
    """Report number n: another table, size, budget and target each time."""
    epsilon, rows = (0.3, 1.0, 3.0)[number % 3], (2_000, 8_000, 30_000)[number // 3 % 3]
    target = ("target: flag,", "target: job,", "")[number // 2 % 3]
    schema = sfumato.Schema.from_yaml(INDEPENDENT.replace("TARGET", target))
    table = independent_table(rows, number)
    return sfumato.release(table, schema, epsilon=epsilon, ledger=None, types="declared", mechanism=mechanism)


@pytest.mark.parametrize("number", [1, 5])
def test_independent_columns_do_not_appear_as_dependent(number):
    release = release_independent(number)
    assert shown_of(release) == set()
    assert max(one.strength for one in find_dependences(release, list(release.schema.by_name)).values()) > 0.1


@pytest.mark.slow
def test_independent_columns_never_appear_as_dependent_in_twenty_reports():
    assert [shown_of(release_independent(number)) for number in range(20)] == [set()] * 20


def numbers_table(rows: int, columns: int, seed: int) -> tuple[pa.Table, sfumato.Schema]:
    """Numbers of several shapes and a class, all independent."""
    rng = np.random.default_rng(seed)
    shapes = [
        rng.normal(50, 10, rows), rng.gamma(3, 8, rows), rng.uniform(0, 100, rows), rng.lognormal(3, 0.6, rows),
        100 * rng.beta(0.5, 0.5, rows), *(rng.normal(40, 5, rows) for _ in range(columns - 5)),
    ]  # fmt: skip
    numbers = {f"x{j}": shape.clip(0, 100) for j, shape in enumerate(shapes)}
    columns_of = [{"name": name, "type": "number", "bounds": [0, 100]} for name in numbers]
    schema = sfumato.Schema.from_dict(
        {
            "sfumato": 1,
            "name": "numbers",
            "target": "y",
            "columns": [*columns_of, {"name": "y", "type": "category", "values": ["a", "b", "c"]}],
        }
    )
    return pa.table({**numbers, "y": np.array(list("abc"))[rng.choice(3, rows, p=[0.6, 0.3, 0.1])]}), schema


@pytest.mark.parametrize(("mechanism", "columns"), [("mixture", 5), ("subspace", 12)])
def test_gaussians_of_independent_columns_do_not_appear_as_dependent(mechanism, columns):
    table, schema = numbers_table(20_000, columns, 1)
    for epsilon in (0.5, 3.0):
        release = sfumato.release(table, schema, epsilon=epsilon, ledger=None, types="declared", mechanism=mechanism)
        assert shown_of(release) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "columns"), [("mixture", 6), ("subspace", 30)])
def test_gaussians_of_independent_columns_never_appear_as_dependent_in_twenty_reports(mechanism, columns):
    for number in range(20):
        table, schema = numbers_table((2_000, 20_000)[number % 2], columns, number)
        release = sfumato.release(
            table, schema, epsilon=(0.3, 1.0, 3.0)[number % 3], ledger=None, types="declared", mechanism=mechanism
        )
        assert shown_of(release) == set()


@pytest.mark.parametrize(("mechanism", "columns"), [("mixture", 5), ("subspace", 12)])
def test_gaussians_that_depend_on_each_other_are_shown(mechanism, columns):
    table, schema = numbers_table(20_000, columns, 1)
    x = np.asarray(table["x0"])
    y = np.where(x > 55, "a", np.where(x > 45, "b", "c"))
    moved = (0.7 * x + np.random.default_rng(0).normal(15, 7, len(x))).clip(0, 100)
    table = table.set_column(1, "x1", pa.array(moved)).set_column(columns, "y", pa.array(y))
    release = sfumato.release(table, schema, epsilon=3.0, ledger=None, types="declared", mechanism=mechanism)
    assert {("x1", "x0"), ("y", "x0")} <= shown_of(release)


def test_true_dependences_of_the_clinic_are_shown():
    release = sfumato.release(pq.read_table(TABLE), SCHEMA, epsilon=3.0, ledger=None, types="declared")
    shown = shown_of(release)
    assert {("ward", "age"), ("nights", "age"), ("cost", "nights"), ("readmitted", "age")} <= shown
    assert ("admitted", "sex") not in shown
    conditioned = find_dependences(release.condition({"sex": "F"}), ["age", "ward", "sex"])
    assert conditioned["ward", "age"].shown


CONSTRAINED = """
{sfumato: 1, name: stays, columns: [
  {name: start, type: date, bounds: [2020-01-01, 2021-12-31]},
  {name: end, type: date, bounds: [2020-01-01, 2022-12-31]},
  {name: coin, type: boolean}, {name: a, type: number, bounds: [0, 100]}, {name: b, type: number, bounds: [0, 100]},
  {name: sum, type: number, bounds: [0, 200]}], constraints: [end >= start, sum = a + b]}
"""


def test_columns_that_constraints_bind_are_shown_and_others_are_not():
    rng = np.random.default_rng(3)
    rows = 6_000
    start = 18_262 + rng.integers(0, 730, rows)
    a, b = rng.uniform(0, 100, rows), rng.uniform(0, 100, rows)
    days = {"start": start, "end": start + rng.geometric(0.1, rows)}
    dates = {name: pa.array(one.astype(np.int32)).cast(pa.date32()) for name, one in days.items()}
    table = pa.table({**dates, "coin": rng.random(rows) < 0.5, "a": a, "b": b, "sum": a + b})
    schema = sfumato.Schema.from_yaml(CONSTRAINED)
    release = sfumato.release(table, schema, epsilon=1.0, ledger=None, types="declared")
    assert shown_of(release) == {("end", "start"), ("sum", "a"), ("sum", "b")}
    assert "constraint" in find_dependences(release, ["start", "end"])["end", "start"].note
    assert measured_behind(layout_of(schema), "sum") == {"a", "b"}
    assert measured_behind(layout_of(schema), "end") == {"end - start", "start"}


def test_columns_that_were_not_measured_together_are_grey_and_say_so(monkeypatch):
    release = release_independent(1)
    monkeypatch.setattr("sfumato.reports.public_dependence._pair_tables", lambda _: [])
    found = find_dependences(release, ["age", "flag"])
    assert not found["flag", "age"].shown
    assert "not measured together" in found["flag", "age"].note
