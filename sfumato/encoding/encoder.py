"""All columns of a schema at once: a batch of records as codes, and codes as a table of plain Arrow types."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from sfumato.encoding.code_arrays import CodeArray, Limits
from sfumato.encoding.codes import Codes, codes_of
from sfumato.schema import Schema

NO_LIMITS: Mapping[str, Limits] = MappingProxyType({})


@dataclass(frozen=True)
class Batch:
    """Some records: how many, and for each column the code of each record."""

    rows: int
    codes: Mapping[str, CodeArray]

    def parts(self, rows: int, names: Iterable[str]) -> Iterator["Batch"]:
        """The records in order, at most so many at a time, with the named columns alone."""
        wanted = tuple(names)
        for start in range(0, self.rows, rows):
            codes = {name: self.codes[name][start : start + rows] for name in wanted}
            yield Batch(min(rows, self.rows - start), codes)


class _Encoded(Mapping[str, CodeArray]):
    """The codes of some records. A column is encoded when it is first asked for: by the thread that counts it."""

    def __init__(self, columns: Mapping[str, Codes], records: pa.RecordBatch, names: Iterable[str]) -> None:
        self._columns, self._records = columns, records
        self._codes: dict[str, CodeArray | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> CodeArray:
        codes = self._codes[name]
        if codes is None:
            codes = self._codes[name] = self._columns[name].encode(self._records.column(name))
        return codes

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


class Encoder:
    """The public map between records and codes that a schema fixes."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @cached_property
    def columns(self) -> Mapping[str, Codes]:
        """The codes of every column. The columns of a run share one."""
        shared = {column: codes_of(column) for column in self.schema.columns}
        return {name: shared[column] for name, column in self.schema.by_name.items()}

    def encode(self, records: pa.RecordBatch, names: Iterable[str] | None = None) -> Batch:
        """The codes of each record, one record at a time: no statistic of the rows decides anything."""
        wanted = self.columns if names is None else names
        return Batch(records.num_rows, _Encoded(self.columns, records, wanted))

    def decode(self, batch: Batch, rng: np.random.Generator, limits: Mapping[str, Limits] = NO_LIMITS) -> pa.Table:
        """A table in the plain type of each column.

        Inside the small interval of a code the place is drawn at random, within the limits of the column if it has any.
        """
        return pa.table(
            {
                name: self.columns[name].decode(codes, rng.random(batch.rows), limits.get(name, (None, None)))
                for name, codes in batch.codes.items()
            }
        )
