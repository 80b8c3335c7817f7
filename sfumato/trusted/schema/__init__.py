"""The public description of a private table: columns, types, bounds, unit of privacy."""

from sfumato.trusted.schema.columns import (
    MOST_COLUMNS,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    is_unknown,
    text_of,
)
from sfumato.trusted.schema.family import FamilySchema
from sfumato.trusted.schema.schema import STORED_TYPE, Schema, Unit
from sfumato.trusted.schema.text import TextFormat
from sfumato.trusted.schema.unknown import DISCOVER, ESTIMATE, OTHER, Unknown

__all__ = [
    "DISCOVER",
    "ESTIMATE",
    "MOST_COLUMNS",
    "OTHER",
    "STORED_TYPE",
    "BooleanColumn",
    "CategoryColumn",
    "Column",
    "DateColumn",
    "DatetimeColumn",
    "FamilySchema",
    "IntegerColumn",
    "NumberColumn",
    "Schema",
    "TextFormat",
    "Unit",
    "Unknown",
    "is_unknown",
    "text_of",
]
