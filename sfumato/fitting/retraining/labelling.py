"""Predictions of a generator: what its own records tell of the target. Post-processing.

A mixture of many products knows each of its records too well: the probability of a class given all other columns hangs
on the one or two latent points that are nearest. A softmax regression on log-ratios of the released tables, fitted to
what the mixture tells of its own records, says it more evenly, and of records of the world more truly. Where a release
has asked for gradients of the target, these mend it. Records of a sample keep the class that they were drawn in: they
are the generator's own.
"""

import math
from collections.abc import Sequence

from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.tables.adaptation import adapt_again, before_any_gradient, rank_of
from sfumato.fitting.mechanisms.tables.fit import attach_labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.feature_maps import Softmax
from sfumato.trusted.measurement import Measurement


class Tuning(TuningConstants, group="retraining.labelling"):
    """See `sfumato.fitting.tuning`."""

    prior = 0.5  # standard deviation of coefficients around what the mixture says, where gradients mend them
    most_directions = 60  # what lies along the others is more noise than truth where the budget is small


def with_labeller(
    mixture: TableMixture,
    plan: CountsPlan,
    one_way: OneWays,
    pairs: PairTables | None,
    gradients: Sequence[Measurement] = (),
) -> TableMixture:
    """The mixture with a labeller for predictions, by gradients where there are any; samples do not meet it."""
    if gradients:
        model = adapt_again(list(gradients), one_way, mixture, Tuning.prior)
    else:
        model = _distilled(mixture, plan, one_way, pairs)
    return attach_labeller(mixture, plan, model, of_samples=False)


def _distilled(mixture: TableMixture, plan: CountsPlan, one_way: OneWays, pairs: PairTables | None) -> Softmax | None:
    """From the mixture's own records, where there are pairs to learn from and not too many classes."""
    if not plan.labelled or pairs is None or plan.mu_pairs is None:
        return None
    return distil(mixture, plan, one_way, pairs, math.hypot(plan.mu_one_way, plan.mu_pairs))


def distil(
    mixture: TableMixture, plan: CountsPlan, one_way: OneWays, pairs: PairTables | None, mu: float
) -> Softmax | None:
    """What the mixture tells of its own records, along as many directions as measurements of this mu bear out."""
    if plan.target is None:
        return None
    rank = min(Tuning.most_directions, rank_of(one_way, mu))
    return before_any_gradient(plan, plan.target, one_way, pairs, mixture, rank, prior_sd=1.0).model
