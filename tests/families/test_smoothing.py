"""Smooth counts: the optimum that they claim to be, heaps left alone, and row numbers raked into a mixture."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import sfumato
from sfumato.fitting.families.smoothing import Tuning, _spikes, rake_row_numbers, smooth_counts
from sfumato.fitting.families.view_curator import per_person
from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.statistics import CodeSums
from tests.families.making import Child, family_of, few_bins

COUNTS = st.lists(st.floats(-50, 500), min_size=3, max_size=25).map(np.array)


def slow_optimum(counts, sigma, width, total=None) -> np.ndarray:
    """The penalised likelihood, minimised by a general method from a flat start."""
    size, variance = max(counts.sum(), 1.0), sigma**2 + counts.clip(0)
    codes = np.split(np.arange(width.sum()), np.cumsum(width.astype(int))[:-1])
    number = np.array([part.mean() for part in codes])

    def loss(log: np.ndarray) -> float:
        held = width * np.exp(log - log.max())
        p = held / held.sum()
        off = ((counts - size * p) ** 2 / variance).sum() + Tuning.smooth * (np.diff(log, 2) ** 2).sum()
        return off / 2 if total is None else off / 2 + ((total[0] - size * number @ p) / total[1]) ** 2 / 2

    found = minimize(loss, np.zeros(len(counts)), options={"maxiter": 5_000, "gtol": 1e-7}).x
    held = width * np.exp(found - found.max())
    return size * held / held.sum()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("codes", [1, 7])
@pytest.mark.parametrize("known", [False, True])
def test_smooth_counts_are_what_a_general_optimiser_finds(seed, known, codes):
    """Also where a cell holds several codes, whose sum is known."""
    rng, width = np.random.default_rng(seed), np.full(12, float(codes))
    truth = 900 * np.exp(-(((np.arange(12) - 5) / 3) ** 2) / 2)
    counts = truth + 10 * rng.normal(size=12)
    total = (codes * float(np.arange(12) @ truth) * 1.05, 60.0 * codes) if known else None
    assert not _spikes(counts, 10.0, width).any()
    assert smooth_counts(counts, 10.0, width, total) == pytest.approx(slow_optimum(counts, 10.0, width, total), abs=1.0)


@given(COUNTS, st.floats(0.5, 60), st.integers(0, 9))
def test_smooth_counts_are_not_negative_and_keep_the_number_of_records(counts, sigma, seed):
    width = np.random.default_rng(seed).integers(1, 9, len(counts)).astype(float)
    smooth = smooth_counts(counts, sigma, width)
    alone = _spikes(counts, sigma, width)
    assert (smooth >= 0).all()
    assert np.array_equal(smooth[alone], counts[alone].clip(0))
    if (~alone).sum() >= 3:
        assert smooth[~alone].sum() == pytest.approx(max(counts[~alone].sum(), 1.0))


def test_a_density_that_falls_off_evenly_stays_as_it_is():
    width = np.array([1.0, 1, 2, 2, 1, 1, 1, 1, 1])
    counts = 4_000 * width * np.exp(-0.4 * np.arange(9))
    assert smooth_counts(counts, 1.0, width) == pytest.approx(counts, rel=1e-3)


def test_noise_alone_becomes_a_smooth_line():
    counts = 5 + 20 * np.random.default_rng(3).normal(size=40)
    smooth = smooth_counts(counts, 20.0)
    assert np.abs(np.diff(smooth)).sum() < np.abs(np.diff(counts.clip(0))).sum() / 5


def test_a_total_that_was_measured_draws_the_mean():
    counts = 300 * np.exp(-np.arange(15) / 2) + 12 * np.random.default_rng(0).normal(size=15)
    far = float(np.arange(15) @ counts) * 1.5
    plain, drawn = (np.arange(15) @ smooth_counts(counts, 12.0, None, total) for total in (None, (far, 5.0)))
    assert abs(drawn - far) < abs(plain - far) / 4


def test_a_total_is_of_codes_and_not_of_cells():
    """A hundred rows each, of up to 10,000: cells of the number of rows hold many codes."""
    family = family_of((("stays", Child("people", (0, 10_000), "running", values=2)),))
    people = {"id": np.arange(200), "who": np.zeros(200, int), "sex": ["f"] * 200}
    stays = {"id": np.repeat(np.arange(200), 100), "at": np.tile(np.arange(100), 200), "kind": ["v0", "v1"] * 10_000}
    data = {"people": pa.table(people), "stays": pa.table(stays)}
    with few_bins():
        made = sfumato.release(data, family, epsilon=20.0, types="declared", ledger=None, seed=1)
    column = "people.number of stays"
    (total,) = [per_person(one).values[0] for one in made.measurements if isinstance(one.statistic.statistic, CodeSums)]
    pieces = made.fitted.persons.columns[column]
    mean = made.fitted.persons.marginal(column) @ ((pieces.starts + pieces.stops - 1) / 2)
    assert mean == pytest.approx(total / made.size, rel=0.15)


def test_spikes_are_cells_far_above_both_neighbours():
    counts = np.array([10.0, 12, 900, 11, 10, 400, 380, 9, 700])
    slow = []
    for place, count in enumerate(counts):
        beside = max([counts[other] for other in (place - 1, place + 1) if 0 <= other < len(counts)])
        slow.append(count - beside > Tuning.spike * np.sqrt(5.0**2 + beside))
    assert _spikes(counts, 5.0, np.ones(9)).tolist() == slow
    assert [place for place, alone in enumerate(slow) if alone] == [2, 8]
    assert smooth_counts(counts, 5.0)[2] == 900


def test_raking_gives_a_column_its_distribution_and_keeps_all_else_given_it():
    rng = np.random.default_rng(1)
    columns = {name: _pieces(rng.dirichlet(np.ones(size), 3)) for name, size in (("rows", 4), ("other", 5))}
    mixture = TableMixture(rng.dirichlet(np.ones(3)), columns, 100.0)
    counts = np.array([[60.0], [-3.0], [30.0], [10.0]])
    way = OneWay(Grid.of_cells(np.arange(4)), counts, 1.0, np.arange(4), 4)
    everything = Classes(np.zeros(1, dtype=np.int64), np.ones(1))
    raked = rake_row_numbers(mixture, OneWays({"rows": way}, everything, np.array([97.0]), 1.0), ["rows"])
    assert raked.marginal("rows") == pytest.approx([0.6, 0.0, 0.3, 0.1], abs=1e-9)
    for before, after in zip(_joint(mixture), _joint(raked), strict=True):
        if after.sum() > 1e-9:
            assert after / after.sum() == pytest.approx(before / before.sum())


def _pieces(theta: np.ndarray) -> Pieces:
    codes = np.arange(theta.shape[1])
    return Pieces(codes, codes + 1, codes, np.zeros(len(codes)), theta)


def _joint(mixture: TableMixture) -> np.ndarray:
    """Rows by other."""
    one, two = (mixture.columns[name].theta for name in ("rows", "other"))
    return np.einsum("k,ki,kj->ij", mixture.weights, one, two)
