"""Where the numbers of a record lie on the scales of their columns, in whole numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, NumericCodec
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.schema import Column, DateColumn, DatetimeColumn, IntegerColumn, NumberColumn, Schema

PLACE_BITS = 21  # the middle of every step of a scale of 2**20 steps is a whole number
_COLUMN: TypeAdapter[Any] = TypeAdapter(NumberColumn | IntegerColumn | DateColumn | DatetimeColumn)


def columns_follow(columns: Mapping[str, Column], schema: Schema) -> bool:
    """Whether each column is just what the schema says of it."""
    return all(schema.by_name.get(name) == column for name, column in columns.items())


@dataclass(frozen=True)
class ScaledColumns:
    """The place of each named column's value on its scale, from 0 to 2**21, as the schema fixes it.

    A missing value has no place: the columns must not allow one, so that every code has a place.
    """

    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        for name, column in self.columns.items():
            if column.missing or column.type not in ("number", "integer", "date", "datetime"):
                raise ValueError(f"column {name!r} has values without a place on a scale")

    @classmethod
    def of(cls, columns: Mapping[str, Column], names: Sequence[str]) -> "ScaledColumns":
        """The places of some of a schema's columns."""
        return cls({name: columns[name] for name in names})

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(self.columns)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.columns)

    @property
    def noun(self) -> str:
        """What has them."""
        return "records"

    @cached_property
    def scales(self) -> dict[str, NumericCodec]:
        """The scale of each column. Like columns share one."""
        shared = {column: codes_of(column) for column in dict.fromkeys(self.columns.values())}
        return {
            name: scale for name, column in self.columns.items() if isinstance(scale := shared[column], NumericCodec)
        }

    @cached_property
    def _tables(self) -> dict[str, FloatArray]:
        distinct = {id(scale): scale for scale in self.scales.values()}
        shared = {key: np.rint(scale.places * 2.0**PLACE_BITS) for key, scale in distinct.items()}
        return {name: shared[id(scale)] for name, scale in self.scales.items()}

    def __call__(self, batch: Batch) -> FloatArray:
        """The places of each record (columns x records), integer-valued."""
        places = np.empty((len(self.columns), batch.rows))
        for row, (name, table) in zip(places, self._tables.items(), strict=True):
            table.take(batch.codes[name], out=row, mode="clip")
        return places

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain content: the columns as the schema has them."""
        return [
            {"name": name, "column": column.model_dump(mode="json", exclude_defaults=True)}
            for name, column in self.columns.items()
        ]

    @classmethod
    def from_dict(cls, content: Sequence[Mapping[str, Any]]) -> "ScaledColumns":
        """The places that `to_dict` wrote."""
        return cls({item["name"]: _COLUMN.validate_python(item["column"]) for item in content})
