"""What `3a` will ask and what each question may spend: a function of schema, budget, adjacency and parts alone."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from sfumato.errors import RequestError
from sfumato.fitting.mechanisms.counts.plan import Geometry, geometry_of, split_shares, zoom_share
from sfumato.fitting.mechanisms.framework.parts import PAID, Parts, choose_parts
from sfumato.fitting.mechanisms.slices.plan import Tuning as Slices
from sfumato.fitting.mechanisms.tables.plan import TablesPlan, share_of_target, shares_of_target
from sfumato.fitting.mechanisms.tables.plan import Tuning as Tables
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.schema import Schema


class Tuning(TuningConstants, group="framework.plan"):
    """See `sfumato.fitting.tuning`."""

    axes = 0.40  # of what goes to the distribution by `kernel`
    embedding = 0.60
    trees = 4  # of `leaves`


@dataclass(frozen=True)
class FrameworkPlan(TablesPlan):
    """Counts, then what whole records tell, then what is left of the target; each with its mu.

    By `kernel` there is an embedding in place of counts of two columns; by `leaves` trees alone, in `mu_rest`.
    """

    mu_directions: float | None
    mu_embedding: float | None
    parts: Parts

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`."""
        own = {"mu_directions": self.mu_directions, "mu_embedding": self.mu_embedding, "parts": asdict(self.parts)}
        return {**super().to_dict(), **own}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> Self:
        """The plan that `to_dict` wrote."""
        try:
            parts = Parts(**content["parts"])
        except RequestError as error:  # nobody asks: the content is none of ours
            raise ValueError(str(error)) from None
        return super().from_dict({**content, "parts": parts}, schema, adjacency)


def plan_framework(schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]) -> FrameworkPlan:
    """The plan for a table."""
    found = geometry_of(schema)
    parts = choose_parts(settings, schema, predictable=found.labelled)
    zoom = zoom_share(budget, found)
    asked = _shares_of_density(parts, schema)
    density = {name: share for name, share in asked.items() if name == "one-way" or found.pairs > 0}
    shares = {"zoom": zoom, **density, "one-way": density["one-way"] - zoom}
    if parts.adapt in PAID:
        in_proportion = sum(asked.values()) / (Tables.one_way + Tables.pairs)
        total, alpha = sum(density.values()), settings.get("share")
        whole = share_of_target(found, schema) * in_proportion if alpha is None else total * alpha / (1 - alpha)
        shares |= _shares_of_adapt(parts, budget, found, schema, whole, total + whole)
    mu = split_shares(budget, found, Tables.target, shares)
    steps, rest = (tuple(mu[name] for name in mu if name.startswith(kind)) for kind in ("step", "rest"))
    return FrameworkPlan.from_shares(
        schema,
        adjacency,
        found,
        mu,
        mu_triples=(),
        mu_screen=mu.get("screen"),
        mu_steps=steps,
        mu_leaves=mu.get("leaves"),
        mu_rest=rest,
        mu_directions=mu.get("directions"),
        mu_embedding=mu.get("embedding"),
        parts=parts,
    )


def _shares_of_density(parts: Parts, schema: Schema) -> Mapping[str, float]:
    """What goes to the distribution of the records, in the proportions of each choice."""
    alone = {"one-way": Tables.one_way_alone, "pairs": Tables.pairs_alone}
    tables = alone if schema.target is None else {"one-way": Tables.one_way, "pairs": Tables.pairs}
    return {
        "tables": tables,
        "slices": {"one-way": Slices.axes, "pairs": Slices.pairs, "directions": Slices.directions},
        "kernel": {"one-way": Tuning.axes, "embedding": Tuning.embedding},
    }[parts.anonymize]


def _shares_of_adapt(
    parts: Parts, budget: Budget, found: Geometry, schema: Schema, whole: float, total: float
) -> dict[str, float]:
    if parts.adapt == "gradients":
        return shares_of_target(budget, found, schema, whole, total)
    return {f"rest {t}": whole / Tuning.trees for t in range(Tuning.trees)}
