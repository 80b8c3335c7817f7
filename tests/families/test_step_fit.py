"""The fit of a step: it tells what its tables tell, habits above all, and shapes keep the mass of their cells."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.fitting.families.step_fit import _on_cells_of, _Part, _shapes_of_first
from sfumato.fitting.mechanisms.counts.one_way import OneWay
from sfumato.trusted.feature_maps import Grid
from tests.families.making import Child, family_of, few_bins

FAMILY = family_of((("stays", Child("people", (0, 4), "running", values=4)),))
NAMES = ("previous stays.kind", "stays.kind")


def kinds(persons: int, habit: float) -> tuple[dict[str, pa.Table], np.ndarray]:
    """Four stays each, whose kind is the last one's with some probability; and the shares of every two in a row."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, (persons, 4))
    for place in range(1, 4):
        kind[:, place] = np.where(rng.random(persons) < habit, kind[:, place - 1], kind[:, place])
    people = pa.table({"id": np.arange(persons), "who": np.zeros(persons, int), "sex": ["f"] * persons})
    stays = {"id": np.repeat(np.arange(persons), 4), "at": np.tile(np.arange(4), persons)}
    stays["kind"] = pa.array([f"v{one}" for one in kind.ravel()])
    pairs = np.bincount((kind[:, :-1] * 4 + kind[:, 1:]).ravel(), minlength=16).reshape(4, 4)
    return {"people": people, "stays": pa.table(stays)}, pairs / pairs.sum()


@pytest.mark.parametrize("habit", [0.0, 0.7])
def test_a_fit_knows_how_a_column_follows_itself(habit):
    data, shares = kinds(2_000, habit)
    with few_bins():
        made = sfumato.release(data, FAMILY, epsilon=30.0, types="declared", ledger=None, seed=1)
    step = made.fitted.steps["stays, next"]
    told = step.pair(*NAMES)
    assert told.shape == (4, 4)
    assert np.abs(told - shares).sum() / 2 < 0.04
    apart = np.abs(shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))).sum() / 2
    assert (apart > 0.3) == (habit > 0)  # a fit without habits would be seen
    assert step.size == pytest.approx(2_000, rel=0.05)


CUTS = st.lists(st.integers(1, 19), unique=True, max_size=8).map(sorted)


def grid_of(cuts: list[int], codes: int = 20) -> Grid:
    return Grid.of_cells(np.searchsorted(cuts, np.arange(codes), side="right"))


def column_of(grid: Grid, counts: np.ndarray, sigma: float = 1.0) -> OneWay:
    return OneWay(grid, counts[:, None], sigma, np.arange(grid.size), grid.size)


@given(CUTS, CUTS, st.integers(0, 99))
def test_a_distribution_moves_to_other_cells_code_by_code(cuts, others, seed):
    first, other = grid_of(cuts), grid_of(others)
    counts = np.random.default_rng(seed).uniform(20, 900, first.size)
    column = column_of(first, counts)
    held = (column.theta[:, column.groups] * column.inside)[0]
    by_code = (held / first.widths)[first.cell_of_code]
    slow = np.bincount(other.cell_of_code, weights=by_code)
    assert _on_cells_of(column, other) == pytest.approx(slow)


@given(st.integers(0, 999), st.floats(0.1, 50))
def test_shapes_of_first_rows_keep_the_mass_of_every_coarse_cell(seed, sigma):
    rng = np.random.default_rng(seed)
    grid, coarse = grid_of(list(range(1, 12)), 12), np.repeat([0, 1, 2], 4)
    held, first = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(12))
    found = _shapes_of_first(held, column_of(grid, 500 * held + sigma * rng.normal(size=12), sigma), coarse, first)
    assert np.bincount(coarse, weights=found) == pytest.approx(np.bincount(coarse, weights=held))


def test_shapes_of_first_rows_are_taken_unless_counts_speak_against_them():
    grid, coarse = grid_of([1, 2, 3], 4), np.zeros(4, dtype=np.int64)
    held, first = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    loud, quiet = (_shapes_of_first(held, column_of(grid, 100 * held, sigma), coarse, first) for sigma in (100.0, 0.1))
    assert loud == pytest.approx(first)
    assert quiet == pytest.approx(held)


def test_the_prior_of_a_factor_is_a_distribution():
    part = _Part(("a",), np.array([30.0, -4.0, 10.0]), np.full(3, 4.0), (np.arange(3),))
    assert part.prior.sum() == pytest.approx(1)
    assert part.prior.argmax() == 0
