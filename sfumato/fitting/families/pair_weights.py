"""Which pairs of columns of a view are asked for, and how much each weighs: what a step is about is heavy."""

import itertools

from sfumato.fitting.mechanisms.counts.plan import Tuning as Planning
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.families import View, ViewColumn


class Tuning(TuningConstants, group="families.pair_weights"):
    """See `sfumato.fitting.tuning`."""

    habit = 1.0  # a column with its own value in the row before
    own = 0.5  # two columns of one row
    setting = 0.5  # a column of the row with one of the rows above it, or its place
    cross = 0.3  # a column of the row with another of the row before
    context = 0.15  # two columns that are known when the row is drawn; they keep the posterior honest


def pair_weights(view: View) -> dict[tuple[str, str], float]:
    """The weight of every pair of columns, or of the heaviest of very many."""
    pairs = {(one.name, other.name): _weight(one, other) for one, other in itertools.combinations(view.columns, 2)}
    heaviest = sorted(pairs, key=lambda pair: -pairs[pair])[: Planning.most_pairs]
    kept = set(heaviest)
    return {pair: weight for pair, weight in pairs.items() if pair in kept}


def _weight(one: ViewColumn, other: ViewColumn) -> float:
    kinds = {one.which, other.which}
    if "own" not in kinds:
        return Tuning.context
    if kinds == {"own"}:
        return Tuning.own
    if "previous" not in kinds:
        return Tuning.setting
    return Tuning.habit if one.column == other.column else Tuning.cross
