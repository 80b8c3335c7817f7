"""What `tables` will ask and what each question may spend: a function of schema, budget and adjacency alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sfumato.fitting.mechanisms.counts.plan import CountsPlan, Geometry, geometry_of, split_shares, zoom_share
from sfumato.fitting.mechanisms.tables.screening import FEWEST_COLUMNS
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.schema import Schema


class Tuning(TuningConstants, group="tables.plan"):
    """See `sfumato.fitting.tuning`."""

    target = 0.05  # share of mu squared for the histogram that cuts a numeric target into classes
    one_way = 0.35  # of what is left, as are the others
    pairs = 0.45
    one_way_alone = 0.2  # the same two without a target
    pairs_alone = 0.8
    screen_alone = 0.01  # of these, for the parities of three columns
    more_alone = 0.04  # for what stands out of them, or for pairs once more
    adapt = 0.23  # for what is left of the target, in all
    adapt_many = 0.40  # where its classes are many: they leave little in each cell of the tables
    many = 8  # classes
    least_step = 2.0**-15  # mu of a gradient below which it tells nothing, and its noise leaves the lattice
    screen = 0.05  # of that, for sets of columns
    leaves = 0.08  # for the first tree
    rest = 0.45  # for what it says to ask more of
    steps = 2  # gradients, each asked where the last one led
    more_steps = 3  # gradients or trees, after the first tree
    least_screen = 2.0**-11  # mu below which its noise leaves the lattice


@dataclass(frozen=True)
class TablesPlan(CountsPlan):
    """Counts of every column and every two columns, then what is left of the target; each with its mu.

    Without a target: parities of three columns, and what they ask more of (`mu_triples`). Else a screen of sets of
    columns, gradients (`mu_steps`), the leaves of a tree, and what these ask more of
    (`mu_rest`): gradients or leaves.
    """

    mu_screen: float | None
    mu_triples: tuple[float, ...]
    mu_steps: tuple[float, ...]
    mu_leaves: float | None
    mu_rest: tuple[float, ...]

    @property
    def mu_target_left(self) -> tuple[float, ...]:
        """The mu of every question after the counts, in order."""
        asked = (*self.mu_triples, self.mu_screen, *self.mu_steps, self.mu_leaves, *self.mu_rest)
        return tuple(mu for mu in asked if mu is not None)

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`."""
        own = {"mu_screen": self.mu_screen, "mu_steps": list(self.mu_steps), "mu_leaves": self.mu_leaves}
        return {**super().to_dict(), **own, "mu_rest": list(self.mu_rest), "mu_triples": list(self.mu_triples)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> Self:
        """The plan that `to_dict` wrote; one of an older version has gradients alone."""
        own = {name: tuple(content.get(name, ())) for name in ("mu_steps", "mu_rest", "mu_triples")}
        return super().from_dict({"mu_screen": None, "mu_leaves": None, **content, **own}, schema, adjacency)


def plan_tables(schema: Schema, budget: Budget, adjacency: Adjacency) -> TablesPlan:
    """The plan for a table."""
    found = geometry_of(schema)
    zoom = zoom_share(budget, found)
    alone = (Tuning.one_way_alone, Tuning.pairs_alone)
    one_way, pairs = alone if schema.target is None else (Tuning.one_way, Tuning.pairs)
    more = _shares_of_triples(budget, found, schema)
    shares = {
        "zoom": zoom,
        "one-way": one_way - zoom,
        "pairs": (pairs - sum(more.values())) * (found.pairs > 0),
        **more,
        **(shares_of_target(budget, found, schema, share_of_target(found, schema)) if found.labelled else {}),
    }
    mu = split_shares(budget, found, Tuning.target, shares)
    kinds = ("triples", "step", "rest")
    triples, steps, rest = (tuple(mu[name] for name in mu if name.startswith(kind)) for kind in kinds)
    asked = {"mu_screen": mu.get("screen"), "mu_steps": steps, "mu_leaves": mu.get("leaves"), "mu_rest": rest}
    return TablesPlan.from_shares(schema, adjacency, found, mu, mu_triples=triples, **asked)


def _shares_of_triples(budget: Budget, found: Geometry, schema: Schema) -> dict[str, float]:
    """The shares of parities and of what they ask more of, without a target; none where the budget is too small."""
    enough = _varied(found, schema) >= FEWEST_COLUMNS and _mu(budget, Tuning.screen_alone) >= Tuning.least_step
    if schema.target is not None or not enough:
        return {}
    return {"triples, screen": Tuning.screen_alone, "triples, more": Tuning.more_alone}


def _varied(found: Geometry, schema: Schema) -> int:
    """How many columns have more than one value."""
    return sum(found.grids[name].size > 1 for name in schema.features)


def shares_of_target(
    budget: Budget, found: Geometry, schema: Schema, whole: float, total: float | None = None
) -> dict[str, float]:
    """The shares of what is asked after the counts, `whole` in all; none where the budget is too small for it.

    total   that all shares add up to at most; None: those of `tables`
    """
    told = _mu(budget, whole * Tuning.screen, total) >= Tuning.least_screen
    screen = Tuning.screen * (told and _varied(found, schema) >= FEWEST_COLUMNS)
    each = (1 - screen - Tuning.leaves - Tuning.rest) / Tuning.steps
    more = Tuning.rest / Tuning.more_steps
    if _mu(budget, whole * min(each, more), total) < Tuning.least_step:
        return {}
    parts = {"screen": screen, **{f"step {t}": each for t in range(Tuning.steps)}, "leaves": Tuning.leaves}
    parts |= {f"rest {t}": more for t in range(Tuning.more_steps)}
    return {name: whole * part for name, part in parts.items()}


def share_of_target(found: Geometry, schema: Schema) -> float:
    """What all of it gets where nobody asks for another share."""
    many = not found.numeric and schema.target is not None and found.grids[schema.target].size >= Tuning.many
    return Tuning.adapt_many if many else Tuning.adapt


def _mu(budget: Budget, share: float, total: float | None = None) -> float:
    """The mu of a share, at least."""
    others = Tuning.one_way + Tuning.pairs + Tuning.adapt_many if total is None else total
    return budget.mu * math.sqrt(share * (1 - Tuning.target) / others)
