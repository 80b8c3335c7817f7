"""Whole tables as they are: values that are read as the schema's types, and neither clamped nor sent elsewhere."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.evaluation.checking import ColumnCheck, Tally
from sfumato.evaluation.readings import Reading, distinct_texts, plain_array, read_array
from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.encoding import CategoricalCodec, Encoder
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source


@dataclass(frozen=True)
class RawColumn:
    """One column of a table.

    values   numbers, days or seconds; of a listed column the number of each value. NaN where there is none
    unread   which values cannot be read at all; every other NaN is a null
    """

    values: FloatArray
    unread: BoolArray

    @classmethod
    def of(cls, values: FloatArray) -> "RawColumn":
        """A column without unreadable values."""
        return cls(values, np.zeros(len(values), dtype=bool))


RawTable = Mapping[str, RawColumn]


class RawReader:
    """Reads several tables of one schema, so that equal values get equal numbers in all of them.

    A listed value has the number of its place in the list, however it is stored. A value that is not listed has a
    number of its own, after those of the list.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema.model_copy(update={"unit": None, "constraints": ()})
        self._codes = Encoder(schema).columns
        self._unlisted: dict[str, dict[str, int]] = {name: {} for name in self._codes}

    def read(self, data: Any) -> tuple[RawTable, tuple[ColumnCheck, ...]]:
        """All records of a table, in any form that `release` takes, and what of them does not fit the schema.

        Raises `DataError` where columns are missing or the table cannot be read.
        """
        with closing(open_source(data, self._schema, declared=True)) as source:
            return self.read_batches(source.records(tuple(self._codes)))

    @redact_errors
    def read_batches(self, batches: Iterable[pa.RecordBatch]) -> tuple[RawTable, tuple[ColumnCheck, ...]]:
        """The same of records that come in batches."""
        tallies = {name: Tally(codes, self._schema[name]) for name, codes in self._codes.items()}
        parts: dict[str, list[RawColumn]] = {name: [] for name in self._codes}
        for records in batches:
            for name, codes in self._codes.items():
                array = plain_array(records.column(name))
                reading = read_array(array, codes)
                tallies[name].add(array, reading)
                parts[name].append(self._raw(name, array, reading))
        table = {name: _joined(parts.pop(name)) for name in self._codes}
        return table, tuple(tally.result(name) for name, tally in tallies.items())

    def _raw(self, name: str, array: pa.Array, reading: Reading) -> RawColumn:
        codes = self._codes[name]
        if not isinstance(codes, CategoricalCodec) or not reading.strange.any():
            return RawColumn(reading.values, reading.strange)
        known = self._unlisted[name]
        texts, places = distinct_texts(array.filter(pa.array(reading.strange)))
        numbers = np.array([known.setdefault(text, len(codes.values) + len(known)) for text in texts], dtype=float)
        reading.values[reading.strange] = numbers[places]
        return RawColumn.of(reading.values)


def _joined(parts: list[RawColumn]) -> RawColumn:
    if not parts:
        return RawColumn.of(np.empty(0))
    return RawColumn(np.concatenate([part.values for part in parts]), np.concatenate([part.unread for part in parts]))
