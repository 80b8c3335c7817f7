"""Adapt: what makes a model of the records' distribution better at telling the target of a record.

Each choice asks the curator, or learns from what has been released already, and each can be repeated from recorded
answers. What was paid for labels the records of a sample, too.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from sfumato.fitting.mechanisms.framework.anonymize import Seen
from sfumato.fitting.mechanisms.tables.adaptation import adapt as adapt_by_gradients
from sfumato.fitting.mechanisms.tables.adaptation import adapt_again, before_any_gradient, rank_of
from sfumato.fitting.mechanisms.tables.growing import count_leaves, grow_tree
from sfumato.fitting.mechanisms.tables.mending import Mending
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.retraining.labelling import distil
from sfumato.trusted.feature_maps import Softmax
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.statistics import LeafCounts


class Adapt(Protocol):
    """A choice of this part. `prior_sd` is that of the labeller's coefficients around what the density says."""

    def ask(self, curator: CuratorLike, seen: Seen, density: TableMixture, prior_sd: float) -> Softmax | None:
        """Ask what is planned, and tell the target; None: as the density tells it."""

    def again(
        self, answers: Sequence[Measurement], seen: Seen, density: TableMixture, prior_sd: float
    ) -> Softmax | None:
        """The same from recorded answers, for this or another density."""


class Gradients:
    """A softmax model moved by noisy gradients on the records, and mended by counts in leaves where it is off.

    Formal guarantees
        `Gradient`, `Products` and `LeafCounts` prove their sensitivity; each is asked once for each mu of the plan.
    """

    def ask(self, curator: CuratorLike, seen: Seen, density: TableMixture, prior_sd: float) -> Softmax | None:
        """See `Adapt`."""
        return adapt_by_gradients(curator, seen.plan, seen.one_way, seen.pairs, density, prior_sd)

    def again(
        self, answers: Sequence[Measurement], seen: Seen, density: TableMixture, prior_sd: float
    ) -> Softmax | None:
        """See `Adapt`."""
        return adapt_again(list(answers), seen.one_way, density, prior_sd)


class Leaves:
    """What the density tells, mended by noisy counts of the target in the leaves of trees and by nothing else.

    The trees are grown on records of the density, towards what the model says of their classes: they are public.

    Formal guarantees
        `LeafCounts` proves its sensitivity: a record is in one leaf of a tree, however many columns that looks at.
    """

    def ask(self, curator: CuratorLike, seen: Seen, density: TableMixture, prior_sd: float) -> Softmax | None:
        """See `Adapt`."""
        del prior_sd  # no coefficient is moved
        target, mending = str(seen.plan.target), _before_any_leaf(seen, density)
        grid = seen.plan.grids[target].merge(seen.one_way.classes.groups)
        for mu in seen.plan.mu_rest:
            tree = grow_tree(seen.one_way, mending.pool, mending.told, count_leaves(seen.one_way.size, mu))
            mending = mending.after(curator.measure(LeafCounts(tree, target, grid), mu))
        return mending.mended

    def again(
        self, answers: Sequence[Measurement], seen: Seen, density: TableMixture, prior_sd: float
    ) -> Softmax | None:
        """See `Adapt`."""
        del prior_sd
        mending = _before_any_leaf(seen, density)
        for answer in answers:
            mending = mending.after(answer)
        return mending.mended


def _before_any_leaf(seen: Seen, density: TableMixture) -> Mending:
    rank = rank_of(seen.one_way, float(np.linalg.norm(seen.plan.mu_rest)))
    start = before_any_gradient(seen.plan, str(seen.plan.target), seen.one_way, seen.pairs, density, rank, 1.0)
    return start.mending


class Released:
    """A softmax model of what the density tells of its own records, on log-ratios of the released tables.

    Formal guarantees
        Post-processing: it asks for nothing.
    """

    def ask(self, curator: CuratorLike, seen: Seen, density: TableMixture, prior_sd: float) -> Softmax | None:
        """See `Adapt`."""
        del curator
        return self.again((), seen, density, prior_sd)

    def again(
        self, answers: Sequence[Measurement], seen: Seen, density: TableMixture, prior_sd: float
    ) -> Softmax | None:
        """See `Adapt`."""
        del answers, prior_sd
        if seen.pairs is None and seen.embedded is None:
            return None
        together = seen.plan.mu_pairs or seen.plan.mu_embedding or 0.0
        mu = math.hypot(seen.plan.mu_one_way, together)
        return distil(density, seen.plan, seen.one_way, seen.pairs, mu)


class Nothing:
    """The density's own opinion of the target.

    Formal guarantees
        Post-processing: it asks for nothing.
    """

    def ask(self, curator: CuratorLike, seen: Seen, density: TableMixture, prior_sd: float) -> Softmax | None:
        """See `Adapt`."""
        del curator, seen, density, prior_sd
        return None

    def again(
        self, answers: Sequence[Measurement], seen: Seen, density: TableMixture, prior_sd: float
    ) -> Softmax | None:
        """See `Adapt`."""
        del answers, seen, density, prior_sd
        return None


ADAPT: Mapping[str, Adapt] = {
    "gradients": Gradients(),
    "leaves": Leaves(),
    "released": Released(),
    "none": Nothing(),
}
