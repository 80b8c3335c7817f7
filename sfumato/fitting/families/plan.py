"""What will be asked of every view, and what each question may spend: a function of schema, budget and adjacency."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from sfumato.errors import BudgetError
from sfumato.fitting.families.pair_weights import pair_weights
from sfumato.fitting.mechanisms.counts.plan import CountsPlan, geometry_of, split_shares, zoom_share
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.families import FamilyLayout, View
from sfumato.trusted.families.views import PERSONS
from sfumato.trusted.schema import Schema

LEAST_GRADIENT = 2.0**-7  # mu below which the noise of a person-level gradient leaves the lattice


class Tuning(TuningConstants, group="families.plan"):
    """See `sfumato.fitting.tuning`."""

    one_way = 0.2  # of a view's share
    pairs = 0.8
    totals = 0.03  # for the number of rows of all persons
    labels = 0.12  # of that, for each target of the view
    gradients = (0.22, 0.22)  # of a target's share
    leaves = 0.11
    rest = (0.15, 0.15, 0.15)


@dataclass(frozen=True)
class ViewPlan(CountsPlan):
    """Counts of every column and of pairs of them, then what is left of each target, with its mu.

    mu_totals   of the number of rows of all persons; None where it is not asked
    mu_labels   of every question about a target: gradients, the leaves of a tree, and what these ask more of
    """

    mu_totals: float | None = field(default=None, kw_only=True)
    mu_labels: Mapping[str, tuple[float, ...]] = field(default_factory=dict, kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`."""
        labels = {name: list(mus) for name, mus in self.mu_labels.items()}
        return {**super().to_dict(), "mu_totals": self.mu_totals, "mu_labels": labels}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> Self:
        """The plan that `to_dict` wrote."""
        labels = {name: tuple(mus) for name, mus in content["mu_labels"].items()}
        if not all(len(mus) == _questions() for mus in labels.values()):
            raise ValueError("the plan has other questions about a target than this version")
        return super().from_dict({**content, "mu_labels": labels}, schema, adjacency)


@dataclass(frozen=True)
class FamilyPlan:
    """A plan for every view, in the order in which they are asked.

    A target of persons' first rows is asked about in a view of its own where some persons have none: see `labelled_in`.
    """

    views: Mapping[str, ViewPlan]

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`."""
        return {name: plan.to_dict() for name, plan in self.views.items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], layout: FamilyLayout, adjacency: Adjacency) -> Self:
        """The plan that `to_dict` wrote."""
        if list(content) != list(asked_views(layout)):
            raise ValueError("the plan is of other views than the family has")
        views = {}
        for name, view in asked_views(layout).items():
            plan = ViewPlan.from_dict(content[name], view.schema, adjacency)
            if not set(plan.mu_labels) <= set(targets_of(layout, view)):
                raise ValueError("the plan has a target that the view has not")
            views[name] = _of_view(plan, layout, view)
        return cls(views)


def asked_views(layout: FamilyLayout) -> dict[str, View]:
    """The views of which counts are asked: those of first rows of persons are asked about targets alone."""
    return {name: view for name, view in layout.views.items() if view.having is None}


def targets_of(layout: FamilyLayout, view: View) -> dict[str, str]:
    """Every target that is told from the counts of a view, and the view in which what is left of it is asked."""
    found = dict.fromkeys(view.targets, view.name)
    if view.name == PERSONS:
        found |= {target: one.name for one in layout.views.values() if one.having for target in one.targets}
    return found


def totals_of(layout: FamilyLayout, view: View) -> tuple[str, ...]:
    """The numbers of rows of persons, whose sums are asked for besides; they have at least two values."""
    table = layout.tables[view.table]
    counts = set(table.counts.values()) if view.name == PERSONS else set()
    return tuple(one.name for one in view.columns if one.which == "own" and one.column in counts and one.codes.size > 1)


def plan_family(layout: FamilyLayout, budget: Budget, adjacency: Adjacency) -> FamilyPlan:
    """The plan for a family.

    Every table has its share of mu squared, all alike unless the schema says otherwise: that of a child of persons is
    for its later rows, the first ones being measured with the persons.
    """
    shares = _shares(layout)
    plans: dict[str, ViewPlan] = {}
    spent = 0
    for name, view in asked_views(layout).items():
        part = int(budget.units * shares[name])
        if part < 1:
            raise BudgetError("epsilon is too small to split over the views of a family; raise epsilon")
        own = replace(budget, earlier=budget.earlier + budget.units - part)
        plans[name] = _of_view(_plan_view(layout, view, own, adjacency), layout, view)
        spent += part
    return FamilyPlan(plans)


def _shares(layout: FamilyLayout) -> dict[str, float]:
    """Of mu squared, for every view: a table's own, divided by its views."""
    views = asked_views(layout)
    of_table = {view.table: 0 for view in views.values()}
    for view in views.values():
        of_table[view.table] += 1
    weight = {name: layout.family.share.get(view.table, 1.0) / of_table[view.table] for name, view in views.items()}
    total = math.fsum(weight.values())
    return {name: one / total for name, one in weight.items()}


def _plan_view(layout: FamilyLayout, view: View, budget: Budget, adjacency: Adjacency) -> ViewPlan:
    found = geometry_of(view.schema)
    zoom = zoom_share(budget, found)
    labels = _label_shares(layout, view, budget)
    totals = {"totals": Tuning.totals} if totals_of(layout, view) else {}
    counted = {"zoom": zoom, "one-way": Tuning.one_way - zoom, "pairs": Tuning.pairs * (found.pairs > 0)}
    left = 1 - math.fsum((*labels.values(), *totals.values()))
    parts = {name: share * left for name, share in counted.items()}
    mu = split_shares(budget, found, 0.0, {**parts, **totals, **labels})
    asked: dict[str, tuple[float, ...]] = {}
    for name in labels:
        target = name.rpartition(" ")[0]
        asked[target] = (*asked.get(target, ()), mu[name])
    return ViewPlan.from_shares(view.schema, adjacency, found, mu, mu_totals=mu.get("totals"), mu_labels=asked)


def _label_shares(layout: FamilyLayout, view: View, budget: Budget) -> dict[str, float]:
    """The share of every question about a target; none where the budget is too small for them."""
    targets = targets_of(layout, view)
    parts = (*Tuning.gradients, Tuning.leaves, *Tuning.rest)
    whole = Tuning.labels / max(1, len(targets))
    if budget.mu * math.sqrt(whole * min(parts) / math.fsum(parts)) < LEAST_GRADIENT:
        return {}
    return {
        f"{target} {place}": whole * part / math.fsum(parts) for target in targets for place, part in enumerate(parts)
    }


def _questions() -> int:
    return len(Tuning.gradients) + 1 + len(Tuning.rest)


def _of_view(plan: ViewPlan, layout: FamilyLayout, view: View) -> ViewPlan:
    """The plan with what follows from the view: the weights of pairs, and the columns of numbers of rows."""
    numbers = {
        one.name
        for one in view.columns
        if one.which in ("place", "left") or one.column in layout.tables[one.table].counts.values()
    }
    weights = None if view.name == PERSONS else pair_weights(view)
    return replace(plan, octaves=frozenset(numbers), pair_weights=weights)
