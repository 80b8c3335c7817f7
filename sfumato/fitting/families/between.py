"""Constraints between tables: for each table its columns and those of the tables above it, as one table."""

from sfumato.trusted.schema import FamilySchema, Schema


def between_schemas(family: FamilySchema) -> dict[str, Schema]:
    """For every table that such a constraint ends at: the columns, as TABLE.COLUMN, with the constraints."""
    found = {}
    for name in family.tables:
        own = tuple(one for one in family.constraints if family.lowest_of(one) == name)
        if own:
            columns = [column for at, column in family.columns.items() if at.split(".", 1)[0] in family.path(name)]
            found[name] = Schema(sfumato=1, name=name, columns=tuple(columns), constraints=own, text=family.text)
    return found
