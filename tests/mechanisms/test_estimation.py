import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from sfumato.fitting.mechanisms.counts.estimation import class_totals, distributions, inside_groups, project, shrink
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.fitting.mechanisms.counts.merging import group_rare, merge_alike, sum_groups
from sfumato.trusted.encoding import codes_of
from sfumato.trusted.schema import Schema

counts = arrays(float, st.integers(1, 8), elements=st.floats(-100, 100))


@given(counts, st.floats(0.5, 200))
def test_projection_is_the_nearest_point_of_the_simplex(noisy, total):
    nearest = project(noisy, total)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(total)
    # optimality: moving mass between any two cells does not come nearer
    gradient = nearest - noisy
    for i, j in itertools.permutations(range(len(noisy)), 2):
        if nearest[i] > 1e-9:
            assert gradient[i] <= gradient[j] + 1e-6


def test_projection_agrees_with_an_optimiser():
    noisy = np.array([5.0, -3.0, 1.0, 0.2])
    slow = minimize(
        lambda x: ((x - noisy) ** 2).sum(),
        np.ones(4),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 4},
    )
    assert np.allclose(project(noisy, 4.0), slow.x, atol=1e-4)


def test_shrinking_is_complete_in_pure_noise_and_absent_in_strong_signal():
    rng = np.random.default_rng(0)
    guess, variance = np.zeros(50), np.full(50, 4.0)
    assert np.abs(shrink(2 * rng.normal(size=50), guess, variance)).max() < 1.5
    strong = 1000 * rng.normal(size=50)
    assert np.allclose(shrink(strong, guess, variance), strong, rtol=1e-3)
    assert np.array_equal(shrink(guess, guess, variance), guess)


def test_class_totals_weigh_small_tables_more():
    """The variance of the estimate is that of the best linear one."""
    rng = np.random.default_rng(1)
    truth = np.array([700.0, 300.0])
    errors = []
    for _ in range(3_000):
        tables = [np.outer(np.ones(cells) / cells, truth) + rng.normal(size=(cells, 2)) for cells in (2, 10, 100)]
        totals, variance = class_totals(tables)
        errors.append(totals - truth)
    assert variance == pytest.approx(1 / (1 / 2 + 1 / 10 + 1 / 100))
    assert np.var(errors) == pytest.approx(variance, rel=0.06)


@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e4, 1e4)))
def test_distributions_are_distributions_whatever_the_noise_says(noisy):
    totals = np.maximum(noisy.sum(axis=0), 1.0)
    theta = distributions(noisy, np.full(len(noisy), 25.0), totals)
    assert theta.shape == noisy.T.shape
    assert (theta > 0).all()
    assert np.allclose(theta.sum(axis=1), 1)


def test_distributions_without_noise_are_the_frequencies():
    exact = np.array([[500.0, 100.0], [300.0, 700.0], [200.0, 200.0]])
    theta = distributions(exact, np.zeros(3), exact.sum(axis=0))
    assert np.allclose(theta, (exact / exact.sum(axis=0)).T, atol=0.01)


@given(arrays(float, st.integers(1, 9), elements=st.floats(-50, 500)), st.randoms())
def test_inside_every_group_there_is_a_distribution(noisy, random):
    groups = np.unique([random.randrange(3) for _ in noisy], return_inverse=True)[1]
    inside = inside_groups(noisy, np.full(len(noisy), 9.0), groups, np.arange(1.0, len(noisy) + 1))
    assert (inside > 0).all()
    assert np.allclose(sum_groups(inside, groups), 1)


class TestMerging:
    def test_even_density_becomes_one_cell(self):
        rng = np.random.default_rng(0)
        widths = rng.integers(1, 30, 60)
        merged = 0
        for _ in range(20):
            noisy = 10.0 * widths[:, None] * [0.7, 0.3] + 5 * rng.normal(size=(60, 2))
            merged += merge_alike(noisy, np.full(60, 25.0), widths, large=1.0).max() + 1
        assert merged / 20 < 3

    def test_a_step_is_found(self):
        rng = np.random.default_rng(0)
        density = np.where(np.arange(60) < 25, 40.0, 160.0)
        noisy = density[:, None] + 5 * rng.normal(size=(60, 1))
        groups = merge_alike(noisy, np.full(60, 25.0), np.ones(60, dtype=int), large=1.0)
        assert groups[24] != groups[25]
        assert groups.max() < 6

    def test_large_groups_stay_apart_be_they_alike(self):
        even = np.full((200, 1), 50.0)
        groups = merge_alike(even, np.full(200, 25.0), np.ones(200, dtype=int))
        assert 20 <= groups.max() + 1 <= 45
        assert np.bincount(groups).max() <= 0.05 * 200 + 1

    def test_a_difference_between_classes_is_found_where_the_total_is_even(self):
        rng = np.random.default_rng(0)
        share = np.where(np.arange(40) < 20, 0.2, 0.8)
        noisy = 200 * np.stack((share, 1 - share), axis=1) + 5 * rng.normal(size=(40, 2))
        groups = merge_alike(noisy, np.full(40, 25.0), np.ones(40, dtype=int))
        assert groups[19] != groups[20]

    def test_an_atom_that_stands_out_stays_alone(self):
        widths = np.array([1000, 1, 1000])
        groups = merge_alike(np.array([[500.0], [300.0], [500.0]]), np.full(3, 25.0), widths)
        assert groups.tolist() == [0, 1, 2]
        groups = merge_alike(np.array([[500.0], [4.0], [500.0]]), np.full(3, 25.0), widths)
        assert groups[1] in (groups[0], groups[2])

    def test_groups_are_runs_in_order(self):
        rng = np.random.default_rng(4)
        groups = merge_alike(rng.normal(0, 50, (30, 3)), np.full(30, 9.0), np.ones(30, dtype=int))
        assert groups[0] == 0
        assert set(np.diff(groups)) <= {0, 1}

    def test_rare_categories_share_a_group(self):
        assert group_rare(np.array([100.0, 2.0, 50.0, -4.0]), 5.0).tolist() == [0, 2, 1, 2]
        assert group_rare(np.array([1.0, 2.0]), 5.0).tolist() == [0, 0]
        assert group_rare(np.array([100.0]), 5.0).tolist() == [0]


def grid_of(**column):
    codes = codes_of(Schema.from_dict({"sfumato": 1, "name": "t", "columns": [{"name": "x", **column}]}).columns[0])
    return codes, fine_grid(codes)


class TestGrids:
    @pytest.mark.parametrize(
        "column",
        [
            {"type": "number", "bounds": [-5, 100], "atoms": [7], "missing": True},
            {"type": "number", "bounds": [-10, -1]},
            {"type": "number", "bounds": [0, 1e6], "scale": "log"},
            {"type": "integer", "bounds": [0, 99_999], "missing": True},
            {"type": "integer", "bounds": [10_000, 15_000_000]},
            {"type": "integer", "bounds": [3, 3]},
            {"type": "integer", "bounds": [-3, 2000], "atoms": [50], "scale": "log"},
            {"type": "date", "bounds": ["2019-01-01", "2024-12-31"]},
            {"type": "datetime", "bounds": ["2019-01-01", "2024-12-31"], "missing": True},
            {"type": "category", "values": ["a", "b"], "missing": True},
            {"type": "boolean"},
        ],
        ids=lambda column: f"{column['type']} {column.get('bounds', '')}",
    )
    def test_every_cell_is_one_run_of_codes_in_the_order_of_values(self, column):
        codes, grid = grid_of(**column)
        assert len(grid.cells) == grid.size
        assert grid.size <= 200
        assert grid.codes == codes.size
        if column["type"] in ("category", "boolean"):
            return
        values = codes.read(codes.decode(np.array(grid.starts, np.int32), np.zeros(grid.size))).values
        in_order = values[np.argsort(grid.cells)]
        present = in_order[~np.isnan(in_order)]
        assert (np.diff(present) >= -(codes.high - codes.low) / codes.steps).all()
        assert np.isnan(in_order).sum() == bool(column.get("missing"))
        if column.get("missing"):
            assert np.isnan(in_order[-1])

    def test_short_ranges_have_a_cell_for_each_value(self):
        assert grid_of(type="integer", bounds=[17, 90])[1].size == 74

    def test_values_that_stand_out_are_alone(self):
        codes, grid = grid_of(type="integer", bounds=[-3, 2000], atoms=[50])
        for value in (-3, 0, 50, 2000):
            assert grid.widths[grid.cell_of_code[codes.code_of(value)]] == 1
        codes, grid = grid_of(type="number", bounds=[-5, 100], atoms=[7])
        for value in (-5, 0, 7, 100):
            assert grid.widths[grid.cell_of_code[codes.code_of(value)]] == 1
