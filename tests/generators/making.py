"""Evidence made by hand: a few columns, two classes, a hidden truth behind a little noise."""

import numpy as np

from sfumato.fitting.generators.evidence import Column, Evidence, Histograms, Linear, Pairs
from sfumato.trusted.feature_maps import Grid

SIZES = (3, 4, 2)
CLASSES = 2


def truth(rng: np.random.Generator) -> np.ndarray:
    """Shares of every record: classes x 3 x 4 x 2, with columns that depend on each other."""
    shares = rng.dirichlet(np.full(np.prod(SIZES), 0.3), CLASSES).reshape(CLASSES, *SIZES)
    return shares * np.array([0.6, 0.4])[:, None, None, None]


def evidence(rng: np.random.Generator, size: float = 1e5, sigma: float = 5.0, along: bool = True) -> Evidence:
    shares = truth(rng)
    ones = [shares.sum(axis=tuple(a for a in (1, 2, 3) if a != axis)) for axis in (1, 2, 3)]
    one_way = np.concatenate(ones, axis=1).T
    noise = (sigma / size) ** 2
    starts = np.cumsum((0, *SIZES))
    tables = np.zeros((CLASSES, 9, 9))
    precision = np.zeros((9, 9))
    for one in range(3):
        for other in range(one + 1, 3):
            left = ({0, 1, 2} - {one, other}).pop()
            table = shares.sum(axis=1 + left)
            rows, across = (slice(starts[place], starts[place + 1]) for place in (one, other))
            tables[:, rows, across] = table
            tables[:, across, rows] = table.transpose(0, 2, 1)
            precision[rows, across] = precision[across, rows] = 1 / noise
    columns = {
        f"c{place}": Column(
            Grid.of_cells(np.arange(groups)), np.arange(groups), np.ones(groups), np.full(groups, sigma / size), groups
        )
        for place, groups in enumerate(SIZES)
    }
    marginals = (one_way / np.array([0.6, 0.4])).T.clip(1e-6)
    return Evidence(
        columns,
        size * np.array([0.6, 0.4]),
        marginals,
        1.0,
        (Linear(np.eye(9), one_way + sigma / size * rng.normal(size=one_way.shape), np.full((9, 2), 1 / noise)),),
        Pairs(np.eye(9), tables + 0.0, precision),
        histograms(rng, shares, noise) if along else None,
    )


def histograms(rng: np.random.Generator, shares: np.ndarray, noise: float) -> Histograms:
    places = rng.normal(size=(8, 9))
    ends = np.tile(np.linspace(-1.5, 1.5, 6), (8, 1))
    counts = np.zeros((8, 7, CLASSES))
    for c, i, j, k in np.ndindex(shares.shape):
        place = places[:, i] + places[:, 3 + j] + places[:, 7 + k]
        for s in range(8):
            counts[s, np.searchsorted(ends[s], place[s], side="right"), c] += shares[c, i, j, k]
    return Histograms(places, ends, np.tile([-5.0, 5.0], (8, 1)), counts, noise)
