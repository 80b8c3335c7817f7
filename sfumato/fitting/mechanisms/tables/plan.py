"""What `tables` will ask and what each question may spend: a function of schema, budget and adjacency alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sfumato.fitting.mechanisms.counts.plan import CountsPlan, geometry_of, split_shares, zoom_share
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
    adapt = 0.20
    least_step = 2.0**-15  # mu of a gradient below which it tells nothing, and its noise leaves the lattice
    steps = 4  # gradients, each asked where the last one led


@dataclass(frozen=True)
class TablesPlan(CountsPlan):
    """Counts of every column and every two columns, then gradients; each with its mu."""

    mu_steps: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`."""
        return {**super().to_dict(), "mu_steps": list(self.mu_steps)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> Self:
        """The plan that `to_dict` wrote."""
        return super().from_dict({**content, "mu_steps": tuple(content["mu_steps"])}, schema, adjacency)


def plan_tables(schema: Schema, budget: Budget, adjacency: Adjacency) -> TablesPlan:
    """The plan for a table."""
    found = geometry_of(schema)
    adapt = (
        found.labelled and budget.mu * math.sqrt(Tuning.adapt * (1 - Tuning.target) / Tuning.steps) >= Tuning.least_step
    )
    zoom = zoom_share(budget, found)
    alone = (Tuning.one_way_alone, Tuning.pairs_alone)
    one_way, pairs = alone if schema.target is None else (Tuning.one_way, Tuning.pairs)
    shares = {
        "zoom": zoom,
        "one-way": one_way - zoom,
        "pairs": pairs * (found.pairs > 0),
        **{f"step {t}": Tuning.adapt * adapt / Tuning.steps for t in range(Tuning.steps)},
    }
    mu = split_shares(budget, found, Tuning.target, shares)
    steps = tuple(mu[name] for name in mu if name.startswith("step"))
    return TablesPlan.from_shares(schema, adjacency, found, mu, mu_steps=steps)
