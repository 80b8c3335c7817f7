"""Tables in memory: Arrow tables, pandas and polars frames."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.frames import empty, header_of, to_arrow
from sfumato.trusted.encoding.header import check_storage
from sfumato.trusted.encoding.inference import check_inferred
from sfumato.trusted.encoding.keys import keys
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources.batches import ROWS_AT_ONCE
from sfumato.trusted.sources.key_counts import count_all
from sfumato.trusted.sources.samples import Samples
from sfumato.trusted.sources.sums import alone
from sfumato.trusted.statistics import Statistic


class MemorySource:
    """The records of a frame. Each column is encoded once, when it is first asked for.

    Its types are taken for inferred from the rows unless they are `declared`.
    """

    unit = None

    def __init__(self, data: Any, schema: Schema, declared: bool = False) -> None:
        self.header = header_of(data, schema, declared)
        self._data, self._layout = data, layout_of(schema)
        self._ids = schema.ids
        self._declared = declared
        self._samples = Samples()
        if declared:
            self._check_declared(schema)
        else:
            check_inferred(schema, self.header.frame)

    def _check_declared(self, schema: Schema) -> None:
        storage = to_arrow(empty(self._data), list(schema.read), self._ids).schema
        check_storage({field.name: field.type for field in storage}, schema, "the table")
        for name in self._ids:
            if pa.types.is_floating(storage.field(name).type):
                raise DataError(
                    f"the table stores the ids in column {name!r} as floats, which libraries make of integers "
                    "where one is missing, and round; read them as text or as nullable integers"
                )

    @property
    def _names(self) -> list[str]:
        return list(self._layout.reads(self._layout.measured.by_name))

    @cached_property
    def _records(self) -> list[pa.RecordBatch]:
        batches: list[pa.RecordBatch] = to_arrow(self._data, self._names).to_batches(max_chunksize=ROWS_AT_ONCE)
        return batches

    @cached_property
    def _codes(self) -> list[dict[str, Any]]:
        return [{} for _ in self._records]

    @redact_errors
    def sum(self, statistic: Statistic) -> IntArray:
        """See `Source`."""
        return self._samples.sum(statistic, lambda names: alone(self.batches(names)))

    def batches(self, names: tuple[str, ...]) -> Iterator[Batch]:
        """See `Source`."""
        for records, codes in zip(self._records, self._codes, strict=True):
            codes.update(self._layout.encode(records, [name for name in names if name not in codes]).codes)
            yield Batch(records.num_rows, {name: codes[name] for name in names})

    def count_keys(self, name: str) -> Mapping[bytes, int]:
        """See `Source`."""
        return count_all(keys(records.column(name)) for records in self.records((name,)))

    def recode(self, schema: Schema) -> "MemorySource":
        """See `Source`."""
        return MemorySource(self._data, schema, self._declared)

    def records(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Every record as it is stored. Private: only what counts keys or bounds persons' records may call it."""
        yield from to_arrow(self._data, list(names), self._ids).to_batches(max_chunksize=ROWS_AT_ONCE)

    def close(self) -> None:
        """See `Source`."""
