"""The entries of a ledger as lines for people: one for each release and each limit."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.trusted.ledger import Entry

# What a spreadsheet takes for the beginning of a formula, also in full width.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True)
class Line:
    """A release or a limit. `finished` is None for a limit; words that nobody gave are None."""

    number: int
    time: str
    dataset: str
    kind: str
    epsilon: float | None
    delta: float | None
    adjacency: str
    unit: str | None
    mechanism: str | None
    finished: bool | None
    seeded: bool
    who: str | None
    purpose: str | None


def lines_of(entries: "Sequence[Entry]") -> list[Line]:
    """The releases and limits, in their order; what was committed later shows as `finished`."""
    done = {json.loads(entry.detail)["reservation"] for entry in entries if entry.kind == "commit"}
    return [_line(entry, entry.hash in done) for entry in entries if entry.is_limit or entry.is_reservation]


def _line(entry: "Entry", finished: bool) -> Line:
    detail = json.loads(entry.detail)
    return Line(
        number=entry.number,
        time=entry.time,
        dataset=entry.dataset,
        kind="limit" if entry.is_limit else "release",
        epsilon=detail.get("epsilon"),
        delta=detail.get("delta"),
        adjacency=entry.adjacency,
        unit=entry.currency.unit,
        mechanism=detail.get("mechanism"),
        finished=None if entry.is_limit else finished,
        seeded=detail.get("seeded", False),
        who=detail.get("who"),
        purpose=detail.get("purpose"),
    )


def as_csv(lines: Sequence[Line]) -> str:
    """The lines for a spreadsheet.

    A cell that it would take for a formula gets an apostrophe in front: names and purposes are anybody's words.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([field.name for field in fields(Line)])
    writer.writerows([_cell(value) for value in asdict(line).values()] for line in lines)
    return file.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA) else str(value)


def as_json(lines: Sequence[Line]) -> str:
    """The lines as one list of objects."""
    return json.dumps([asdict(line) for line in lines], indent=1) + "\n"
