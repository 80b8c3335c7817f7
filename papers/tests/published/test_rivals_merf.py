"""The embedding of DP-MERF, its sensitivity and its noise."""

import math

import numpy as np
import pytest
from sfumato_papers.baselines import Layout
from sfumato_papers.baselines.dp_merf import noisy_embedding, noisy_weights
from sfumato_papers.baselines.embedding import Features, public_bandwidth, sensitivity
from sfumato_papers.baselines.networks import tensor

from tests.published.rival_tables import mixed


def slow_embedding(table, frequencies: np.ndarray) -> np.ndarray:
    """Record by record, feature by feature."""
    numbers = [j for j, kind in enumerate(table.kinds) if not kind]
    categories = [j for j, kind in enumerate(table.kinds) if kind]
    columns = [[] for _ in range(table.classes)]
    for x, label in zip(table.X, table.y, strict=True):
        h, count = [], frequencies.shape[1]
        for turn in (math.cos, math.sin):
            for f in range(count):
                angle = sum(frequencies[i, f] * x[j] for i, j in enumerate(numbers))
                h.append(turn(angle) / math.sqrt(count))
        for j in categories:
            h += [float(x[j] == code) / math.sqrt(len(categories)) for code in range(table.kinds[j])]
        columns[label].append(h)
    return np.array([np.sum(column, axis=0) for column in columns]).T / len(table)


def test_the_embedding_is_the_slow_one():
    table = mixed(0)
    h = Features.random(np.random.default_rng(1), Layout.of(table), 20, 0.7)
    assert np.allclose(h.by_class(h.layout.encode(table)), slow_embedding(table, h.frequencies), atol=1e-6)


def test_products_of_features_are_the_gaussian_kernel():
    table = mixed(2, kinds=(0, 0, 0))
    layout = Layout.of(table)
    h = Features.random(np.random.default_rng(3), layout, 40_000, 0.6)
    found = h(tensor(layout.encode(table)))
    apart = ((table.X[:, None] - table.X[None]) ** 2).sum(axis=2)
    assert np.allclose((found @ found.T).cpu().numpy(), np.exp(-apart / (2 * 0.6**2)), atol=0.03)


@pytest.mark.parametrize(
    ("kinds", "reached"),
    [((0, 0), 0.99), ((4, 2, 2), math.sqrt(2) / 2), ((0, 3, 0, 2), math.sqrt(6 / 8))],
    ids=["numbers", "categories", "both"],
)
def test_no_replaced_record_moves_the_embedding_further(kinds, reached):
    """One frequency, so that features can be opposite; the authors' bound is loose where categories are."""
    table = mixed(4, 3_000, kinds, classes=2)
    layout = Layout.of(table)
    h = Features.random(np.random.default_rng(5), layout, 2, 0.05)
    rows = layout.encode(table)
    alone = [h.by_class(row[None]) for row in rows]  # n times its share of an embedding
    here, there = np.array(alone[:1_500]), np.array(alone[1_500:])
    worst = max(
        np.linalg.norm((here - np.roll(there, shift, axis=0)).reshape(1_500, -1), axis=1).max()
        for shift in range(0, 1_500, 50)
    )
    claimed = sensitivity(layout, 1)
    assert worst <= claimed * (1 + 1e-6)
    assert worst >= 0.97 * reached * claimed


def test_noise_is_that_of_the_gaussian_mechanism():
    table, rng, mu = mixed(6), np.random.default_rng(7), 0.5
    h = Features.random(rng, Layout.of(table), 2_000, 1.0)
    added = noisy_embedding(rng, table, h, mu) - h.by_class(h.layout.encode(table))
    assert added.std() == pytest.approx(2 * math.sqrt(2) / 60 / mu, rel=0.03)
    weights = np.array([noisy_weights(rng, table, 5.0) for _ in range(4_000)])
    assert weights.sum(axis=1) == pytest.approx(np.ones(4_000))
    assert (weights > 0).all()
    spread = math.sqrt(2) / 60 / 5 * math.sqrt(2 / 3)  # less what dividing by the sum takes away
    assert weights.std(axis=0) == pytest.approx(np.full(3, spread), rel=0.06)


def test_a_class_never_loses_all_its_weight():
    weights = noisy_weights(np.random.default_rng(0), mixed(8), 1e-3)
    assert (weights > 0).all()


def test_the_bandwidth_is_about_the_median_distance():
    table = mixed(9, 2_000, (0,) * 6)
    apart = np.linalg.norm(table.X[:1_000] - table.X[1_000:], axis=1)
    assert public_bandwidth(Layout.of(table)) == pytest.approx(np.median(apart), rel=0.05)
