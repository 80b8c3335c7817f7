"""Bounded maps of every kind and dimension, as the mechanism would ask for them."""

import numpy as np

from sfumato.fitting.mechanisms.mixture.design import build_design
from sfumato.trusted.feature_maps import Boxes, ByRule, FourierFeatures, Leaves, Radii, Shells, Whitening
from sfumato.trusted.feature_maps.bounded_map import BoundedMap

KINDS = ("waves", "even waves", "hampel", "lift", "shells", "radii", "boxes", "leaves")
DIMENSIONS = (1, 2, 3, 5, 8)
STRENGTHS = (0.5, 30.0, 2_000.0, 100_000.0)  # n mu^2
_PERIODS = 2 * np.pi / 1.15 * np.array([1.0, 3.0])


def a_whitening(d: int, seed: int = 0, narrow: float = 0.003) -> Whitening:
    """Turned axes around a centre inside the box, with standard deviations from `narrow` to 0.1 of the range."""
    rng = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(rng.normal(size=(d, d)))
    sd = np.geomspace(narrow, 0.1, d) if d > 1 else np.array([narrow])
    return Whitening.of((turned / sd) @ turned.T, rng.uniform(0.3, 0.7, d))


def a_map(kind: str, d: int, strength: float = 30.0, seed: int = 0) -> BoundedMap:
    """A map of d columns, made for a class with n mu^2 = strength."""
    if kind in ("waves", "even waves"):
        high = np.random.default_rng(seed).uniform(1, 200, (d, 1)) if seed else np.empty((d, 0))
        frequencies = np.hstack([np.tile(_PERIODS, (d, 1)), high])
        return FourierFeatures.of(frequencies, 1 if kind == "waves" else frequencies.size)
    if kind == "leaves":
        return some_leaves(d, seed)
    whitening = a_whitening(d, seed)
    if kind == "shells":
        return Shells.of(whitening)
    if kind == "radii":
        return Radii(whitening, (0.5 * d, d, 2.0 * d, 16.0 * d))
    if kind == "boxes":
        return Boxes(whitening, min(d, 3), 7, 3.0)
    return build_design(kind, whitening, strength, 1.0)


def some_leaves(d: int, seed: int = 0) -> Leaves:
    """Two trees: four leaves below the first root, two below the second."""
    rng = np.random.default_rng(seed)
    rule = ByRule((a_whitening(d, seed), a_whitening(d, seed + 1)), (0.0, 5.0))
    directions = rng.integers(-(2**20), 2**20, (4, d)).astype(np.int32)
    thresholds = np.rint(directions @ rng.uniform(0, 2**21, d))
    below, above = np.array([[1, -1, -3, -5], [2, -2, -4, -6]], dtype=np.int32)
    return Leaves(rule, np.array([0, 3], dtype=np.int32), directions, thresholds, below, above)


def dimension_of(one: BoundedMap) -> int:
    """How many columns a map reads."""
    match one:
        case FourierFeatures():
            return len(one.frequencies)
        case Leaves():
            return one.directions.shape[1]
        case _:
            return len(one.whitening.centre)
