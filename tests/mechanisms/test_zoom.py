"""Where long columns have their mass: heaps, wide bounds, sentinel codes; and what the question costs."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.errors import BundleError
from sfumato.fitting.mechanisms.counts.cutting import begin_light_runs
from sfumato.fitting.mechanisms.counts.plan import geometry_of
from sfumato.fitting.mechanisms.tables.plan import plan_tables
from sfumato.fitting.mechanisms.tables.release import refit_tables
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.statistics import Cells

ROWS = 20_000
SCHEMA = sfumato.Schema.from_yaml("""
{sfumato: 1, name: heaps, target: y, columns: [
  {name: pressure, type: number, bounds: [-150, 17000]}, {name: test, type: number, bounds: [0, 10000]},
  {name: limit, type: integer, bounds: [0, 1000000]}, {name: born, type: date, bounds: [1900-01-01, 2030-12-31]},
  {name: y, type: category, values: [a, b]}]}
""")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.random(ROWS) < 0.4
    pressure = np.where(rng.random(ROWS) < 0.4, 120.0, np.rint(rng.normal(130 + 10 * y, 18, ROWS)))
    test = np.where(rng.random(ROWS) < 0.5, rng.choice([96.0, 97.0, 99.0], ROWS), rng.integers(0, 60, ROWS))
    limit = rng.integers(1, 80, ROWS) * 10_000
    born = rng.integers(3_000, 9_000, ROWS).astype(np.int32)
    columns = {"pressure": pressure, "test": test, "limit": limit, "born": pa.array(born).cast(pa.date32())}
    return pa.table({**columns, "y": np.where(y, "a", "b")})


@pytest.fixture(scope="module")
def release(table):
    return sfumato.release(table, SCHEMA, epsilon=1.0, ledger=None, types="declared", seed=10)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Kolmogorov and Smirnov's, ties and all."""
    at = np.unique(np.concatenate((one, other)))
    below = [np.searchsorted(np.sort(values), at, side="right") / len(values) for values in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


@pytest.mark.parametrize(("column", "most"), [("pressure", 0.03), ("test", 0.03), ("limit", 0.04), ("born", 0.03)])
def test_samples_follow_heaps_inside_wide_bounds(table, release, column, most):
    real, drawn = (rows.column(column).to_numpy().astype(float) for rows in (table, release.sample(ROWS, seed=2)))
    assert distance(real, drawn) < most


@pytest.mark.parametrize("adjacency", ["replace", "label"])
def test_every_adjacency_finds_them(table, adjacency):
    made = sfumato.release(table, SCHEMA, epsilon=1.0, adjacency=adjacency, ledger=None, types="declared", seed=1)
    drawn = made.sample(ROWS, seed=2)
    for column in ("pressure", "test"):
        assert distance(table.column(column).to_numpy(), drawn.column(column).to_numpy()) < 0.05


def test_a_heap_is_one_value(table, release):
    drawn = release.sample(ROWS, seed=2).column("pressure").to_numpy()
    assert np.mean(drawn == 120) == pytest.approx(np.mean(table.column("pressure").to_numpy() == 120), abs=0.03)
    at, below = release.cdf("pressure", [120.0, 119.9])
    assert at - below == pytest.approx(np.mean(drawn == 120), abs=0.02)
    assert release.quantile("pressure", at - 0.1) == 120
    heap = release.condition({"pressure": (119.99, 120.0)})
    assert heap.model.size / release.model.size == pytest.approx(at - below, abs=0.02)


@pytest.mark.parametrize("column", ["pressure", "test", "limit"])
def test_wide_bounds_do_not_move_the_mean(table, release, column):
    truth = float(table.column(column).to_numpy().mean())
    assert release.mean(column).mean == pytest.approx(truth, rel=0.1)


def test_nothing_is_excluded(release):
    far = pa.table({"pressure": [16_000.0, -149.5], "test": [9_999.0, 5_000.25]})
    assert np.isfinite(release.log_prob(far)).all()


def test_the_question_is_verified_and_replayed(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    opened = sfumato.open(tmp_path / "b.sfumato")
    assert isinstance(opened.measurements[0].statistic, Cells)
    assert {check.what for check in verify(opened) if not check.holds} == {"noise from a cryptographic source"}
    assert opened.sample(50, seed=1).equals(release.sample(50, seed=1))


def test_a_grid_that_does_not_follow_from_the_answer_is_found(release):
    """An unpaid look at the rows would change the grid of the next question."""
    plan = plan_tables(SCHEMA, Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
    first = release.measurements[0]
    values = first.values.copy()
    values[: len(values) // 2] = values[: len(values) // 2][::-1]
    moved = (dataclasses.replace(first, values=values), *release.measurements[1:])
    with pytest.raises(BundleError, match="not what this version asks for"):
        refit_tables(moved, plan)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_it_costs_three_hundredths_where_there_is_something_to_find(adjacency):
    budget = Budget(1.0, 1e-6)
    plan = plan_tables(SCHEMA, budget, adjacency)
    assert (plan.mu_zoom / budget.mu) ** 2 == pytest.approx(0.03 / (0.35 + 0.45 + 0.23), rel=1e-6)
    short = sfumato.Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: n, type: integer, bounds: [0, 99]}]}")
    assert not geometry_of(short).long
    assert plan_tables(short, budget, adjacency).mu_zoom is None


def test_cells_are_joined_only_where_they_are_surely_light():
    counts = np.array([500.0, 1.0, -2.0, 3.0, 400.0, 0.0, 0.0])
    assert begin_light_runs(counts, 1.0, 20.0) == [0, 1, 4, 5]
    assert begin_light_runs(counts, 50.0, 20.0) == [0, 1, 2, 3, 4, 5, 6]
