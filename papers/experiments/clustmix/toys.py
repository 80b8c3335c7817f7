"""Small sets in the plane with two classes, within [0, 1]."""

from collections.abc import Callable

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray

Toy = tuple[FloatArray, IntArray]


def separable(rng: np.random.Generator, records: int) -> Toy:
    """Two long clouds that a line can part, near each other at one end."""
    y = np.arange(records) % 2
    along, across = rng.random(records), 0.02 * rng.standard_normal(records).clip(-2, 2)
    first = np.column_stack((0.08 + 0.84 * along, 0.2 + 0.32 * along + across))
    second = np.column_stack((0.08 + 0.84 * along, 0.86 - 0.22 * along + across))
    return np.where((y == 1)[:, None], second, first), y


def moons(rng: np.random.Generator, records: int) -> Toy:
    """Two half circles that reach into each other."""
    y, angle = np.arange(records) % 2, np.pi * rng.random(records)
    upper = np.column_stack((np.cos(angle), np.sin(angle)))
    lower = np.column_stack((1 - np.cos(angle), 0.5 - np.sin(angle)))
    return _scaled(np.where((y == 1)[:, None], lower, upper) + 0.08 * rng.standard_normal((records, 2))), y


def rings(rng: np.random.Generator, records: int) -> Toy:
    """A ring within a ring."""
    y, angle = np.arange(records) % 2, 2 * np.pi * rng.random(records)
    radius = np.where(y == 1, 0.45, 1.0) + 0.06 * rng.standard_normal(records)
    return _scaled(np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))), y


def four_clouds(rng: np.random.Generator, records: int) -> Toy:
    """Four clouds at corners, classes crosswise."""
    corner = np.arange(records) % 4
    middle = np.column_stack((corner % 2, corner // 2)).astype(np.float64)
    y = (corner % 2 + corner // 2) % 2
    return _scaled(middle + 0.14 * rng.standard_normal((records, 2))), y


def _scaled(points: FloatArray) -> FloatArray:
    low, high = points.min(axis=0), points.max(axis=0)
    scaled: FloatArray = 0.05 + 0.9 * (points - low) / (high - low)
    return scaled


TOYS: dict[str, Callable[[np.random.Generator, int], Toy]] = {"moons": moons, "rings": rings, "clouds": four_clouds}
