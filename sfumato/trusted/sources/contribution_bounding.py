"""Which records of a person count: those with the smallest keyed hashes.

Formal guarantees
    Whether a record is chosen depends on the key and on the records of the same person alone, so taking a person out of
    the table or putting one in changes no choice among the records of anybody else. At most `unit.records` of them are
    kept. Persons are told apart by their ids themselves, never by a hash.
    That holds for every key. A fresh key for each release keeps anybody from knowing beforehand what is chosen.
    The order is by 128 bits of a hash of all columns but the target first: under label adjacency, where one person's
    targets change, the kept records have the same other columns before and after, unless two of that person's records
    collide in all 128 bits. Records that tie in all numbers have the same codes, so it makes no difference which are
    kept. Of a column whose values are to be discovered, the keys stand in the place of codes: as keyed hashes of 192
    bits, in which nobody who does not know the key can make two of them collide.
"""

import hashlib
from collections.abc import Mapping

import pyarrow as pa

from sfumato.trusted.arrays import IntArray, WordArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.keys import keys
from sfumato.trusted.encoding.persons import persons
from sfumato.trusted.keyed_numbers import (
    NUMBERS,
    bin_of,
    choose_lowest,
    draw_factors,
    hash_ids,
    keyed_number,
)
from sfumato.trusted.schema import Schema, Unit

TICKET = (("person", pa.large_binary()), ("bin", pa.uint8()), *((name, pa.int64()) for name in NUMBERS))


class ContributionBounding:
    """Records of a schema drawn by person. A record that names nobody counts for nobody and is left out.

    A record's numbers are keyed hashes of its codes, begun anew for each person: two of all columns but the target,
    then one of all. Who holds the smallest is chosen.
    """

    def __init__(self, schema: Schema, unit: Unit, key: bytes) -> None:
        self._layout, self._unit = layout_of(schema), unit
        measured = self._layout.measured
        self._key = hashlib.blake2b(key, digest_size=32).digest()
        self._names = tuple(measured.by_name)
        factors = draw_factors(self._key, self._names)
        self._keyed = schema.discovered
        self._steady = [{name: row[name] for name in measured.features} for row in factors[:2]]
        self._whole = factors[2]

    @property
    def columns(self) -> tuple[str, ...]:
        """What must be read of a record."""
        return (self._unit.column, *self._layout.reads(self._names))

    @property
    def layout(self) -> pa.Schema:
        """The columns of a ticket: person, the bin of the person, numbers, then the codes of the measured columns.

        Last, the keys of columns whose values are to be discovered: no code tells two of them apart for certain.
        """
        codes = ((code_name(place), pa.int32()) for place in range(len(self._names)))
        return pa.schema([*TICKET, *codes, *((key_name(name), pa.large_binary()) for name in self._keyed)])

    def draw(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """A ticket for each record, without those that are beaten here already."""
        known = persons(records.column(self._unit.column))
        somebody = known.is_valid().to_numpy(zero_copy_only=False)
        encoded = self._layout.encode(records, self._names)
        batch = Batch(int(somebody.sum()), {name: codes[somebody] for name, codes in encoded.codes.items()})
        known = known.drop_null()
        words = hash_ids(self._key, known)
        bins = bin_of(words)
        named = {name: keys(records.column(name)).filter(pa.array(somebody)) for name in self._keyed}
        numbers = self._numbers(words, batch, named)
        columns = [known, *map(pa.array, (bins, *numbers, *batch.codes.values())), *named.values()]
        return self.keep_lowest(pa.record_batch(columns, schema=self.layout))

    def _numbers(self, words: WordArray, batch: Batch, named: Mapping[str, pa.LargeBinaryArray]) -> list[IntArray]:
        """The numbers of each record, by its codes, and by its keys where there are any."""
        hashes = {name: hash_ids(self._key, found) for name, found in named.items()}
        numbers = []
        for place, factors in enumerate((*self._steady, self._whole)):
            keyed = {name: found[:, place] for name, found in hashes.items()}
            numbers.append(keyed_number(words[:, place], factors, {**batch.codes, **keyed}))
        return numbers

    def keep_lowest(self, tickets: pa.RecordBatch) -> pa.RecordBatch:
        """The tickets that may still win: of each person the smallest."""
        person = tickets.column("person").dictionary_encode().indices.to_numpy()
        numbers = [tickets.column(name).to_numpy() for name in NUMBERS]
        return tickets.take(pa.array(choose_lowest(person, numbers, self._unit.records)))


def code_name(place: int) -> str:
    """The name under which the codes of the schema's column at this place are kept."""
    return f"code {place}"


def key_name(name: str) -> str:
    """The name under which the keys of a column are kept."""
    return f"key {name}"
