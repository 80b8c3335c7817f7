"""Spark frames: records are encoded and summed where they lie, and only sums come to the driver.

Formal guarantees
    Sums are of integers: neither the split into parts, nor the order in which they are added up, nor a task that runs
    twice moves a bit. Noise is added to the whole sum, by the curator, on the driver.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from sfumato.errors import DataError, RequestError
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.header import check_columns, check_storage, header_of_arrow
from sfumato.trusted.keyed_numbers import NUMBERS
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema, Unit
from sfumato.trusted.sources import spark_workers as workers
from sfumato.trusted.sources.batches import ROWS_AT_ONCE
from sfumato.trusted.sources.contribution_bounding import ContributionBounding, code_name
from sfumato.trusted.sources.samples import MOST_KEPT, Samples, joined
from sfumato.trusted.sources.spark_parquet import files_of
from sfumato.trusted.sources.spark_session import (
    MOST_PARTS,
    adaptive_cache,
    check_workers,
    collect,
    map_batches,
    silent,
)
from sfumato.trusted.sources.spark_workers import PACKS, PIECE, PIECES, plain_name
from sfumato.trusted.sources.sums import alone, sum_of
from sfumato.trusted.statistics import Sampled, Statistic, size_of

TO_DRIVER = 1 << 28  # bytes of the sums of so many parts; where they are more, workers add them up first
TO_MERGER = 1 << 30  # bytes of them that one worker adds up


def is_frame(data: object) -> bool:
    """Whether it is a Spark frame; pyspark need not be installed."""
    module = sys.modules.get("pyspark.sql")
    return module is not None and isinstance(data, module.DataFrame)


class SparkSource:
    """The records of a Spark frame, which must be the same whenever the frame is read.

    Where the schema has a `unit`, the records that count are chosen by lot, see `contribution_bounding`, and kept as
    codes in memory
    and on disks of the workers until `close`. What gets lost of them is chosen anew, and is the same.

    Nothing of ours quotes a row in Spark's logs. What a user's own session logs of an expression in the frame that
    refuses a row is up to its settings; the sessions of `spark_session` log nothing.
    """

    def __init__(self, frame: Any, schema: Schema, key: bytes) -> None:
        if schema.discovered:
            raise RequestError(
                f"values: discover, of column {schema.discovered[0]!r}, is not for Spark, where keys would leave the "
                "workers; write the list down, or discover it from files or a database"
            )
        self._frame, self._key, self._layout = frame, key, layout_of(schema)
        storage = storage_of(frame, schema)
        check_workers(frame.sparkSession)
        self._files = files_of(frame, storage)
        self.header = header_of_arrow(storage, schema)
        self.unit = schema.unit
        text = json.dumps(schema.to_dict())
        self._samples = Samples()
        self._columns = {name: plain_name(place) for place, name in enumerate(frame.columns)}
        self._stored_columns = self._columns
        self._stored = self._records = frame.toDF(*map(plain_name, range(len(frame.columns))))
        self._read: Callable[[tuple[str, ...], pa.RecordBatch], Batch] = partial(workers.from_storage, text)
        if schema.unit:
            work = partial(workers.draw_tickets, text, key)
            bounding = ContributionBounding(schema, schema.unit, key)
            tickets = self._map_stored(bounding.columns, work, workers.ticket_layout(bounding.layout))
            self._columns = {name: code_name(place) for place, name in enumerate(self._layout.measured.by_name)}
            self._records = _chosen(tickets, schema.unit).select(list(self._columns.values()))
            self._read = workers.from_codes

    @redact_errors
    def sum(self, statistic: Statistic) -> IntArray:
        """See `Source`. One pass over the frame.

        How it is done depends on the length of the sum alone, which is public: a long one is cut into pieces, and
        workers add up those of the same place. The records of a share come to the driver once, as codes, unless they
        are too many: handing the frame over to Python costs far more than any sum over so few.
        """
        if isinstance(statistic, Sampled):
            kept = self._samples.find(statistic, lambda: self._records_of(statistic))
            if kept is not None:
                return sum_of(statistic.statistic, alone(kept))
        text = json.dumps(statistic.to_dict())
        work = partial(workers.sum_records, text, partial(self._read, statistic.columns))
        pieces = self._map(statistic.columns, work, PIECES)
        total = np.zeros(size_of(statistic), dtype=np.int64)
        if MOST_PARTS * total.nbytes > TO_DRIVER:
            mergers = math.ceil(MOST_PARTS * total.nbytes / TO_MERGER)
            pieces = map_batches(pieces.repartition(mergers, "place"), workers.merge_pieces, PIECES)
        for place, numbers in workers.add_pieces(self._collect(pieces).to_batches()).items():
            total[place * PIECE :][:PIECE] = numbers
        return total

    def batches(self, names: tuple[str, ...]) -> Iterator[Batch]:
        """See `Source`. All of it comes to the driver: for columns that are public, and for a custodian's evaluation.

        Records come in the order in which Spark reads the frame: that of its files, unless it shuffles them.
        """
        codes = self._codes(names).to_batches(max_chunksize=ROWS_AT_ONCE)
        return (workers.from_codes(names, records) for records in codes)

    @redact_errors
    def records(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """See `Source`. All of it comes to the driver."""
        stored = collect(self._stored.select([self._stored_columns[name] for name in names]))
        batches: list[pa.RecordBatch] = stored.rename_columns(list(names)).to_batches(max_chunksize=ROWS_AT_ONCE)
        return iter(batches)

    def count_keys(self, name: str) -> NoReturn:
        """Refused when the source was opened."""
        raise RequestError(f"the values of column {name!r} cannot be discovered in Spark")

    def recode(self, schema: Schema) -> "SparkSource":
        """See `Source`."""
        self.close()
        return SparkSource(self._frame, schema, self._key)

    def close(self) -> None:
        """See `Source`."""
        if self.unit:
            with suppress(Exception), silent():  # a session that has ended keeps nothing
                self._records.unpersist()

    def _records_of(self, statistic: Sampled) -> list[Batch] | None:
        """The records of a share, or None where they are too many to be kept."""
        names, most = statistic.columns, MOST_KEPT // len(statistic.columns)
        work = partial(workers.choose_records, json.dumps(statistic.to_dict()), partial(self._read, names))
        most_packs = math.ceil(most / workers.records_in_pack(len(names))) + MOST_PARTS
        packs = self._collect(self._map(names, work, PACKS).limit(most_packs + 1))
        found = [batch for some in packs.to_batches() for batch in workers.unpack(names, some)]
        if len(found) > most_packs or sum(batch.rows for batch in found) > most:
            return None
        return joined(names, found)

    @redact_errors
    def _codes(self, names: tuple[str, ...]) -> pa.Table:
        work = partial(workers.encode_records, partial(self._read, names))
        return collect(map_batches(self._select(names), work, workers.codes_layout(len(names))))

    def _map(self, names: tuple[str, ...], work: workers.Work, layout: pa.Schema) -> Any:
        """What `work` makes of that of which some measured columns are made."""
        if self.unit:
            return map_batches(self._select(names).coalesce(MOST_PARTS), work, layout)
        return self._map_stored(self._layout.reads(names), work, layout)

    def _map_stored(self, names: tuple[str, ...], work: workers.Work, layout: pa.Schema) -> Any:
        """What `work` makes of some columns as they are stored."""
        if self._files:
            return self._files.map(names, work, layout)
        columns = [self._stored_columns[name] for name in names]
        return map_batches(self._stored.select(columns).coalesce(MOST_PARTS), work, layout)

    def _collect(self, frame: Any) -> pa.Table:
        """All rows of a frame, of files that are still the same."""
        found = collect(frame)
        if self._files:
            self._files.check()
        return found

    def _select(self, names: tuple[str, ...]) -> Any:
        """What some measured columns are made of."""
        read = names if self.unit else self._layout.reads(names)
        return self._kept.select([self._columns[name] for name in read])

    @cached_property
    def _kept(self) -> Any:
        """The records, to be kept where they are chosen by lot.

        What is kept Spark plans at once, and an expression that fails may then quote a value: only what is discreet may
        ask.
        """
        if not self.unit:
            return self._records
        with silent(), adaptive_cache(self._records.sparkSession):
            return self._records.persist()


def storage_of(frame: Any, schema: Schema) -> pa.Schema:
    """The declared types of the columns that the schema reads."""
    if frame.isStreaming:
        raise DataError("the frame is a stream, which has no end; give a frame of stored records")
    check_columns(frame.columns, schema, "the frame")
    wanted = set(schema.read)
    storage = pa.schema([(field.name, _arrow_type(field)) for field in frame.schema if field.name in wanted])
    check_storage(dict(zip(storage.names, storage.types, strict=True)), schema, "the frame")
    return storage


def _arrow_type(field: Any) -> pa.DataType:
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import TimestampType

    if isinstance(field.dataType, TimestampType):
        return pa.timestamp("us", tz="UTC")
    try:
        return to_arrow_type(field.dataType)
    except (PySparkTypeError, AssertionError):  # moments inside of a list, for one
        raise DataError(
            f"the frame stores column {field.name!r} as {field.dataType.simpleString()}, which cannot be read; "
            "change its type in the frame"
        ) from None


def _chosen(tickets: Any, unit: Unit) -> Any:
    """The tickets that win: of each person those with the smallest numbers."""
    from pyspark.sql import Window
    from pyspark.sql.functions import col, row_number

    rank = row_number().over(Window.partitionBy("person").orderBy(*NUMBERS))
    return tickets.withColumn("rank", rank).where(col("rank") <= unit.records)
