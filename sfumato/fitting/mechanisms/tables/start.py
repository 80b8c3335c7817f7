"""Where the fit of a mixture begins: the class of every component, its box, its weight and its marginals.

Where rules forbid combinations, a component keeps to one of the boxes of what they allow, as it keeps to one class. At
the start all of them together are the distribution of most entropy that has the class marginals and keeps the rules:
a product of one factor for each column, cut to what is allowed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.tables.families import Families, form_families
from sfumato.fitting.mechanisms.tables.raking import Factors, rake, rake_rows
from sfumato.fitting.support.support import Support, kinds_of
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import BoolArray, FloatArray, IntArray


class Tuning(TuningConstants, group="tables.start"):
    """See `sfumato.fitting.tuning`."""

    least_box = 1e-6  # of a class that a box which it can be in holds: nothing that the schema allows is ever excluded


@dataclass(frozen=True, eq=False)
class Start:
    """Components before the fit; their marginals are over the groups of all columns, 0 outside of their box."""

    owner: IntArray  # the class of each
    box: IntArray
    weights: FloatArray
    marginals: FloatArray
    base: FloatArray  # those of each family before they are cut, or of each component
    siblings: IntArray  # how many of these are alike but for chance, itself among them
    families: Families | None = None


def start_anywhere(one_way: OneWays, components: Sequence[int]) -> Start:
    """So many components of each class, where there are no rules."""
    owner = np.repeat(np.arange(len(components)), components)
    siblings = np.repeat(components, components)
    weights = (one_way.totals / one_way.size / components)[owner]
    thetas = [column.theta for column in one_way.columns.values()]
    marginals = np.concatenate([np.empty((len(components), 0)), *thetas], axis=1)[owner]
    return Start(owner, np.zeros_like(owner), weights, marginals, marginals, siblings)


def start_in_boxes(plan: CountsPlan, support: Support, one_way: OneWays, components: Sequence[int]) -> Start:
    """About so many families of components of each class, in all boxes that it can be in.

    A class that is forbidden altogether has none.
    """
    held = {
        name: _of_groups(support.of_cells(name, column.grid), column.groups)
        for name, column in one_way.columns.items()
        if name in support.names
    }
    raked = _raked(plan, support, one_way, held)
    mass = np.where(raked.mass > 0, np.maximum(raked.mass, Tuning.least_box), 0.0)
    owner, box, family, siblings = form_families(mass, components)
    together = np.zeros_like(mass)
    np.add.at(together, (owner, box), 1)
    weights = (one_way.totals / one_way.size)[owner] * mass[owner, box] / together[owner, box]
    parts, bases = [np.empty((len(owner), 0))], [np.empty((len(components), 0))]
    for name, column in one_way.columns.items():
        base = column.theta * raked.factors.get(name, 1.0)
        theta = base[owner] * held[name][box] if name in held else base[owner]
        parts.append(theta / theta.sum(axis=1, keepdims=True))
        bases.append(base)
    marginals = np.concatenate(parts, axis=1)
    base = np.concatenate(bases, axis=1)[owner[np.searchsorted(family, np.arange(len(siblings)))]]
    shares = weights / np.bincount(family, weights=weights)[family]
    closed = np.where(marginals > 0, 0.0, -np.inf)
    families = Families(family, shares.astype(np.float32), closed.astype(np.float32))
    return Start(owner, box, weights / weights.sum(), marginals, base, siblings, families)


def target_in_boxes(plan: CountsPlan, support: Support, one_way: OneWays, start: Start, pi: FloatArray) -> FloatArray:
    """The target in every component (components x cells): inside its class and its box.

    All components of a class together, each by its weight, have the distribution that was seen inside the class.
    """
    classes = one_way.classes
    theta = np.where(classes.groups == start.owner[:, None], classes.inside, 0.0)
    if plan.target not in support.names:
        return theta
    theta *= support.of_cells(plan.target, plan.grids[plan.target])[start.box]
    for c in np.unique(start.owner):
        mine, cells = start.owner == c, classes.groups == c
        theta[np.ix_(mine, cells)] = rake_rows(theta[np.ix_(mine, cells)], pi[mine], classes.inside[cells])
    return theta


def _of_groups(held: BoolArray, groups: IntArray) -> BoolArray:
    """What boxes hold of the groups (boxes x groups), from what they hold of the cells."""
    return held[:, np.unique(groups, return_index=True)[1]]


def _raked(plan: CountsPlan, support: Support, one_way: OneWays, held: Mapping[str, BoolArray]) -> Factors:
    """The mass of every box in each class, and the factors of the columns, from the one-way tables."""
    seen = {name: one_way.columns[name].theta for name in held}
    held = dict(held)
    if plan.target in support.names:
        classes = one_way.classes
        held[plan.target] = support.of_cells(plan.target, plan.grids[plan.target])
        own = classes.groups == np.arange(classes.count)[:, None]
        seen[plan.target] = np.where(own, classes.inside, 0.0)
    return rake({name: (one, kinds_of(one), seen[name]) for name, one in held.items()})
