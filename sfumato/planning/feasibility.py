"""Whether a release could be planned for a schema at all."""

from sfumato.errors import RequestError, SchemaError
from sfumato.fitting.completion.plan import plan_completion
from sfumato.fitting.mechanisms.mechanism import find_mechanism
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.schema import Schema


def refuse_what_cannot_be_planned(schema: Schema, where: str) -> None:
    """Rules that leave nothing, or that no model can keep, show when a release is planned."""
    budget = Budget(1.0, 1e-6)
    try:
        for guess in plan_completion(schema, budget).guesses:
            find_mechanism("tables").build_plan(layout_of(guess).measured, budget, Adjacency.ADD_REMOVE, {})
    except (SchemaError, RequestError) as error:
        raise SchemaError(f"{where}: {error}") from None
