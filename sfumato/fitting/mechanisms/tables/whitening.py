"""Few uncorrelated directions instead of many correlated features, learnt on synthetic records."""

from collections.abc import Sequence

import numpy as np

from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import Float32Array, FloatArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Features, Lookup
from sfumato.trusted.feature_maps.features import DIRECTION_UNIT, VALUE_UNIT


class Tuning(TuningConstants, group="tables.whitening"):
    """See `sfumato.fitting.tuning`."""

    least_variance = 1e-6  # of a direction that is kept
    spare = 20  # of the subspace iteration
    rounds = 6


def whiten_features(
    lookups: Sequence[Lookup], pool: Batch, importance: FloatArray, rank: int, first: FloatArray
) -> Features:
    """Features of unit variance on the pool: the leading `rank` principal directions of the looked-up values.

    The directions `first` (values x some) come before them and are kept, whatever their variance.
    """
    values = _values(lookups, pool)
    weight = np.sqrt(importance / importance.sum()).astype(np.float32)
    mean = (weight**2) @ values.T
    values -= mean[:, None]
    values *= weight
    head, regression = _regressed(values, first)
    if first.size:
        values = values - regression.astype(np.float32) @ (first.T.astype(np.float32) @ values)
    tail = _principal(values, rank)
    # what the first directions explain is taken off the others: tail' (values - R first' values)
    tail = tail - first @ (regression.T @ tail)
    directions = np.concatenate((head, tail), axis=1)
    centred = np.split(
        np.rint(mean / VALUE_UNIT).astype(np.int32), np.cumsum([len(lookup.values) for lookup in lookups])
    )
    moved = tuple(
        Lookup(lookup.columns, lookup.grids, lookup.values - part.reshape(-1, *(1,) * len(lookup.grids)))
        for lookup, part in zip(lookups, centred, strict=False)
    )
    return Features(moved, np.rint(directions / DIRECTION_UNIT).astype(np.int32))


def _values(lookups: Sequence[Lookup], pool: Batch) -> Float32Array:
    count = sum(len(lookup.values) for lookup in lookups)
    plain = Features(tuple(lookups), np.zeros((count, 0), dtype=np.int32))
    parts = pool.parts(plain.records_at_once, plain.columns)
    return np.concatenate([(plain.values(part) * VALUE_UNIT).astype(np.float32) for part in parts], axis=1)


def _regressed(values: Float32Array, first: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The first directions whitened, and the regression of every value on their (unwhitened) scores."""
    scores = first.T @ values
    variance, vectors = np.linalg.eigh(scores @ scores.T)
    kept = variance > Tuning.least_variance
    root = vectors[:, kept] / np.sqrt(variance[kept])
    return first @ root, (values @ scores.T @ root) @ root.T


def _principal(values: Float32Array, rank: int) -> FloatArray:
    """The leading principal directions, scaled to unit variance, each with its largest entry above 0."""
    basis = np.eye(len(values), dtype=np.float32)
    if len(values) > 4 * rank + 40:
        basis = public_rng(2).normal(size=(len(values), rank + Tuning.spare)).astype(np.float32)
        for _ in range(Tuning.rounds):
            basis = np.linalg.qr(values @ (values.T @ basis))[0]
    scores = (basis.T @ values).astype(np.float64)
    variance, vectors = np.linalg.eigh(scores @ scores.T)
    leading = np.argsort(-variance)[:rank]
    leading = leading[variance[leading] > Tuning.least_variance]
    directions: FloatArray = basis @ (vectors[:, leading] / np.sqrt(variance[leading]))
    largest = np.abs(directions).argmax(axis=0)
    return directions * np.where(directions[largest, np.arange(len(leading))] < 0, -1.0, 1.0)
