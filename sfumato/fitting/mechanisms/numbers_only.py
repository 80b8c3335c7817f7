"""Tables that have no Gaussians."""

from collections.abc import Iterable

from sfumato.errors import SchemaError
from sfumato.trusted.schema import Schema


def refuse_all_but_numbers(schema: Schema, names: Iterable[str], what: str) -> None:
    """Refuse a column that is no number or may be missing, and name the mechanism that serves it."""
    for name in names:
        column = schema[name]
        if column.type in ("category", "boolean"):
            raise SchemaError(
                f"column {name!r} is a {column.type}, and a {what} has numbers and one category as target; use "
                "mechanism tables"
            )
        if column.missing:
            raise SchemaError(
                f"column {name!r} may be missing, and a {what} has no place for that; use mechanism tables, or say "
                "`missing: false`, and a null counts as the column's `otherwise`"
            )
