"""The flat records that are measured of a person's rows: one view for each kind of record.

persons        one record for each person: their row, how many rows they have in each child table, and the first of them
TABLE, first   one record for each row that has rows in a child table: the first of these. Where that row is a person's,
               it is the record of `persons`, of those who have rows alone
TABLE, next    one record for each later row of a table: the row itself, the row before it, and the rows above it
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sfumato.trusted.encoding import Codes, codes_of
from sfumato.trusted.schema import Column, Schema
from sfumato.trusted.schema.schema import Combination

Which = Literal["above", "first", "own", "previous", "place", "left"]
"""Where a value of a record comes from: a row above, the first row of a child table, the record's own row, the row
before it, or the place of the own row from the front and from the back."""

PERSONS = "persons"


@dataclass(frozen=True, eq=False)
class ViewColumn:
    """One column of a view: a column of some row of the person, or the place of the row."""

    name: str
    which: Which
    table: str
    column: str
    definition: Column

    @cached_property
    def codes(self) -> Codes:
        """Its codes."""
        return codes_of(self.definition)


@dataclass(frozen=True, eq=False)
class View:
    """One kind of record.

    name      as statistics and bundles call it
    table     whose rows it is of
    targets   the columns that users will predict
    forbidden combinations of codes that no record has
    having    a child table of persons of which they must have rows
    """

    name: str
    table: str
    columns: tuple[ViewColumn, ...]
    targets: tuple[str, ...] = ()
    forbidden: tuple[Combination, ...] = ()
    having: str | None = None

    @cached_property
    def schema(self) -> Schema:
        """The records of the view as a table."""
        columns = tuple(one.definition.model_copy(update={"name": one.name}) for one in self.columns)
        return Schema(sfumato=1, name=self.name, columns=columns).with_rules(self.forbidden)

    @cached_property
    def by_name(self) -> Mapping[str, ViewColumn]:
        """Its columns by name."""
        return {one.name: one for one in self.columns}

    def names(self, *which: Which) -> tuple[str, ...]:
        """The names of the columns that come from there."""
        return tuple(one.name for one in self.columns if one.which in which)
