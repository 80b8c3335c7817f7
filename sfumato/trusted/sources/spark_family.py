"""A family of Spark frames: rows become tickets where they lie, Spark brings the rows of each person together, and
records are summed by the workers. Only sums come to the driver.

Formal guarantees
    The same assembly as on one machine, see `families.assembly`, of the same tickets: keys are compared as bytes, and a
    person's records and weights are a function of that person's rows alone, whatever part they lie in.
"""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np

from sfumato.errors import DataError
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Header
from sfumato.trusted.encoding.header import header_of_arrow
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.families.tickets import Tickets
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import FamilySchema, Unit
from sfumato.trusted.sources import spark_family_workers as family_workers
from sfumato.trusted.sources import spark_workers as workers
from sfumato.trusted.sources.family_source import PersonsAlone
from sfumato.trusted.sources.spark import TO_DRIVER, TO_MERGER, is_frame, storage_of
from sfumato.trusted.sources.spark_session import (
    MOST_PARTS,
    adaptive_cache,
    check_workers,
    collect,
    map_batches,
    silent,
)
from sfumato.trusted.sources.spark_workers import PIECE, PIECES, plain_name
from sfumato.trusted.statistics import PersonLevel, Statistic, size_of


class SparkFamilySource(PersonsAlone):
    """The records of every view of a family of Spark frames, which must be the same whenever they are read."""

    def __init__(self, tables: Mapping[str, Any], family: FamilySchema, key: bytes) -> None:
        for name, frame in tables.items():
            if not is_frame(frame):
                raise DataError(f"table {name!r} is no Spark frame, and others are; give all of them as Spark frames")
        self.layout = family_layout_of(family)
        self.unit: Unit = family.unit
        self._family, self._text, self._key = family, json.dumps(family.to_dict()), key
        headers: dict[str, Header] = {}
        for name, frame in tables.items():
            try:
                storage = storage_of(frame, family.schema_of(name))
            except DataError as error:
                raise DataError(f"table {name!r}: {error}") from None
            headers[name] = header_of_arrow(storage, family.schema_of(name))
        check_workers(next(iter(tables.values())).sparkSession)
        self.header: Mapping[str, Header] = headers
        self._tables = tables
        self._tickets = Tickets(self.layout, key)

    @redact_errors
    def sum(self, statistic: Statistic) -> IntArray:
        """See `Source`. Persons count, so statistics of records are refused."""
        if not isinstance(statistic, PersonLevel):
            raise TypeError("of a family of tables only person-level statistics are summed")
        number = list(self.layout.views).index(statistic.view)
        work = partial(family_workers.sum_view, self._text, json.dumps(statistic.to_dict()))
        records = self._kept.where(self._kept["view"] == number).select("weight", "codes")
        pieces = map_batches(records.coalesce(MOST_PARTS), work, PIECES)
        total = np.zeros(size_of(statistic), dtype=np.int64)
        if MOST_PARTS * total.nbytes > TO_DRIVER:
            mergers = math.ceil(MOST_PARTS * total.nbytes / TO_MERGER)
            pieces = map_batches(pieces.repartition(mergers, "place"), workers.merge_pieces, PIECES)
        for place, numbers in workers.add_pieces(collect(pieces).to_batches()).items():
            total[place * PIECE :][:PIECE] = numbers
        return total

    def close(self) -> None:
        """See `Source`."""
        if "_kept" in vars(self):
            with suppress(Exception), silent():  # a session that has ended keeps nothing
                self._kept.unpersist()

    @cached_property
    def _kept(self) -> Any:
        """The records of all views, kept by the workers until `close`."""
        with silent():
            tickets = {name: self._tickets_of(name, frame) for name, frame in self._tables.items()}
            for name in self.layout.tables:
                if not self._tickets.names_person(name):
                    tickets[name] = self._with_owners(name, tickets)
            together = None
            for frame in tickets.values():
                together = frame if together is None else together.unionByName(frame)
            assert together is not None  # noqa: S101 - a family has a table
            by_person = together.repartition("person").sortWithinPartitions("person")
            work = partial(family_workers.assemble_views, self._text, self._key)
            records = map_batches(by_person, work, family_workers.RECORDS)
            with adaptive_cache(records.sparkSession):
                return records.persist()

    def _tickets_of(self, name: str, frame: Any) -> Any:
        reads = self.layout.tables[name].reads
        places = {column: place for place, column in enumerate(frame.columns)}
        plain = frame.toDF(*map(plain_name, range(len(frame.columns))))
        read = plain.select([plain_name(places[column]) for column in reads])
        work = partial(family_workers.write_tickets, self._text, self._key, name)
        return map_batches(read, work, family_workers.TICKETS)

    def _with_owners(self, name: str, tickets: Mapping[str, Any]) -> Any:
        """Each row once for every distinct person who has the row that it names."""
        parent = tickets[self._family.tables[name].parent or ""]
        owners = parent.where(parent["key"].isNotNull()).select("key", "person").distinct()
        owners = owners.withColumnRenamed("key", "owned").withColumnRenamed("person", "owner")
        by_key = tickets[name].repartition("parent").sortWithinPartitions("parent")
        work = partial(family_workers.keep_rows_of_keys, self._text, self._key, name)
        rows = map_batches(by_key, work, family_workers.TICKETS)
        joined = rows.join(owners, rows["parent"] == owners["owned"], "inner").drop("person", "owned")
        return joined.withColumnRenamed("owner", "person").select(family_workers.TICKETS.names)
