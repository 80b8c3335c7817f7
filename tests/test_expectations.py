"""Means over conditions: right, in the user's units, and with intervals that hold."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import RequestError
from sfumato.trusted.schema import Schema
from tests.conftest import make_table
from tests.parameters import mostly_slow

SCHEMA = Schema.from_yaml("""
{sfumato: 1, name: t, target: y, columns: [
  {name: x, type: integer, bounds: [0, 9]}, {name: z, type: number, bounds: [0, 100]},
  {name: w, type: category, values: [p, q]}, {name: y, type: boolean}]}
""")


def table(rows: int = 8_000) -> pa.Table:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, rows)
    z = 20 + 5 * x + rng.normal(0, 8, rows)
    return pa.table(
        {"x": x, "z": z, "w": np.where(rng.random(rows) < 0.4, "p", "q"), "y": rng.random(rows) < 0.1 + 0.05 * x}
    )


@pytest.mark.parametrize("times", mostly_slow([3, 30], 3))
def test_intervals_hold_the_truth(times):
    rows = table()
    frame = rows.to_pandas()
    asked = [
        ("z", None, frame.z.mean()),
        ("z", {"x": 7}, frame[frame.x == 7].z.mean()),
        ("z", {"x": (0, 4)}, frame[frame.x <= 4].z.mean()),
        ("x", {"y": True}, frame[frame.y].x.mean()),
        ("y", {"x": (5, 9)}, frame[frame.x >= 5].y.mean()),
        ("z", {"w": "p"}, frame[frame.w == "p"].z.mean()),
    ]
    held, widths = [], []
    for _ in range(times):
        release = sfumato.release(rows, SCHEMA, epsilon=1.0, ledger=None, types="declared")
        for column, given, truth in asked:
            mean, low, high = release.mean(column, given=given)
            assert low <= mean <= high
            held.append(low <= truth <= high)
            widths.append((high - low) / (100 if column == "z" else 9 if column == "x" else 1))
    assert np.mean(held) > 0.85
    assert np.median(widths) < 0.15


def test_bands_of_marginals_hold_the_truth_under_a_condition():
    rows = table(4_000)
    frame = rows.to_pandas()
    asked = [("w", {"y": True}), ("y", {"x": (8, 9)}), ("y", {"z": (60, None)}), ("x", {"z": (0, 30)}), ("x", {"x": 3})]
    held, wider = [], []
    for _ in range(4):
        release = sfumato.release(rows, SCHEMA, epsilon=1.0, ledger=None, types="declared")
        for column, given in asked:
            (other, value), whole = next(iter(given.items())), release.marginal(column).to_pylist()
            low, high = value if isinstance(value, tuple) else (value, value)
            there = frame[frame[other].between(low, np.inf if high is None else high)][column]
            under = release.condition(given).marginal(column).to_pylist()
            for row in under:
                ends = ("value", "value") if "value" in row else ("first", "last")
                held.append(row["low"] <= there.between(*(row[end] for end in ends)).mean() <= row["high"])
            widths = [np.mean([row["high"] - row["low"] for row in found]) for found in (under, whole)]
            wider.append(widths[0] > widths[1] or other == column)
    assert np.mean(held) > 0.85  # with the band of all records about half
    assert all(wider)


def test_a_condition_that_was_asked_before_counts_too():
    release = sfumato.release(table(), SCHEMA, epsilon=1.0, ledger=None, types="declared")
    assert release.condition({"x": 7}).mean("z") == release.mean("z", given={"x": 7})


def test_units_and_types(schema):
    release = sfumato.release(make_table(3_000), schema, epsilon=4.0, ledger=None, types="declared")
    assert isinstance(release.mean("born").mean, dt.date)
    assert isinstance(release.mean("seen").low, dt.datetime)
    assert 0 <= release.mean("member").mean <= 1
    assert release.mean("debt").mean > 1  # over the records that have one
    with pytest.raises(RequestError, match="no numbers"):
        release.mean("job")
    with pytest.raises(RequestError, match="no column 'jobs'"):
        release.mean("jobs")
    with pytest.raises(RequestError, match="no record has a value"):
        release.mean("debt", given={"debt": None})


def test_what_no_table_holds_has_the_whole_range():
    """Two columns of very many that were not counted together."""
    columns = [{"name": f"c{n:02d}", "type": "boolean"} for n in range(60)]
    schema = Schema.from_dict({"sfumato": 1, "name": "t", "columns": columns})
    rng = np.random.default_rng(1)
    rows = pa.table({f"c{n:02d}": rng.random(2_000) < 0.5 for n in range(60)})
    release = sfumato.release(rows, schema, epsilon=1.0, ledger=None, types="declared")
    counted = {frozenset(pair) for pair in release.measurements[1].statistic.tables}
    assert len(counted) == 1_000
    missed = next(
        (a, b) for a in schema.features for b in schema.features if a < b and frozenset((a, b)) not in counted
    )
    assert release.mean(missed[0], given={missed[1]: True})[1:] == (0.0, 1.0)
