"""What is asked to complete a schema, and what it may spend: a function of schema and budget alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sfumato.fitting.completion.bounds import QUESTIONS, estimate_bounds, fallback_bounds
from sfumato.fitting.completion.tuning import Tuning
from sfumato.fitting.completion.values import Discovering, discover_values, fallback_list, longest_list
from sfumato.trusted.budget import Budget
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.privacy_filter import units_of
from sfumato.trusted.schema import CategoryColumn, Schema, is_unknown


class Completing(CuratorLike, Discovering, Protocol):
    """The curator, or a record of what it once answered."""


def delta_of_lists(schema: Schema, delta: float) -> float:
    """What is set aside of delta for the lists that a schema wants discovered."""
    return Tuning.delta * delta if schema.discovered else 0.0


@dataclass(frozen=True)
class CompletionPlan:
    """The mu of every question, the delta of every list, and what is left for the release itself."""

    schema: Schema
    mu_values: tuple[float, ...]
    mu_bounds: tuple[float, ...]
    delta: float
    rest: Budget

    @property
    def guesses(self) -> tuple[Schema, ...]:
        """Schemas that the completed one lies between: what a mechanism would refuse of them is refused beforehand."""
        if self.schema.is_complete:
            return (self.schema,)
        columns, target = [column for column in self.schema.columns if is_unknown(column)], self.schema.target
        lists = [column for column in columns if isinstance(column, CategoryColumn)]
        bounds = {c.name: {"bounds": fallback_bounds(c)} for c in columns if not isinstance(c, CategoryColumn)}
        shortest = {column.name: fallback_list(column) for column in lists}
        longest = {column.name: longest_list(column, target) for column in lists}
        return tuple(complete(self.schema, {**bounds, **known}) for known in ((shortest, longest) if lists else ({},)))

    def ask(self, curator: Completing, progress: Callable[[str], None] = lambda _: None) -> Schema:
        """Ask what is unknown, and complete the schema by the answers."""
        if self.schema.is_complete:
            return self.schema
        progress("measuring bounds and lists of values that are not known, with noise")
        records = self.rest.records
        lists = discover_values(curator, self.schema, self.mu_values, self.delta, records)
        bounds = estimate_bounds(curator, self.schema, self.mu_bounds)
        return complete(self.schema, {**lists, **{name: {"bounds": ends} for name, ends in bounds.items()}})


def plan_completion(schema: Schema, budget: Budget) -> CompletionPlan:
    """The plan for a schema; one that is complete needs nothing.

    Formal guarantees
        The questions and the rest cost no more than the budget, in whole units of mu squared, and the deltas of the
        lists together no more than what the budget sets aside.
    """
    if schema.is_complete:
        return CompletionPlan(schema, (), (), 0.0, budget)
    lists = len(schema.discovered)
    shares = [Tuning.values / lists for _ in schema.discovered] + (_shares_of_bounds() if schema.estimated else [])
    *mus, _ = budget.split((*shares, 1 - sum(shares)))
    earlier = budget.records**2 * sum(map(units_of, mus))
    delta = budget.delta_keys / lists * (1 - 2.0**-50) if lists else 0.0  # so that they never add up to more
    return CompletionPlan(schema, tuple(mus[:lists]), tuple(mus[lists:]), delta, replace(budget, earlier=earlier))


def _shares_of_bounds() -> list[float]:
    later = (1 - Tuning.first) / (QUESTIONS - 1)
    return [Tuning.bounds * share for share in (Tuning.first, *[later] * (QUESTIONS - 1))]


def complete(schema: Schema, known: Mapping[str, Mapping[str, Any]]) -> Schema:
    """The schema with what has become known of its columns."""
    columns = [{**content, **known.get(content["name"], {})} for content in schema.to_dict()["columns"]]
    return Schema.from_dict({**schema.to_dict(), "columns": columns})
