"""The public description of a private table: columns, types, bounds, unit of privacy."""

from sfumato.trusted.schema.schema import (
    MOST_COLUMNS,
    STORED_TYPE,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
    Unit,
    text_of,
)
from sfumato.trusted.schema.text import TextFormat

__all__ = [
    "MOST_COLUMNS",
    "STORED_TYPE",
    "BooleanColumn",
    "CategoryColumn",
    "Column",
    "DateColumn",
    "DatetimeColumn",
    "IntegerColumn",
    "NumberColumn",
    "Schema",
    "TextFormat",
    "Unit",
    "text_of",
]
