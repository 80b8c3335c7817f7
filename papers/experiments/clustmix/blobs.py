"""Four blobs on which one record decides how they are clustered."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sfumato_papers.clustmix import noise

from sfumato.trusted.arrays import FloatArray

EACH, FEATURES = 100, 2
RECORDS, EACH_CLUSTER = 4 * EACH, 2 * EACH
SHIFTS = np.linspace(-0.01, 0.01, 101)
PLACES = ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.0), (0.0, 0.5))
DIRECTIONS = 24
ENOUGH = 3.0  # mu at which the search ends


def four_blobs(shift: float) -> FloatArray:
    """Blobs at the corners of a rectangle that is higher than wide by `shift`."""
    rng = np.random.default_rng(0)
    corners = [(0.25, 0.25), (0.25, 0.75 + shift), (0.75, 0.25), (0.75, 0.75 + shift)]
    spread = [0.01 * rng.standard_normal((EACH, FEATURES)).clip(-2, 2) for _ in corners]
    return np.concatenate([np.array(corner) + one for corner, one in zip(corners, spread, strict=True)]).clip(0, 1)


def best_halves(records: FloatArray) -> FloatArray:
    """The means of the best two clusters of one size that a line can part, of some directions."""
    found: list[tuple[float, FloatArray]] = []
    for angle in np.linspace(0, math.pi, DIRECTIONS, endpoint=False):
        order = np.argsort(records @ (math.cos(angle), math.sin(angle)), kind="stable")
        halves = [records[order[:EACH_CLUSTER]], records[order[EACH_CLUSTER:]]]
        cost = sum(float(((half - half.mean(axis=0)) ** 2).sum()) for half in halves)
        found.append((cost, np.array([half.mean(axis=0) for half in halves])))
    return min(found, key=lambda one: one[0])[1]


@dataclass(frozen=True)
class Pair:
    """Two tables: blobs with a shift, and the same with the first record elsewhere; how far apart their means are."""

    mu: float
    shift: float
    place: tuple[float, float]

    def changed(self) -> FloatArray:
        """The other table."""
        records = four_blobs(self.shift)
        records[0] = self.place
        return records


def worst_pair(epsilon: float, delta: float, classes: int) -> Pair:
    """The first pair that is far apart, among shifts and places."""
    sigma = noise(epsilon, delta, EACH_CLUSTER, classes, FEATURES)
    assert sigma is not None
    worst = Pair(0.0, 0.0, PLACES[0])
    for shift in SHIFTS:
        before = best_halves(four_blobs(shift))
        for place in PLACES:
            pair = Pair(0.0, float(shift), place)
            apart = ((before[:, None] - best_halves(pair.changed())[None]) ** 2).sum(axis=-1)
            mu = math.sqrt(apart[linear_sum_assignment(apart)].sum()) / sigma
            worst = max(worst, Pair(mu, float(shift), place), key=lambda one: one.mu)
        if worst.mu > ENOUGH:
            break
    return worst
