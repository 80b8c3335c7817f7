"""Components that are one product, each cut to a box of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import Float32Array, FloatArray, IntArray


class Tuning(TuningConstants, group="tables.families"):
    """See `sfumato.fitting.tuning`."""

    families = 8.0  # that a box wants, by what it holds, to have them for itself: fewer, and neighbours share theirs
    many = 1_000  # components, beyond which boxes are in fewer families: a bound on time


@dataclass(frozen=True, eq=False)
class Families:
    """The family of every component, and what tells the members of one apart.

    Boxes that hold little are many, and components that are free in each of them would explain by the box whatever
    else they have to explain. So neighbouring boxes have families in common: the same logits, cut to each box.
    """

    of: IntArray  # the family of each component, rising
    shares: Float32Array  # of each component in its family, before the fit
    closed: Float32Array  # components x groups: -inf outside of their box, 0 inside

    @cached_property
    def sizes(self) -> Float32Array:
        """How many components there are in the family of each."""
        return np.bincount(self.of)[self.of].astype(np.float32)

    @cached_property
    def _first(self) -> IntArray:
        return np.searchsorted(self.of, np.arange(self.of[-1] + 1))

    def spread(self, logits: Float32Array) -> Float32Array:
        """The logits of every component, from those of the families."""
        spread: Float32Array = logits[self.of] + self.closed
        return spread

    def gather(self, values: Float32Array) -> Float32Array:
        """What the components of each family add up to."""
        gathered: Float32Array = np.add.reduceat(values, self._first, axis=0)
        return gathered

    def within(self, pi: Float32Array) -> Float32Array:
        """The share of each component in its family."""
        share: Float32Array = pi / self.gather(pi)[self.of]
        return share


def form_families(mass: FloatArray, components: Sequence[int]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Class, box and family of every component, and of each family how many there are in its class and boxes.

    mass         of every box in each class (classes x boxes); 0: it cannot be there
    components   that each class wants

    A box that holds next to nothing is in fewer families than its neighbours.
    """
    most = max(1.0, min(Tuning.families, Tuning.many / max(1, int((mass > 0).sum()))))
    found: list[tuple[int, int, int]] = []
    siblings: list[int] = []
    for c, number in enumerate(components):
        wanted = number * mass[c]
        for block in _blocks(wanted, most):
            count = max(1, round(float(wanted[block].sum())))
            needed = np.clip(np.ceil(most * wanted[block]), 1, count).astype(np.int64)
            for place in range(int(needed.max())):
                found += [(c, block[b], len(siblings)) for b in np.flatnonzero(needed > place)]
                siblings.append(int(needed.max()))
    owner, box, family = np.array(found).T
    return owner, box, family, np.array(siblings)


def _blocks(wanted: FloatArray, most: float) -> list[list[int]]:
    """The boxes of a class, from the families that each wants: alone if it wants enough, or with its neighbours."""
    blocks: list[list[int]] = []
    block: list[int] = []
    for box in np.flatnonzero(wanted > 0).tolist():
        if wanted[box] >= most:
            blocks.append([box])
            continue
        block.append(box)
        if wanted[block].sum() >= most:
            blocks.append(block)
            block = []
    return [*blocks, block] if block else blocks
