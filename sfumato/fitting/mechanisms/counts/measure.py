"""All counts in order: the target's classes, where long columns have their mass, single columns, pairs."""

from collections.abc import Callable
from typing import Generic, NamedTuple

from sfumato.fitting.mechanisms.counts.one_way import OneWays, measure_one_way
from sfumato.fitting.mechanisms.counts.pairs import PairTables, measure_pairs
from sfumato.fitting.mechanisms.counts.plan import DESIGN
from sfumato.fitting.mechanisms.counts.target import cut_target
from sfumato.fitting.mechanisms.counts.ties import add_ties
from sfumato.fitting.mechanisms.counts.zoom import Plan, zoom
from sfumato.fitting.stored_plan import check_design
from sfumato.trusted.measurement import CuratorLike


class Counted(NamedTuple, Generic[Plan]):
    """What was counted, and the plan with the grids on which it was."""

    plan: Plan
    one_way: OneWays
    pairs: PairTables | None


def measure_counts(curator: CuratorLike, plan: Plan, progress: Callable[[str], None] = lambda _: None) -> Counted[Plan]:
    """Measure all counts of a plan, or read them from a record, if it is of this version's design."""
    check_design(plan.design, DESIGN)
    progress("measuring single-column counts, with noise")
    plan, classes = cut_target(curator, plan)
    plan, shapes = zoom(curator, plan, classes)
    one_way = measure_one_way(curator, plan, classes, shapes)
    progress("measuring two-column counts, with noise")
    pairs = measure_pairs(curator, plan, one_way)
    ruled = () if plan.support is None else plan.support.names
    return Counted(plan, one_way, None if pairs is None else add_ties(plan.functions, one_way, pairs, ruled))
