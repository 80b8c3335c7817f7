"""What somebody wants to plan, checked, and the release's own plan for it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sfumato.artefact.risk import Risk
from sfumato.errors import RequestError
from sfumato.fitting.completion.plan import CompletionPlan, complete, delta_of_lists, plan_completion
from sfumato.fitting.mechanisms.choice import Settings, check_settings, choose_mechanism
from sfumato.fitting.mechanisms.mechanism import find_mechanism
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.privacy_filter import mu_of_units
from sfumato.trusted.schema import CategoryColumn, Schema
from sfumato.trusted.session import check_terms

TYPICAL_LIST = 20  # values that a list is taken to have which is yet to be discovered


@dataclass(frozen=True)
class Request:
    """A release that is planned: a function of public values alone.

    schema      the public description of the table; it may leave bounds or lists to be found
    rows        the custodian's public estimate of the number of records
    budget      for the whole release, of one record or of all records of a person that count
    mechanism   by name, never "auto"
    settings    what is asked for of the mechanism, checked
    """

    schema: Schema
    rows: int
    budget: Budget
    mechanism: str
    adjacency: Adjacency
    settings: Mapping[str, Any] = field(default_factory=dict)

    def at(self, epsilon: float) -> "Request":
        """The same release at another epsilon."""
        return replace(self, budget=replace(self.budget, epsilon=epsilon))

    @property
    def risk(self) -> Risk:
        """What an attacker gains at most; mu is for all records of a person, where persons are protected."""
        return Risk(mu_of_units(self.budget.units), self.budget.delta_keys)

    @cached_property
    def completion(self) -> CompletionPlan:
        """What goes to bounds and lists that the schema does not know, and what is left."""
        return plan_completion(self.schema, self.budget)

    @cached_property
    def completed(self) -> Schema:
        """The schema itself, or one with what a release might find: wide bounds, lists of a typical length."""
        if self.schema.is_complete:
            return self.schema
        known: dict[str, Mapping[str, Any]] = {}
        for column, guess in zip(self.schema.columns, self.completion.guesses[0].columns, strict=True):
            if set(column.names) & set(self.schema.estimated):
                known[column.name] = {"bounds": guess.bounds}  # type: ignore[union-attr]
            if isinstance(column, CategoryColumn) and set(column.names) & set(self.schema.discovered):
                known[column.name] = {"values": [*guess.values, *_invented()]}  # type: ignore[union-attr]
        return complete(self.schema, known)

    @cached_property
    def mechanism_plan(self) -> Any:
        """What the mechanism itself would ask; what it cannot release is refused here."""
        measured = layout_of(self.completed).measured
        return find_mechanism(self.mechanism).build_plan(measured, self.completion.rest, self.adjacency, self.settings)

    @property
    def choices(self) -> dict[str, Any]:
        """What is chosen of the mechanism, as a release would store it."""
        return StoredPlan(self.mechanism_plan.to_dict(), self.settings, {}).choices


def _invented() -> list[str]:
    return [f"value {number}" for number in range(2, TYPICAL_LIST + 1)]


def check_request(
    schema: Schema,
    rows: int,
    epsilon: float,
    delta: float,
    mechanism: str,
    adjacency: str,
    settings: Settings | None = None,
) -> Request:
    """Refuse what cannot be planned: each error says the value, the rule and the cure."""
    chosen = choose_mechanism(mechanism, layout_of(schema).measured)
    asked = check_settings(chosen, settings or {})
    terms = check_terms(schema, epsilon, delta, adjacency, None, None, None, delta_of_lists(schema, delta))
    return Request(schema, check_rows(rows), terms.budget, chosen, terms.adjacency, asked)


def check_rows(rows: int) -> int:
    """An integer above 0."""
    if isinstance(rows, bool) or not isinstance(rows, int | float) or not math.isfinite(rows) or rows != int(rows):
        raise RequestError(f"rows is {rows!r}; it must be an integer, your public estimate of the number of records")
    if rows < 1:
        raise RequestError(f"rows is {rows}; it must be 1 or more, your public estimate of the number of records")
    return int(rows)
