"""Tables that nobody would choose: a mixture of them is finite, whole and can be drawn from, and nothing warns."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.fitting.models.gaussian_mixture.model import ACTIONS
from tests.parameters import mostly_slow

RNG = np.random.default_rng(0)


def schema_of(columns: dict[str, list], classes: int | None = 3, **more) -> sfumato.Schema:
    """Numbers by their bounds, and a category as target unless there are no classes."""
    numbers = [{"name": name, "type": "number", "bounds": bounds} for name, bounds in columns.items()]
    label = [] if classes is None else [{"name": "y", "type": "category", "values": [f"v{k}" for k in range(classes)]}]
    target = {} if classes is None else {"target": "y"}
    return sfumato.Schema.from_dict({"sfumato": 1, "name": "t", "columns": [*numbers, *label], **target, **more})


TWO = schema_of({"a": [0, 10], "b": [-5, 5]})
ONE = schema_of({"a": [0, 10]})
NO_TARGET = schema_of({"a": [0, 10], "b": [-5, 5]}, None)


def rows(count: int, label=None, **columns) -> pa.Table:
    usual = {"a": RNG.normal(5, 1, count), "b": RNG.normal(0, 1, count), "y": RNG.choice(["v0", "v1", "v2"], count)}
    return pa.table({**usual, **({} if label is None else {"y": label}), **columns})


def release_of(table: pa.Table, schema: sfumato.Schema, **settings) -> sfumato.Release:
    return sfumato.release(table, schema, mechanism="mixture", ledger=None, seed=1, types="declared", **settings)


def check(release: sfumato.Release) -> None:
    """Finite, weights that add up, covariances with a density, draws within the bounds."""
    model = release.fitted
    for action in ACTIONS:
        found = model.actions[action]
        assert found.weights.min() > 0
        assert found.weights.sum() == pytest.approx(1)
        assert np.isfinite(found.means).all()
        assert np.isfinite(found.covs).all()
        assert np.linalg.eigvalsh(found.covs).min() > 0
        np.linalg.cholesky(found.covs)
    assert np.isfinite(model.draws.counts).all()
    assert 0 < model.size < math.inf
    sample = release.estimate("detailed").sample(200, seed=0, output="arrow")
    assert len(sample) == 200
    for name, column in release.schema.by_name.items():
        values = sample.column(name)
        assert values.null_count == 0
        if column.type != "category":
            low, high = column.bounds
            assert all(low <= value <= high for value in values.to_pylist())


FEW = ["v0"] * 200 + ["v1"]
LINE = np.linspace(1, 9, 300)
TABLES = {
    "no rows": (TWO, rows(0)),
    "a class of none": (TWO, rows(202, [*FEW, "v1"])),
    "classes of one and two": (TWO, rows(203, [*FEW, "v2", "v2"])),
    "constant columns": (TWO, rows(300, a=np.full(300, 5.0), b=np.full(300, 5.0))),
    "one constant column": (TWO, rows(300, a=np.full(300, 0.0))),
    "perfectly correlated": (TWO, rows(300, a=LINE, b=5 - LINE)),
    "the same column twice": (TWO, rows(300, a=LINE, b=LINE - 5)),
    "a single column": (ONE, rows(300).drop(["b"])),
    "a single constant column": (ONE, rows(300, a=np.full(300, 3.0)).drop(["b"])),
    "outside the bounds": (TWO, rows(300, a=RNG.normal(0, 1e6, 300), b=RNG.normal(1e9, 1, 300))),
    "not a number": (TWO, rows(300, a=np.full(300, math.nan))),
    "some not a number": (TWO, rows(300, a=np.where(RNG.random(300) < 0.3, math.nan, 5.0))),
    "nulls": (TWO, rows(300, a=pa.nulls(300, pa.float64()), label=pa.nulls(300, pa.string()))),
    "infinities": (TWO, rows(300, a=[math.inf, -math.inf] * 150)),
    "far too wide bounds": (schema_of({"a": [-500, 500], "b": [-500, 500]}), rows(300)),
    "one outlier": (TWO, rows(300, a=[*np.full(299, 5.0), 1e300])),
}


@pytest.mark.parametrize(("schema", "table"), TABLES.values(), ids=TABLES)
def test_any_table_is_released_as_something_whole(schema, table):
    check(release_of(table, schema, epsilon=3.0))


UNLABELLED = {
    "no rows": rows(0),
    "one row": rows(1),
    "five rows": rows(5),
    "constant": rows(300, a=np.full(300, 5.0), b=np.full(300, 5.0)),
    "perfectly correlated": rows(300, a=LINE, b=5 - LINE),
    "two points": rows(300, a=[0.0, 10.0] * 150, b=[-5.0, 5.0] * 150),
    "not a number": rows(300, a=np.full(300, math.nan)),
}


@pytest.mark.parametrize("name", mostly_slow(UNLABELLED, "no rows", "two points", "not a number"))
def test_any_table_without_labels_is_released_as_something_whole(name):
    check(release_of(UNLABELLED[name], NO_TARGET, epsilon=2.0))


@pytest.mark.parametrize("table", mostly_slow(["no rows", "one row", "five rows", "two points"], "no rows"))
def test_no_more_components_than_asked_for_whatever_the_rows(table):
    release = release_of(UNLABELLED[table], NO_TARGET, epsilon=2.0, components=3)
    check(release)
    assert 1 <= release.fitted.classes <= 3


def test_whole_numbers_and_dates_keep_their_kinds():
    schema = sfumato.Schema.from_yaml("""
{sfumato: 1, name: t, target: y, columns: [
  {name: n, type: integer, bounds: [0, 3]}, {name: day, type: date, bounds: [2020-01-01, 2020-01-05]},
  {name: at, type: datetime, bounds: [2020-01-01T00:00:00, 2020-01-02T00:00:00]},
  {name: y, type: category, values: [v0, v1]}]}
""")
    days = [dt.date(2020, 1, 1 + day % 5) for day in range(300)]
    at = [dt.datetime(2020, 1, 1, hour % 24) for hour in range(300)]
    numbers = np.random.default_rng(4).integers(-1, 5, 300)
    table = pa.table({"n": numbers, "day": days, "at": at, "y": ["v0", "v1"] * 150})
    release = release_of(table, schema, epsilon=1.0)
    check(release)
    sample = release.sample(50)
    assert pa.types.is_integer(sample.schema.field("n").type)
    assert pa.types.is_date(sample.schema.field("day").type)


def test_a_null_where_none_may_be_counts_as_the_columns_otherwise():
    schema = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: t, target: y, columns: [{name: a, type: number, bounds: [0, 10], otherwise: 8}, "
        "{name: y, type: category, values: [v0]}]}"
    )
    table = pa.table({"a": pa.array([math.nan, None] * 2_000), "y": ["v0"] * 4_000})
    release = release_of(table, schema, epsilon=10.0)
    assert release.mean("a").mean == pytest.approx(8, abs=0.3)


def test_bounds_that_are_far_too_wide_still_find_the_class():
    """A class a thousandth of the range wide, below what is looked for, is found and not lost."""
    schema = schema_of({"a": [-500, 500], "b": [-500, 500]}, 1)
    a, b = np.random.default_rng(5).normal([[5], [0]], 1, (2, 20_000))
    table = pa.table({"a": a, "b": b, "y": ["v0"] * 20_000})
    release = release_of(table, schema, epsilon=8.0)
    assert release.mean("a").mean == pytest.approx(5, abs=0.5)
    spread = np.sqrt([one.diagonal() for one in release.fitted.actions["mixture"].covs]) * 1_000
    assert np.allclose(spread, 1, rtol=0.5)


@pytest.mark.slow
def test_sixty_classes_of_ten_records():
    rng = np.random.default_rng(2)
    table = pa.table({"a": rng.normal(5, 1, 600), "y": [f"v{k % 60}" for k in range(600)]})
    release = release_of(table, schema_of({"a": [0, 10]}, 60), epsilon=1.0)
    check(release)
    assert len(release.classes) == 60


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", sfumato.Adjacency)
def test_thirty_two_columns_of_two_hundred_rows(adjacency):
    rng = np.random.default_rng(3)
    columns = {f"x{j}": [0, 10] for j in range(32)}
    table = pa.table({**{name: rng.normal(5, 1, 200) for name in columns}, "y": ["v0", "v1"] * 100})
    check(release_of(table, schema_of(columns, 2), epsilon=1.0, adjacency=adjacency))
