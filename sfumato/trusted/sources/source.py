"""What the curator asks of a place where records live."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import pyarrow as pa

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch, Header
from sfumato.trusted.schema import Schema, Unit
from sfumato.trusted.statistics import Statistic


class Source(Protocol):
    """Records somewhere, and what may be done with them.

    Formal guarantees that a class must keep
        `sum` is the statistic's sum over all records as int64, the same to the bit for any order of the records and any
        split into batches, files, threads or machines; each record counts once. Where there is a `unit`, only so many
        records of each person count as it says, chosen by what the person's own records hold and by a secret key.
    Edge cases
        No records: zeros. Records that vanish or files that break while they are read: `DataError` that quotes nothing.
    """

    @property
    def header(self) -> Header | Mapping[str, Header]:
        """What is public about the storage: names, order and declared types of the columns, of each table."""

    @property
    def unit(self) -> Unit | None:
        """Whose records are bounded; None where each record stands for itself."""

    def sum(self, statistic: Statistic) -> IntArray:
        """The statistic summed over all records. Private: only the curator may call it."""

    def count_keys(self, name: str) -> Mapping[bytes, int]:
        """How many records have each key of a column, see `keys`. Private: only the curator may call it.

        The same records count as in a sum. The order is any, and must not be let out.
        """

    def recode(self, schema: Schema) -> "Source":
        """The same records by another schema of the same columns, types and unit.

        This source must not be used any more; closing the other closes both. Opens and reads nothing.
        """

    def batches(self, names: tuple[str, ...]) -> Iterator[Batch]:
        """Every record as codes. Private: only what sums them, and a custodian's evaluation, may call it."""

    def records(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Every record as it is stored, whoever's it is. Private: for contribution bounding and a custodian alone."""

    def close(self) -> None:
        """Let go of connections and temporary files. Nothing can be summed afterwards."""
