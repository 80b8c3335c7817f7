"""`leaves`: how many records lie in each leaf of public trees of linear splits, one for each part of a public rule."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BundleError
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.bounded_map import UNIT, Vectors, register_map
from sfumato.trusted.feature_maps.packing import pack, unpack
from sfumato.trusted.feature_maps.partition import ByRule, parting_from_content
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from sfumato.trusted.fixed_point import EXACT

DIRECTION_BITS = 24  # of the largest entry of a direction


@dataclass(frozen=True, eq=False)
class Leaves:
    """One unit in the block of the record's leaf.

    A record of part p of the rule begins at roots[p]. From node i it goes to below[i] if its places along directions[i]
    are at most thresholds[i], else to above[i]; -1 - l stands for leaf l.

    Formal guarantees
        norm      UNIT: a record is in one leaf
        replace   UNIT sqrt(2): two records are in the same leaf or in two
        Places and directions are whole numbers whose products stay below 2**53, so the leaf is exact.
    """

    rule: ByRule
    roots: NDArray[np.int32]
    directions: NDArray[np.int32]  # nodes x columns
    thresholds: FloatArray  # whole numbers
    below: NDArray[np.int32]
    above: NDArray[np.int32]

    name = "counts in leaves"

    def __post_init__(self) -> None:
        nodes = len(self.directions)
        if any(len(part) != nodes for part in (self.thresholds, self.below, self.above)):
            raise ValueError("every node needs a direction, a threshold and two ways on")
        largest = np.abs(self.directions.astype(np.float64)).sum(axis=1).max(initial=0.0)
        if largest * 2.0**PLACE_BITS >= EXACT or not (np.abs(self.thresholds) < EXACT).all():
            raise ValueError("the splits are too large to be compared exactly")
        # children come after their parent, so that no walk goes on for ever; every node and leaf has one way to it
        ways = np.concatenate([self.roots, self.below, self.above]).astype(np.int64)
        parents = np.concatenate([np.full(len(self.roots), -1), np.tile(np.arange(nodes), 2)])
        inner = ways >= 0
        if len(self.roots) != self.rule.size or (ways[inner] <= parents[inner]).any():
            raise ValueError("the nodes are not trees, one for each part")
        for found, count in ((ways[inner], nodes), (-1 - ways[~inner], self.blocks)):
            if not np.array_equal(np.sort(found), np.arange(count)):
                raise ValueError("the nodes and leaves are not counted through")

    @property
    def width(self) -> int:
        """See `BoundedMap`."""
        return 1

    @property
    def blocks(self) -> int:
        """See `BoundedMap`."""
        return len(self.directions) + len(self.roots)

    @property
    def replace(self) -> float:
        """See `BoundedMap`."""
        return math.sqrt(2) * UNIT

    def leaf(self, places: FloatArray) -> IntArray:
        """The leaf of each record (columns x records)."""
        at = self.roots.astype(np.int64)[self.rule(Batch(places.shape[1], {}), places)]
        directions = self.directions.astype(np.float64)
        while (walking := np.flatnonzero(at >= 0)).size:
            node = at[walking]
            along = np.einsum("nd,dn->n", directions[node], places[:, walking])  # whole numbers below 2**53: exact
            at[walking] = np.where(along <= self.thresholds[node], self.below[node], self.above[node])
        return -1 - at

    def __call__(self, places: FloatArray) -> Vectors:
        """See `BoundedMap`."""
        return Vectors(np.full((1, places.shape[1]), float(UNIT)), self.leaf(places))

    def to_dict(self) -> dict[str, Any]:
        """See `BoundedMap`."""
        return {
            "kind": "leaves",
            "tree": {
                "rule": self.rule.to_dict(),
                "roots": pack(self.roots),
                "directions": pack(self.directions),
                "thresholds": self.thresholds.tolist(),
                "below": pack(self.below),
                "above": pack(self.above),
            },
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Leaves":
        """The leaves that `to_dict` wrote."""
        tree = content["tree"]
        thresholds = np.array(tree["thresholds"], dtype=np.float64)
        rule = parting_from_content(tree["rule"])
        if not isinstance(rule, ByRule):
            raise BundleError("the leaves are not parted by a rule; ask for a fresh copy")
        ways = (unpack(tree[name]) for name in ("below", "above"))
        return cls(rule, unpack(tree["roots"]), unpack(tree["directions"]), thresholds, *ways)


register_map("leaves", Leaves.from_dict)
