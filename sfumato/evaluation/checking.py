"""The custodian's look at a table before anything is spent: what of each column the schema would not read as meant.

A release is blind: a value that cannot be read goes to its public place, and nobody is told. So this is the place to
learn of it. No noise is added: nothing here is differentially private, and what it shows is for the custodian alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import RequestError
from sfumato.evaluation.file_formats import likely_format
from sfumato.evaluation.readings import Reading, distinct_texts, plain_array, read_array
from sfumato.trusted.arrays import BoolArray
from sfumato.trusted.encoding import CategoricalCodec, Codes, Encoder, NumericCodec
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Column, Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.spark import is_frame

NOTICE = "read from private rows without noise; for the custodian alone"
ADVICE = (
    "Settings that are chosen from these figures are informed by the rows: correct what is misread, and take bounds "
    "and lists from what is known of the field."
)
_KEPT = 1_000  # different values of a column that are remembered
_SHOWN = 3
_TEXT_LIKE = 0.5  # share of different values among those not listed from which they look like ids or free text
_FEW_ROWS = 20  # with fewer nothing looks like an id


@dataclass(frozen=True)
class ColumnCheck:
    """One column: how many records have what the schema does not expect, and what may be the reason.

    nulls      nulls in a column that the schema does not allow to be missing
    unread     values that are no number, date or truth value
    outside    numbers below or above the bounds, which are clamped
    unlisted   values that are not in the list
    off_step   numbers between the multiples of the column's step, which are rounded; they do not count as misread
    words      words without a digit where a number may be missing, such as "n/a"; they do not count as misread
    """

    column: str
    rows: int
    nulls: int
    unread: int
    outside: int
    unlisted: int
    off_step: int
    words: int
    hints: tuple[str, ...]

    @property
    def misread(self) -> int:
        """Records whose value would not be taken as it is."""
        return self.nulls + self.unread + self.outside + self.unlisted

    @property
    def misread_share(self) -> float:
        """Of all records, between 0 and 1."""
        return self.misread / max(self.rows, 1)

    def describe(self) -> str:
        """What is not taken as it is, in words; empty where everything is."""
        found = [
            (self.nulls, "are null, which the schema does not allow"),
            (self.unread, "cannot be read"),
            (self.outside, "lie outside the bounds"),
            (self.unlisted, "are not in the schema's list"),
            (self.off_step, "lie between the multiples of the step"),
            (self.words, "are words and count as missing"),
        ]
        return ", ".join(f"{_percent(count / self.rows)} of the values {what}" for count, what in found if count)

    @property
    def is_told(self) -> bool:
        """Whether there is anything to tell of it."""
        return bool(self.misread or self.off_step or self.words)

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        return {**asdict(self), "misread": self.misread}


def check_table(data: Any, schema: Schema) -> list[ColumnCheck]:
    """What each column holds that the schema does not expect.

    data     the table, in any form that `release` takes but a Spark frame
    schema   the schema to check it against

    Of columns whose bounds or values are to be bought only nulls are looked at. Spends nothing and writes nothing.
    Raises `DataError` where columns are missing or the table cannot be read, and `RequestError` for a Spark frame.
    """
    if is_frame(data):
        raise RequestError("a Spark frame is not looked at record by record; check an extract of it")
    columns, known = Encoder(schema).columns, schema.model_copy(update={"unit": None, "constraints": ()})
    tallies = {name: Tally(columns[name], schema[name]) for name in columns}
    with closing(open_source(data, known, declared=True)) as source:
        _add_all(source.records(tuple(columns)), columns, tallies)
    return [tally.result(name) for name, tally in tallies.items()]


@redact_errors
def _add_all(parts: Iterable[pa.RecordBatch], columns: Mapping[str, Codes], tallies: Mapping[str, "Tally"]) -> None:
    for records in parts:
        for name, tally in tallies.items():
            array = plain_array(records.column(name))
            tally.add(array, read_array(array, columns[name]))


class Tally:
    """What has been seen of one column so far."""

    def __init__(self, codes: Codes, column: Column) -> None:
        self._codes, self._column = codes, column
        self._rows = self._nulls = self._unread = self._outside = self._unlisted = self._off_step = self._words = 0
        self._strange: Counter[str] = Counter()

    def add(self, array: pa.Array, read: Reading) -> None:
        """Some more records, and what their values are read as."""
        codes, odd = self._codes, read.strange
        self._rows += len(array)
        if isinstance(codes, NumericCodec):
            outside = (read.values < codes.low) | (read.values > codes.high)
            self._unread += int(odd.sum())
            self._outside += int(outside.sum())
            self._words += int(read.words.sum())
            if codes.unit is not None:
                between = codes.unit.settled(read.values) != np.rint(read.values)
                self._off_step += int((between & ~read.null & ~odd & ~outside).sum())
            odd = odd | outside | read.words
        else:
            self._unlisted += int(odd.sum())
        if codes.missing is None:
            self._nulls += int(read.null.sum())
        self._remember(array, odd)

    def _remember(self, array: pa.Array, where: BoolArray) -> None:
        if not where.any():
            return
        texts, places = distinct_texts(array.filter(pa.array(where)))
        for text, count in zip(texts, np.bincount(places).tolist(), strict=True):
            if text in self._strange or len(self._strange) < _KEPT:
                self._strange[text] += count

    def result(self, column: str) -> ColumnCheck:
        """All of it."""
        counts = (self._rows, self._nulls, self._unread, self._outside, self._unlisted, self._off_step, self._words)
        return ColumnCheck(column, *counts, tuple(self._hints()))

    def _hints(self) -> Iterable[str]:
        if self._off_step and isinstance(self._codes, NumericCodec) and self._codes.unit is not None:
            rounded, step = self._off_step / self._rows, self._codes.unit.size
            yield f"{_percent(rounded)} of the rows lie between multiples of {step:.15g} and are rounded to the nearest"
        total = sum(self._strange.values())
        if not total:
            return
        listed = self._codes.texts if isinstance(self._codes, CategoricalCodec) else ()
        near = {_plainly(text): text for text in listed}
        for text, count in self._strange.most_common(_SHOWN):
            share = f"{text!r} in {_percent(count / self._rows)} of the rows"
            alike = near.get(_plainly(text))
            yield share if alike is None else f"{share} differs from {alike!r} in {_difference(text, alike)}"
        if isinstance(self._codes, NumericCodec):
            unread = {text: count for text, count in self._strange.items() if _is_unread(text, self._codes)}
            cure = likely_format(unread, self._column.type) if self._unread else None
            yield from [cure] if cure else [f"what cannot be read counts as {self._place()}"] * bool(self._unread)
        elif self._unlisted:
            yield f"what is not listed counts as {self._place()}"
        if self._unlisted >= _FEW_ROWS and len(self._strange) > _TEXT_LIKE * min(total, _KEPT):
            yield "almost every value is different: an id or free text, which cannot be released; leave the column out"

    def _place(self) -> str:
        """Where values go that cannot be read, or are not listed, and what would send them elsewhere."""
        codes = self._codes
        if not isinstance(codes, NumericCodec | CategoricalCodec) or codes.otherwise == codes.missing:
            return "missing"
        value = codes.decode(np.array([codes.otherwise], dtype=np.int32), np.array([0.5]))[0].as_py()
        told = repr(value) if isinstance(value, str) else str(value)
        return (
            told
            if self._column.otherwise is not None
            else f"{told}; add `missing: true` or `otherwise` if that is wrong"
        )


def _percent(share: float) -> str:
    return "less than 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def _is_unread(text: str, codes: NumericCodec) -> bool:
    unread = codes.read(pa.array([text])).unread
    return unread is not None and bool(unread[0])


def _plainly(text: str) -> str:
    return " ".join(text.casefold().split())


def _difference(text: str, listed: str) -> str:
    if text.casefold() == listed.casefold():
        return "case"
    return "spacing" if "".join(text.split()) == "".join(listed.split()) else "case and spacing"
