"""Mechanisms that cannot keep rules between columns."""

from sfumato.errors import RequestError
from sfumato.trusted.schema import Schema


def refuse_rules(schema: Schema, what: str) -> None:
    """Refuse a schema with forbidden combinations or functions to be learnt, and name the mechanism that keeps them."""
    if schema.forbidden or schema.functions:
        raise RequestError(
            f"{what} cannot keep rules between columns; use mechanism tables, or remove the rules from the schema"
        )
