"""Trees that cut public records into leaves of like records, each large enough to outweigh the noise.

A mixture is fitted to the records, and the part of every component is cut in two along its longest axis while both
halves stay large enough. The records are public here, so nothing of this is measured.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.mechanisms.mixture.components import Component, Filled, fit_components
from sfumato.fitting.mechanisms.mixture.rules import rule_of
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.public_rng import PublicRng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import ByRule, Leaves
from sfumato.trusted.feature_maps.leaves import DIRECTION_BITS
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS


class Tuning(TuningConstants, group="mixture.public_tree"):
    """See `sfumato.fitting.tuning`."""

    most_rows = 4000  # to which the mixture is fitted: a bound on time
    most_times = 3  # as many components as classes
    most_leaves = 2000
    least_variance = 1e-4  # of a component, relative to that of the column


def rule_of_records(records: FloatArray, classes: int, rng: PublicRng) -> ByRule:
    """The likeliest component of a mixture of all records (records x columns, from 0 to 1); the least BIC decides."""
    centre, spread = records.mean(axis=0), records.std(axis=0)
    scale = np.where(spread > 1e-9, spread, 1.0)
    few = (
        records
        if len(records) <= Tuning.most_rows
        else records[rng.choice(len(records), Tuning.most_rows, replace=False)]
    )
    filled = Filled((few - centre) / scale, np.ones(len(few)), Tuning.least_variance)
    columns = records.shape[1]
    size = 1 + columns + columns * (columns + 1) / 2
    best, worse = np.inf, 0
    found: list[Component] = []
    for number in range(classes, Tuning.most_times * classes + 1):
        likelihood, components = fit_components(filled, number, rng)
        bic = -2 * likelihood * len(few) + size * number * np.log(len(few))
        best, worse, found = (bic, 0, components) if bic < best else (best, worse + 1, found)
        if worse == 2:
            break
    weights = np.array([one.weight for one in found])
    means = np.array([centre + scale * one.mean for one in found])
    covs = np.array([scale[:, None] * one.cov * scale for one in found])
    return rule_of(
        Gaussians(np.arange(len(found)), weights / weights.sum(), means, (covs + covs.transpose(0, 2, 1)) / 2)
    )


def grown_leaves(places: FloatArray, rule: ByRule, part: IntArray, smallest: float) -> Leaves:
    """The trees over records given by their places (columns x records) and the part of each."""
    directions: list[FloatArray] = []
    thresholds: list[float] = []
    ways: list[NDArray[np.int32]] = []
    roots, leaves = np.zeros(rule.size, dtype=np.int32), 0
    todo = [(np.flatnonzero(part == p), roots, p) for p in range(rule.size)]
    while todo:
        rows, parent, side = todo.pop(0)
        found = (
            _split(places[:, rows]) if len(rows) >= 2 * smallest and leaves + len(todo) < Tuning.most_leaves else None
        )
        if found is None:
            parent[side] = -1 - leaves
            leaves += 1
            continue
        direction, threshold, low = found
        parent[side] = len(directions)
        directions.append(direction)
        thresholds.append(threshold)
        ways.append(np.zeros(2, dtype=np.int32))
        todo += [(rows[low], ways[-1], 0), (rows[~low], ways[-1], 1)]
    both = np.array(ways, dtype=np.int32).reshape(-1, 2)
    return Leaves(
        rule,
        roots,
        np.array(directions, dtype=np.int32).reshape(-1, len(places)),
        np.array(thresholds, dtype=np.float64),
        both[:, 0],
        both[:, 1],
    )


def _split(places: FloatArray) -> tuple[FloatArray, float, NDArray[np.bool_]] | None:
    """Direction, threshold and lower half of a cut at the median of the longest axis; None where all are alike."""
    away = (places - places.mean(axis=1, keepdims=True)) * 2.0**-PLACE_BITS
    axis = np.linalg.eigh(away @ away.T)[1][:, -1]
    direction = np.rint(axis / np.abs(axis).max() * 2.0 ** (DIRECTION_BITS - len(axis).bit_length()))
    along = direction @ places
    threshold = float(np.sort(along)[(len(along) - 1) // 2])
    low = along <= threshold
    return None if low.all() else (direction, threshold, low)
