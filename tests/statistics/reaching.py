"""A search, many records at a time, for those whose vectors are longer or farther apart than claimed.

All lengths are exact: squares of whole numbers that stay below 2**53.
"""

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.feature_maps.bounded_map import BoundedMap
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from tests.statistics.making import dimension_of

END = 2**PLACE_BITS
Two = tuple[BoundedMap, BoundedMap]  # of two classes


def squares(one: BoundedMap, places: np.ndarray) -> np.ndarray:
    """The squared length of every record's vector."""
    values = one(places).values
    return np.einsum("ij,ij->j", values, values)


def squares_apart(one: BoundedMap, here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The squared distance of the vectors of two records, for every pair."""
    (mine, block), (yours, other) = one(here), one(there)
    move = mine - yours
    together = np.einsum("ij,ij->j", move, move)
    return np.where(block == other, together, np.einsum("ij,ij->j", mine, mine) + np.einsum("ij,ij->j", yours, yours))


def moves(maps: Two, adjacency: Adjacency, here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """How far the sums of two classes move when a record of the first goes, is replaced, or gets the other label."""
    one, other = maps
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return np.sqrt(squares(one, here))
        case Adjacency.LABEL:
            return np.sqrt(squares(one, here) + squares(other, here))
        case Adjacency.REPLACE:
            elsewhere = squares(one, here) + squares(other, there)
            return np.sqrt(np.maximum(squares_apart(one, here, there), elsewhere))


def draw(one: BoundedMap, rng: np.random.Generator, count: int) -> np.ndarray:
    """Places of records: anywhere, in corners, and at all distances from the class."""
    d = dimension_of(one)
    places = rng.uniform(0, END, (d, count))
    corner = rng.random(count) < 0.2
    places[:, corner] = END * rng.integers(0, 2, (d, corner.sum()))
    near = (rng.random(count) < 0.5) & ~corner
    if (whitening := getattr(one, "whitening", None)) is not None and near.any():
        z = rng.normal(size=(d, near.sum()))
        z *= 10 ** rng.uniform(-3, 4, near.sum()) / np.linalg.norm(z, axis=0)
        places[:, near] = END * (whitening.exact_centre[:, None] + whitening.inverse @ z)
    return np.rint(places).clip(0, END)


def farthest(maps: Two, adjacency: Adjacency, tries: int, seed: int = 0) -> float:
    """The largest move found: half of the tries are drawn, half climb from the worst of those.

    Half of those drawn are paired by their lengths, so that the longest two meet.
    """
    rng = np.random.default_rng(seed)
    kept, steps = 40, max(1, tries // 2 // 40)
    here, there = (draw(maps[place], rng, tries - kept * steps) for place in (0, rng.integers(2)))
    half = here.shape[1] // 2
    for one, places in zip(maps, (here, there), strict=True):
        places[:, half:] = places[:, half:][:, np.argsort(squares(one, places[:, half:]))]
    found = moves(maps, adjacency, here, there)
    worst = np.argsort(found)[-kept:]
    here, there, found = here[:, worst], there[:, worst], found[worst]
    for _ in range(steps):
        reach = END * 10.0 ** rng.uniform(-6.5, 0, (2, 1, kept)) * (rng.random((2, 1, kept)) < 0.6)
        new_here, new_there = (
            np.rint(side + far * rng.normal(size=side.shape)).clip(0, END)
            for side, far in zip((here, there), reach, strict=True)
        )
        new = moves(maps, adjacency, new_here, new_there)
        better = new > found
        here[:, better], there[:, better], found[better] = new_here[:, better], new_there[:, better], new[better]
    return float(found.max())
