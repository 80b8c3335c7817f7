"""What a mechanism will ask, stage by stage, before any answer is known.

The first questions follow from the schema. Later ones depend on noisy answers: for those a typical form is taken, which
has the true noise and cost, and is marked as typical.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.mechanisms.counts.functions import families
from sfumato.fitting.mechanisms.counts.one_way import Tuning as OneWayTuning
from sfumato.fitting.mechanisms.counts.pairs import Tuning as PairTuning
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.counts.plan import Tuning as PlanTuning
from sfumato.fitting.mechanisms.counts.zoom import long_columns
from sfumato.fitting.mechanisms.framework.plan import FrameworkPlan
from sfumato.fitting.mechanisms.mixture.plan import MixturePlan, Rounds
from sfumato.fitting.mechanisms.slices.plan import SlicesPlan
from sfumato.fitting.mechanisms.subspace.plan import SubspacePlan
from sfumato.fitting.mechanisms.tables.plan import TablesPlan
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.feature_maps import Grid, KindGrid
from sfumato.trusted.feature_maps.grid import CellMap
from sfumato.trusted.statistics import Cells


class Asked(Protocol):
    """What is known of a statistic beforehand."""

    @property
    def title(self) -> str:
        """What it measures, in a few words."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        """How far one change can move it."""


@dataclass(frozen=True)
class BoundedSum:
    """A sum to which a record adds a vector of length 1 at most; which one depends on earlier answers."""

    title: str

    def sensitivity(self, adjacency: Adjacency) -> float:
        """As long as one vector, or two that lie in different directions."""
        return 1.0 if adjacency == Adjacency.ADD_REMOVE else math.sqrt(2)


@dataclass(frozen=True)
class Stage:
    """A question, its mu for one record, and whether its form is only a typical one."""

    asked: Asked
    mu: float
    typical: bool


def stages_of(plan: Any) -> list[Stage]:
    """The questions of a mechanism's plan in order; a plan of an unknown kind raises `RequestError`."""
    if isinstance(plan, CountsPlan):
        return [*counting_stages(plan), *_after_counts(plan)]
    if isinstance(plan, MixturePlan):
        return [*_mixture(plan)]
    if isinstance(plan, SubspacePlan):
        return [*_subspace(plan)]
    raise RequestError(
        f"{type(plan).__name__} is the plan of a mechanism that has no forecast; plan with tables, mixture, subspace, "
        "slices or 3a"
    )


def counting_stages(plan: CountsPlan) -> Iterator[Stage]:
    """Counts of the target, where long columns have their mass, single columns, pairs."""
    grids: dict[str, CellMap] = dict(plan.grids)
    if plan.target is not None and plan.mu_target is not None:
        if plan.mu_target_zoom is not None:
            yield Stage(BoundedSum(f"where the mass of {plan.target} lies"), plan.mu_target_zoom, True)
        yield Stage(Cells(((plan.target,),), plan.grids, plan.target), plan.mu_target, False)
        grids[plan.target] = _in_parts(plan.grids[plan.target], PlanTuning.target_classes)
    long = long_columns(plan) if plan.mu_zoom is not None else []
    if plan.mu_zoom is not None:
        columns = f"{len(long)} column{'s' * (len(long) > 1)}"
        yield Stage(BoundedSum(f"where the mass of {columns} of numbers lies"), plan.mu_zoom, True)
    yield Stage(_one_way(plan, grids, long), plan.mu_one_way, False)
    if plan.mu_pairs is not None:
        yield Stage(_pairs(plan, grids), plan.mu_pairs, True)


def _one_way(plan: CountsPlan, grids: dict[str, CellMap], long: list[str]) -> Cells:
    """Every column by class; of long ones also the kinds of their values, by region."""
    head = () if plan.target is None else (plan.target,)
    tables: list[tuple[str, ...]] = [(name, *head) for name in plan.features] or [head]
    of: dict[str, str] = {}
    grids = dict(grids)
    by_label = head if plan.adjacency == Adjacency.LABEL else ()
    for name in long:
        region, kind = plan.axis(name, "regions"), plan.axis(name, "kinds")
        grids |= {region: _in_parts(plan.grids[name], 1), kind: KindGrid(plan.columns[name])}
        of |= {region: name, kind: name}
        tables.append((region, kind, *by_label))
    weights = (1.0,) * (len(tables) - len(long)) + (OneWayTuning.kinds_weight,) * len(long)
    return Cells(tuple(tables), grids, plan.target, weights if long else None, of)


def _pairs(plan: CountsPlan, grids: dict[str, CellMap]) -> Cells:
    """Every two columns by class, in a typical number of cells and all of the same weight; functions on all values."""
    head, related = () if plan.target is None else (plan.target,), families(plan.functions)
    pairs = [
        (one, other)
        for one, other in itertools.combinations(plan.features, 2)
        if related.get(one, one) != related.get(other, other)
    ]
    tables: list[tuple[str, ...]] = [(*head, *pair) for pair in pairs[: PlanTuning.most_pairs]]
    coarse = {name: _coarse(plan, name) for name in plan.features}
    of: dict[str, str] = {}
    for child, parent in plan.functions:
        axes = {plan.axis(name, "all values"): name for name in (parent, child)}
        tables.append((*(head if plan.adjacency == Adjacency.LABEL else ()), *axes))
        of |= axes
    fine = {axis: plan.grids[name] for axis, name in of.items()}
    return Cells(tuple(tables), {**grids, **coarse, **fine}, plan.target, None, of)


def _coarse(plan: CountsPlan, name: str) -> Grid:
    """Numbers in a dozen cells, listed values as they are."""
    grid = plan.grids[name]
    numbers = isinstance(plan.codes[name], NumericCodec)
    return _in_parts(grid, PairTuning.enough_levels) if numbers else grid


def _in_parts(grid: Grid, parts: int) -> Grid:
    """Neighbouring cells joined to a few."""
    return grid.merge(np.arange(grid.size) * min(parts, grid.size) // grid.size)


def _after_counts(plan: CountsPlan) -> Iterator[Stage]:
    """What whole records tell, along directions or embedded; what is left of the target, or of three columns."""
    for what, mu in _later(plan):
        if mu is not None:
            yield Stage(BoundedSum(what), mu, True)


def _later(plan: CountsPlan) -> Iterator[tuple[str, float | None]]:
    if isinstance(plan, SlicesPlan | FrameworkPlan):
        yield "histograms along random directions", plan.mu_directions
    if isinstance(plan, FrameworkPlan):
        yield "mean embedding of whole records", plan.mu_embedding
    if isinstance(plan, TablesPlan):
        yield from _of_tables(plan)


def _of_tables(plan: TablesPlan) -> Iterator[tuple[str, float | None]]:
    titles = ("parities of three columns", "counts of what stands out of them")
    leaves, another = f"counts of {plan.target} in the leaves of a tree", "another correction to the predictor of"
    by_leaves = isinstance(plan, FrameworkPlan) and plan.parts.adapt == "leaves"
    yield from zip(titles, plan.mu_triples, strict=False)
    yield f"what sets of columns tell together of {plan.target}", plan.mu_screen
    yield from ((f"a correction to the predictor of {plan.target}", mu) for mu in plan.mu_steps)
    yield leaves, plan.mu_leaves
    yield from ((leaves if by_leaves else f"{another} {plan.target}", mu) for mu in plan.mu_rest)


def _mixture(plan: MixturePlan) -> Iterator[Stage]:
    """Rounds of sums over each class; without classes first a search for them."""
    if plan.labels is not None:
        yield Stage(BoundedSum(f"counts of {plan.target} in the leaves of a tree"), plan.labels[0], True)
        for mu in plan.labels[1:]:
            yield Stage(BoundedSum("scores, by class"), mu, True)
    if plan.search is not None:
        for mu in plan.search.waves:
            yield Stage(BoundedSum("waves of all columns"), mu, True)
        yield Stage(BoundedSum("moments by shells"), plan.search.shells, True)
        yield Stage(BoundedSum("counts in boxes"), plan.search.boxes, True)
        yield from _rounds(plan.search.first)
    yield from _rounds(plan.rounds)
    if plan.search is not None:
        yield Stage(BoundedSum("counts by distance, by class"), plan.search.radii, True)


def _rounds(rounds: Rounds) -> Iterator[Stage]:
    named = [("waves by class", rounds.waves), ("scores by class", rounds.scores)]
    named += [("moments by shells by class", (rounds.probe,)), ("scores or moments by class", rounds.last)]
    for what, mus in named:
        for mu in mus:
            if mu > 0:
                yield Stage(BoundedSum(what), mu, True)


_OF_SUBSPACE = {
    "pilot": "first sums by class",
    "bounds": "values on a bound",
    "norms": "distances of records",
    "means": "sums by class",
    "class_norms": "distances of records within their class",
    "scatter": "second moments",
    "marginals": "second moments, or marginals",
    "latent_norms": "distances in the subspace",
    "latent_means": "sums in the subspace by class",
    "class_scatter": "second moments in the subspace by class",
    "move_norms": "distances of moves of pictures",
    "move_means": "sums of moves of pictures by class",
    "move_class_norms": "distances of moves of pictures within their class",
    "move_scatter": "second moments of moves of pictures",
}


def _subspace(plan: SubspacePlan) -> Iterator[Stage]:
    """Of pictures as if there were enough of them to be aligned."""
    for name, mu in vars(plan.mu).items():
        yield Stage(BoundedSum(_OF_SUBSPACE[name]), mu, True)
    for name, mu in vars(plan.aligned).items() if plan.aligned else ():
        yield Stage(BoundedSum(f"{_OF_SUBSPACE[name]}, of pictures aligned"), mu, True)
