"""The first figures of the noise against simulations, and what of them must never grow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.artefact import quality as made
from sfumato.artefact.quality import HALF_WRONG, Counted, PowerLaw, expected_quality, measure_noise, noise_of_counts
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.statistics import Cells

RNG = np.random.default_rng(24)
SCHEMA = sfumato.Schema.from_yaml(
    "{sfumato: 1, name: t, columns: [{name: a, type: category, values: [p, q, r, s]}, "
    "{name: n, type: integer, bounds: [0, 23]}, {name: y, type: boolean}], target: y}"
)


def grid(cells: int) -> Grid:
    return Grid.of_cells(np.arange(cells))


def counts(weights: tuple[float, ...] | None = None) -> Cells:
    return Cells((("a", "y"), ("n", "y")), {"a": grid(4), "n": grid(24), "y": grid(2)}, "y", weights)


@pytest.mark.parametrize(("cells", "deviation"), [(5, 30.0), (40, 8.0)])
def test_total_variation_is_what_noise_does_to_counts(cells, deviation):
    shares, rows = np.full(cells, 1 / cells), 20_000
    noise = RNG.normal(0, deviation, (4_000, cells))
    simulated = (np.abs(noise) / rows).sum(axis=1).mean() / 2
    assert made._apart(deviation, rows, shares) == pytest.approx(simulated, rel=0.03)


def test_cells_that_drown_are_wrong_by_all_they_hold_and_no_more():
    shares = np.array([0.9, 0.05, 0.05])
    assert made._apart(1e9, 1_000, shares) == pytest.approx(0.5)
    assert made._apart(250.0, 1_000, shares) == pytest.approx((0.25 * math.sqrt(2 / math.pi) + 0.1) / 2)


def test_a_group_of_the_smallest_size_is_wrong_by_half_once_in_twenty():
    deviation = 17.0
    size = HALF_WRONG * deviation
    noisy = size + RNG.normal(0, deviation, 200_000)
    assert np.mean(np.abs(noisy - size) >= size / 2) == pytest.approx(0.05, abs=0.002)


def test_the_noise_of_a_column_is_summed_over_classes_and_divided_by_its_weight():
    found = noise_of_counts([(counts((1.0, 0.5)), 10.0)])
    simulated = RNG.normal(0, 10 / 0.5, (200_000, 2)).sum(axis=1).std()
    assert found["n"].deviation == pytest.approx(simulated, rel=0.01)
    assert found["a"] == Counted(10 * math.sqrt(2), 4)


def test_of_two_questions_about_a_column_the_better_one_counts():
    assert noise_of_counts([(counts(), 10.0), (counts(), 4.0), (counts(), 7.0)])["a"].deviation < 4 * 1.5


def test_the_mean_of_even_cells_is_off_as_simulated():
    cells, deviation, rows = 25, 30.0, 10_000
    middles = (np.arange(cells) + 0.5) / cells
    off = RNG.normal(0, deviation, (20_000, cells)) @ (middles - 0.5) / rows
    assert Counted(deviation, cells).of_mean(rows) == pytest.approx(off.std(), rel=0.03)


def test_a_law_without_noise_has_no_error():
    assert PowerLaw(0.0, 0.5, 0.5, 2.0)(0.0) == 0.0


@given(
    sigma=st.floats(0.1, 1e4),
    less=st.floats(0.01, 1.0),
    rows=st.integers(1, 10**7),
    more=st.floats(1.0, 100.0),
)
def test_less_noise_or_more_rows_never_make_an_error_larger(sigma, less, rows, more):
    asked, fewer = [(counts(), sigma)], [(counts(), sigma * less)]
    before = expected_quality(asked, SCHEMA, rows)
    for after in (expected_quality(fewer, SCHEMA, rows), expected_quality(asked, SCHEMA, rows * more)):
        for name in ("smallest_group", "column_error", "pair_error", "mean_error", "prediction_gap"):
            assert getattr(after, name) <= getattr(before, name) * (1 + 1e-9)


@given(sigma=st.floats(0.1, 1e5), rows=st.integers(1, 10**7))
def test_every_interval_holds_its_middle_and_nothing_impossible(sigma, rows):
    found = expected_quality([(counts(), sigma)], SCHEMA, rows)
    assert set(found.intervals) == {"column_error", "pair_error", "mean_error", "prediction_gap"}
    for name, (low, high) in found.intervals.items():
        assert 0 <= low <= getattr(found, name) <= high <= 1


def test_a_release_is_judged_like_its_plan(table, schema):
    release = sfumato.release(table, schema, epsilon=2, ledger=None, types="declared", seed=3)
    asked = [(one.statistic, one.sigma) for one in release.measurements]
    after = expected_quality(asked, release.schema, table.num_rows)
    before = sfumato.plan(schema, rows=table.num_rows, epsilon=2).expected
    assert after.smallest_group == pytest.approx(before.smallest_group)
    assert after.column_error == pytest.approx(before.column_error, rel=0.3)
    assert after.prediction_gap == pytest.approx(before.prediction_gap, rel=0.01)


def test_without_a_target_or_numbers_there_is_no_forecast_of_them():
    schema = sfumato.Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: a, type: boolean}]}")
    found = expected_quality([(Cells((("a",),), {"a": grid(2)}, None), 5.0)], schema, 1_000)
    assert found.pair_error is None
    assert found.prediction_gap is None
    assert found.mean_error is None
    assert found.smallest_group == pytest.approx(5 * HALF_WRONG)


def test_sums_in_place_of_counts_have_a_forecast_too():
    class Sums:
        def sensitivity(self, adjacency):
            return 2.0

    found = measure_noise([(Sums(), 20.0)], SCHEMA, 1_000)
    assert found.group == pytest.approx(10 * math.sqrt(2))
    assert 0 < found.column < 1
