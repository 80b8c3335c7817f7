"""A hunter of counter-examples: the largest move that one change of a table can make, found by search.

A statistic is a sum over records, which is tested apart, so a change moves the sum by what the changed record adds
before and after.
"""

import math
from collections.abc import Mapping

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.statistics import Statistic

Codes = Mapping[str, int]  # how many codes each column has


def norm(statistic: Statistic, move: np.ndarray) -> float:
    """The length of a move in the blocks' weights."""
    weights = np.repeat([block.weight for block in statistic.blocks], [block.size for block in statistic.blocks])
    return float(np.linalg.norm(weights * move))


def one(record: Mapping[str, int]) -> Batch:
    return Batch(1, {name: np.array([code], dtype=np.int32) for name, code in record.items()})


def move(statistic: Statistic, adjacency: Adjacency, before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """How far the sum moves when `before` becomes `after` (add-remove: when `before` goes)."""
    if adjacency == Adjacency.ADD_REMOVE:
        return norm(statistic, statistic(one(before)))
    return norm(statistic, statistic(one(after)) - statistic(one(before)))


def hunt(
    statistic: Statistic, adjacency: Adjacency, codes: Codes, label: str, tries: int = 3_000, seed: int = 0
) -> float:
    """The largest move over random neighbours, corners of the codes, and coordinate ascent from the best of both."""
    rng = np.random.default_rng(seed)

    def draw(corner: bool) -> dict[str, int]:
        return {name: int(rng.choice([0, size - 1]) if corner else rng.integers(size)) for name, size in codes.items()}

    def neighbour(before: dict[str, int], corner: bool) -> dict[str, int]:
        other = draw(corner)
        return {**before, label: other[label]} if adjacency == Adjacency.LABEL else other

    best, worst = ({}, {}), 0.0
    for attempt in range(tries):
        before = draw(attempt % 3 == 0)
        after = neighbour(before, attempt % 3 == 0)
        if (length := move(statistic, adjacency, before, after)) > worst:
            best, worst = (before, after), length
    return max(worst, _climb(statistic, adjacency, codes, label, *best, rng))


def _climb(statistic, adjacency, codes, label, before, after, rng) -> float:
    """Change one coordinate of either record at a time, as long as the move grows."""
    worst = move(statistic, adjacency, before, after)
    for name in codes:
        for code in rng.permutation(codes[name])[:20]:
            for pair in (({**before, name: int(code)}, after), (before, {**after, name: int(code)})):
                same = all(pair[0][other] == pair[1][other] for other in codes if other != label)
                if adjacency == Adjacency.LABEL and not same:
                    continue
                if (length := move(statistic, adjacency, *pair)) > worst:
                    (before, after), worst = pair, length
    return worst


def holds(
    statistic: Statistic, adjacency: Adjacency, codes: Codes, label: str, tries: int = 1_000
) -> tuple[bool, bool]:
    """Whether no neighbour moves the sum further than claimed, and whether the claim is reached to 1 %."""
    worst, claim = hunt(statistic, adjacency, codes, label, tries), statistic.sensitivity(adjacency)
    return worst <= claim * (1 + 1e-12), worst >= 0.99 * claim or math.isclose(claim, worst)
