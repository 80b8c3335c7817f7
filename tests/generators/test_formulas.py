"""What training rests on, each against a slow, obvious version."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from sfumato.fitting.generators.columnwise import Columnwise
from sfumato.fitting.generators.divergence import cost_of
from sfumato.fitting.generators.evidence import Layout, Pairs
from sfumato.fitting.generators.loss import Loss
from sfumato.fitting.generators.products import AllTables, ChosenTables, tables_of
from sfumato.fitting.generators.smoothing import SmoothedSlices, smoothing_of
from tests.generators.making import CLASSES, SIZES, evidence

LAYOUT = Layout(SIZES, SIZES, CLASSES)
COLUMNS = Columnwise(LAYOUT, "cpu")


def split(row: np.ndarray) -> list[np.ndarray]:
    return np.split(row, np.cumsum(SIZES)[:-1])


@given(st.integers(0, 1_000), st.floats(0.1, 50))
def test_softmax_is_that_of_every_column_by_itself(seed, scale):
    logits = scale * np.random.default_rng(seed).normal(size=(5, sum(SIZES)))
    found = COLUMNS.softmax(torch.tensor(logits, dtype=torch.float32)).numpy()
    for row, expected in zip(found, logits, strict=True):
        slow = np.concatenate([np.exp(part - part.max()) / np.exp(part - part.max()).sum() for part in split(expected)])
        assert row == pytest.approx(slow, abs=1e-5)


@given(st.integers(0, 1_000))
def test_mean_and_variance_along_a_direction_are_those_of_all_records(seed):
    rng = np.random.default_rng(seed)
    theta = np.concatenate([rng.dirichlet(np.ones(size)) for size in SIZES])
    places = rng.normal(size=(4, sum(SIZES)))
    mean, variance = COLUMNS.moments(
        torch.tensor(theta[None], dtype=torch.float32), torch.tensor(places, dtype=torch.float32)
    )
    parts, along = split(theta), [split(row) for row in places]
    for s in range(4):
        records = list(itertools.product(*(range(size) for size in SIZES)))
        p = np.array([np.prod([parts[c][g] for c, g in enumerate(record)]) for record in records])
        x = np.array([sum(along[s][c][g] for c, g in enumerate(record)) for record in records])
        assert mean[0, s] == pytest.approx(p @ x, abs=1e-4)
        assert variance[0, s] == pytest.approx(p @ x**2 - (p @ x) ** 2, abs=1e-4)


def test_smoothing_takes_the_records_of_a_bin_where_noise_takes_them():
    rng = np.random.default_rng(0)
    ends, outer, width = np.array([[-1.0, 0.0, 2.0]]), np.array([[-3.0, 4.0]]), np.array([0.5])
    found = smoothing_of(ends, outer, width)[0]
    edges = np.array([-3.0, -1.0, 0.0, 2.0, 4.0])
    for place in range(4):
        drawn = rng.uniform(edges[place], edges[place + 1], 200_000) + 0.5 * rng.normal(size=200_000)
        slow = np.bincount(np.searchsorted(ends[0], drawn), minlength=4) / 200_000
        assert found[place] == pytest.approx(slow, abs=0.005)
    assert found.sum(axis=1) == pytest.approx(np.ones(4))


def test_expected_slices_are_shares_of_normal_places():
    seen = evidence(np.random.default_rng(1)).histograms
    slices = SmoothedSlices.of(seen, 1e5, np.array([2, 5]), "cpu")
    mean, variance = np.array([[0.3, -0.2], [1.0, 0.0]]), np.array([[0.4, 0.1], [0.2, 2.0]])
    member = np.array([[0.6, 0.0], [0.0, 0.4]])
    made = (torch.tensor(part, dtype=torch.float32) for part in (mean, variance, member))
    found = slices.expected(*made).numpy()
    for s, b, c in np.ndindex(2, 7, 2):
        edges = np.concatenate(([-np.inf], seen.ends[(2, 5)[s]], [np.inf]))
        deviation = np.sqrt(variance[c, s] + 0.35**2 * (10 / 7) ** 2)
        slow = member[c, c] * np.diff(norm.cdf((edges - mean[c, s]) / deviation))[b]
        assert found[s, b, c] == pytest.approx(slow, abs=1e-5)


def test_the_loss_is_what_is_off_over_its_variance():
    rng = np.random.default_rng(2)
    seen = evidence(rng, along=False)
    judge = Loss(seen, "cpu")
    owner = torch.tensor([0, 0, 1, 1, 1])
    logits = torch.tensor(rng.normal(size=(5, 9)), dtype=torch.float32)
    theta = judge.theta(logits).double().numpy()
    weight = np.array([0.3, 0.3, 0.4 / 3, 0.4 / 3, 0.4 / 3])
    total = 0.0
    for c in range(2):
        own = owner.numpy() == c
        one = (weight[own, None] * theta[own]).sum(axis=0)
        total += 0.5 * (seen.linear[0].precision[:, c] * (one - seen.linear[0].values[:, c]) ** 2).sum()
        pairs = np.einsum("k,ka,kb->ab", weight[own], theta[own], theta[own])
        total += 0.25 * (seen.pairs.precision * (pairs - seen.pairs.tables[c]) ** 2).sum()
        total -= seen.prior / own.sum() * (seen.marginals[c] * np.log(theta[own])).sum()
    found = float(judge.loss(logits, owner)) + float(judge.loss(logits, owner, held_back=True))
    assert found == pytest.approx(total, rel=1e-3)


def test_what_is_held_back_teaches_nothing():
    """A change of the held-back directions alone changes the judgement and not the loss."""
    rng = np.random.default_rng(3)
    seen = evidence(rng)
    logits, owner = torch.tensor(rng.normal(size=(4, 9)), dtype=torch.float32), torch.tensor([0, 0, 1, 1])
    before = Loss(seen, "cpu")
    changed = 0
    for direction in range(8):
        seen.histograms.shares[direction] += 0.01
        after = Loss(seen, "cpu")
        seen.histograms.shares[direction] -= 0.01
        learnt = float(after.loss(logits, owner)) != float(before.loss(logits, owner))
        judged = float(after.loss(logits, owner, held_back=True)) != float(before.loss(logits, owner, held_back=True))
        assert learnt != judged
        changed += judged
    assert changed == 1


def test_a_direction_on_which_all_records_have_one_place_is_smoothed_too():
    seen = evidence(np.random.default_rng(1)).histograms
    flat = dataclasses.replace(
        seen, places=0 * seen.places, ends=0 * seen.ends, outer=0 * seen.outer, shares=np.full_like(seen.shares, 1 / 14)
    )
    slices = SmoothedSlices.of(flat, 100.0, np.arange(8), "cpu")
    nothing = torch.zeros(3, 8)
    found = slices.expected(nothing, nothing, torch.full((3, 2), 1 / 6))
    assert torch.isfinite(found).all()
    assert torch.isfinite(slices.precision).all()
    assert found.sum(dim=1).numpy() == pytest.approx(np.full((8, 2), 0.5), abs=1e-5)


def test_few_pairs_cost_what_all_cells_say_of_them():
    """One pair of three columns; the groups of the first are put together, and the last is in no pair at all."""
    rng = np.random.default_rng(4)
    coarse = np.zeros((9, 6))
    coarse[[0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 2, 3, 4, 5]] = 1
    upper = np.zeros((6, 6))
    upper[:2, 2:] = 1e4
    tables = rng.random((CLASSES, 6, 6))
    pairs = Pairs(coarse, tables + tables.transpose(0, 2, 1), upper + upper.T)
    back = np.zeros((6, 6), dtype=bool)
    back[1, 3] = back[3, 1] = True

    def tensor(values):
        return torch.tensor(values, dtype=torch.float32)

    precisions = [pairs.precision * where for where in (~back, back)]
    cost = cost_of("chi-squared", 1e4)
    both = (AllTables(pairs, precisions, tensor, cost), ChosenTables(pairs, LAYOUT, precisions, tensor, cost))
    theta, weights = tensor(rng.random((5, 9))), tensor(rng.random(5))
    for held_back in (False, True):
        slopes = []
        for one in both:
            at = theta.clone().requires_grad_()
            one.loss(one.cells(at), weights, 1, held_back).backward()
            slopes.append(at.grad.numpy())
        assert np.abs(slopes[0]).max() > 0
        assert slopes[1] == pytest.approx(slopes[0], rel=1e-4, abs=1e-2)
        assert float(both[1].loss(both[1].cells(theta), weights, 0, held_back)) == pytest.approx(
            float(both[0].loss(both[0].cells(theta), weights, 0, held_back)), rel=1e-5
        )


@pytest.mark.parametrize(("columns", "kind"), [(20, AllTables), (300, ChosenTables)])
def test_of_wide_tables_only_the_pairs_asked_for_are_computed(columns, kind):
    precision = np.zeros((2 * columns, 2 * columns))
    for place in range(0, 2 * columns - 4, 2):  # three columns away at most
        precision[place : place + 2, place + 2 : place + 8] = 1
    pairs = Pairs(np.eye(2 * columns), np.zeros((1, 2 * columns, 2 * columns)), precision + precision.T)
    layout = Layout((2,) * columns, (2,) * columns, 1)
    assert isinstance(tables_of(pairs, layout, precision < 0, torch.tensor, cost_of("kl", 1e4)), kind)
