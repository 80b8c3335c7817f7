"""The custodian's look at a table before anything is spent: what of each column the schema would not read as meant.

A release is blind: a value that cannot be read goes to its public place, and nobody is told. So this is the place to
learn of it. No noise is added: nothing here is differentially private, and what it shows is for the custodian alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import RequestError
from sfumato.trusted.arrays import BoolArray
from sfumato.trusted.encoding import CategoricalCodec, Codes, Encoder, NumericCodec
from sfumato.trusted.encoding.listings import IS_NULL, NOT_LISTED
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source

NOTICE = "read from private rows without noise; for the custodian alone"
ADVICE = (
    "Settings that are chosen from these figures are informed by the rows: correct what is misread, and take bounds "
    "and lists from what is known of the field."
)
_KEPT = 1_000  # different values of a column that are remembered
_SHOWN = 3
_TEXT_LIKE = 0.5  # share of different values among those not listed from which they look like ids or free text
_FEW_ROWS = 20  # with fewer nothing looks like an id
_PROBE = 1 << 20  # bytes of a file


@dataclass(frozen=True)
class ColumnCheck:
    """One column: how many records have what the schema does not expect, and what may be the reason.

    nulls      nulls in a column that the schema does not allow to be missing
    unread     values that are no number, date or truth value
    outside    numbers below or above the bounds, which are clamped
    unlisted   values that are not in the list
    """

    column: str
    rows: int
    nulls: int
    unread: int
    outside: int
    unlisted: int
    hints: tuple[str, ...]

    @property
    def misread(self) -> int:
        """Records whose value would not be taken as it is."""
        return self.nulls + self.unread + self.outside + self.unlisted

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
    columns, known = Encoder(schema).columns, schema.model_copy(update={"unit": None})
    tallies = {name: _Tally(columns[name]) for name in columns}
    with closing(open_source(data, known, declared=True)) as source:
        if not hasattr(source, "records"):
            raise RequestError("a Spark frame is not looked at record by record; check an extract of it")
        _add_all(source.records(tuple(columns)), tallies)
    return [tally.result(name) for name, tally in tallies.items()]


@redact_errors
def _add_all(parts: Iterable[pa.RecordBatch], tallies: Mapping[str, "_Tally"]) -> None:
    for records in parts:
        for name, tally in tallies.items():
            tally.add(records.column(name))


class _Tally:
    """What has been seen of one column so far."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes
        self._rows = self._nulls = self._unread = self._outside = self._unlisted = 0
        self._strange: Counter[str] = Counter()

    def add(self, array: pa.Array) -> None:
        """Some more records."""
        array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        codes, null = self._codes, pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False)
        self._rows += len(array)
        if null.all():
            self._nulls += len(array) * (codes.missing is None)
            return
        if isinstance(codes, NumericCodec):
            numbers, unread = codes.read(array)
            strange = (np.zeros(len(array), dtype=bool) if unread is None else unread) & ~null
            self._unread += int(strange.sum())
            outside = ~null & ~strange & ((numbers < codes.low) | (numbers > codes.high))
            self._outside += int(outside.sum())
            self._remember(array, strange | outside)
        elif isinstance(codes, CategoricalCodec):
            place = codes.find(array)
            null |= place == IS_NULL
            strange = (place == NOT_LISTED) & ~null
            self._unlisted += int(strange.sum())
            self._remember(array, strange)
        if codes.missing is None:
            self._nulls += int(null.sum())

    def _remember(self, array: pa.Array, where: BoolArray) -> None:
        if where.any():
            for value in array.filter(pa.array(where)).to_pylist():
                text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                if text in self._strange or len(self._strange) < _KEPT:
                    self._strange[text] += 1

    def result(self, column: str) -> ColumnCheck:
        """All of it."""
        counts = (self._rows, self._nulls, self._unread, self._outside, self._unlisted)
        return ColumnCheck(column, *counts, tuple(self._hints()))

    def _hints(self) -> Iterable[str]:
        total = sum(self._strange.values())
        if not total:
            return
        listed = self._codes.texts if isinstance(self._codes, CategoricalCodec) else ()
        near = {_plainly(text): text for text in listed}
        for text, count in self._strange.most_common(_SHOWN):
            share = f"{text!r} in {count / self._rows:.1%} of the rows"
            alike = near.get(_plainly(text))
            yield share if alike is None else f"{share} differs from {alike!r} in {_difference(text, alike)}"
        if self._unlisted >= _FEW_ROWS and len(self._strange) > _TEXT_LIKE * min(total, _KEPT):
            yield "almost every value is different: an id or free text, which cannot be released; leave the column out"


def _plainly(text: str) -> str:
    return " ".join(text.casefold().split())


def _difference(text: str, listed: str) -> str:
    if text.casefold() == listed.casefold():
        return "case"
    return "spacing" if "".join(text.split()) == "".join(listed.split()) else "case and spacing"


def check_encoding(data: Any) -> str | None:
    """What to do where a CSV file is not UTF-8. Reads rows."""
    path = _csv_file(data)
    if path is None:
        return None
    with path.open("rb") as file:
        start = file.read(_PROBE)
    try:
        (start if len(start) < _PROBE else start[: start.rfind(b"\n")]).decode("utf-8")
    except UnicodeDecodeError:
        return "the file is not UTF-8, so that letters beyond ASCII are lost; convert it, say with iconv"
    return None


def check_separator(data: Any) -> str | None:
    """What to do where the header of a CSV file is separated by something else. Reads the first line alone."""
    path = _csv_file(data)
    if path is None:
        return None
    with path.open("rb") as file:
        header = file.readline(_PROBE)
    expected = b"\t" if path.suffix.lower() == ".tsv" else b","
    found = max((b",", b";", b"\t", b"|"), key=header.count)
    if header.count(found) <= header.count(expected):
        return None
    return f"the header is separated by {found.decode()!r}, and {expected.decode()!r} is expected; convert the file"


def _csv_file(data: Any) -> Path | None:
    path = Path(data) if isinstance(data, str | Path) else None
    return path if path is not None and path.suffix.lower() in (".csv", ".tsv") and path.is_file() else None
