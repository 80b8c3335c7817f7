"""All columns of a schema at once: a batch of records as codes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sfumato.trusted.arrays import CodeArray
from sfumato.trusted.encoding.codes import Codes, codes_of
from sfumato.trusted.schema import Schema


@dataclass(frozen=True)
class Batch:
    """Some records: how many, and for each column the code of each record.

    `weight` says how much each of them counts where the records of a person share one unit, see `PersonLevel`.
    """

    rows: int
    codes: Mapping[str, CodeArray]
    weight: int = 1

    def parts(self, rows: int, names: Iterable[str]) -> Iterator["Batch"]:
        """The records in order, at most so many at a time, with the named columns alone."""
        wanted = tuple(names)
        for start in range(0, self.rows, rows):
            codes = {name: self.codes[name][start : start + rows] for name in wanted}
            yield Batch(min(rows, self.rows - start), codes, self.weight)


class Encoder:
    """The public map between records and codes that a schema fixes."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @cached_property
    def columns(self) -> Mapping[str, Codes]:
        """The codes of every column. The columns of a run share one."""
        return {name: codes_of(column, self.schema.text) for name, column in self.schema.by_name.items()}

    def encode(self, records: pa.RecordBatch, names: Iterable[str] | None = None) -> Batch:
        """The codes of each record in the named columns, all by default; a code is a function of its value alone."""
        wanted = self.columns if names is None else names
        codes = {name: self.columns[name].encode(records.column(name)) for name in wanted}
        return Batch(records.num_rows, codes)
