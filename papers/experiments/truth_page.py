"""What a page of claims is made of: findings, sections, tables, and numbers as people write them."""

import math
import statistics
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from experiments.cells import table as plain_table

Figures = dict[str, Any]
WIDTH = 130  # of a line of text


def number(value: float) -> str:
    """Three digits: 0.619, 6,300, 2.4e-8, infinite. Whole numbers in full."""
    if math.isnan(value):
        raise ValueError("a figure is not a number")
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}"
    short = float(f"{value:.3g}")
    if 1e-3 <= abs(short) < 1e3:
        return f"{short:g}"
    if 1e3 <= abs(short) < 1e7:
        return f"{short:,.0f}"
    digits, power = f"{short:.2e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def hundred(share: float) -> str:
    """Of a hundred, in whole numbers; all but all and all but none are said as such."""
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        return "more than 99"
    if rounded == 0 and share > 0:
        return "less than 1"
    return str(rounded)


def span(values: Sequence[float]) -> str:
    """From the least to the largest, once if they are written alike."""
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def spread(values: Sequence[float]) -> list[str]:
    """The least, the median and the most."""
    return [number(pick(values)) for pick in (min, statistics.median, max)]


def yes(holds: bool) -> str:
    """As the page says it."""
    return "yes" if holds else "**no**"


def wrapped(text: str) -> str:
    """In lines of one width, whatever breaks it had."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


class Table(NamedTuple):
    """What it shows, the names of its columns, and its rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def markdown(self) -> str:
        rule = ["---"] * len(self.head)
        lines = [f"| {' | '.join(row)} |" for row in (self.head, rule, *self.rows)]
        return f"{wrapped(self.caption)}\n\n" + "\n".join(lines)

    @property
    def plain(self) -> str:
        rows = [[entry.replace("**", "") for entry in row] for row in self.rows]
        return f"{wrapped(self.caption)}\n{plain_table(self.head, rows)}"


class Finding(NamedTuple):
    """A row of the first table: what is claimed and where, whether it holds, what was measured, what it means.

    Without a place it is not in the paper.
    """

    claim: str
    place: str
    holds: str
    measured: str
    meaning: str


class Section(NamedTuple):
    """The claim as a title; where it is made; what is claimed, what was measured, what it means; the numbers.

    Paragraphs of the text are apart by an empty line; other line breaks do not count.
    """

    title: str
    place: str
    text: str
    tables: Sequence[Table]

    def markdown(self, heading: str) -> str:
        paragraphs = [wrapped(paragraph) for paragraph in self.text.strip().split("\n\n")]
        start = [f"### {heading} {self.title}", f"*Where: {self.place}.*"]
        return "\n\n".join([*start, *paragraphs, *(table.markdown for table in self.tables)])

    @property
    def plain(self) -> str:
        return "\n\n".join([f"{self.title} ({self.place})", *(table.plain for table in self.tables)])


class Claim(Protocol):
    """A module of claims. Figures are numbers and words that JSON can hold, with the seeds they rest on."""

    def measure(self, quick: bool) -> Figures:
        """The figures; with fewer draws and tables where it is to be quick."""

    def findings(self, figures: Figures) -> Sequence[Finding]:
        """What they say of each claim."""

    def section(self, figures: Figures) -> Section:
        """What they say at length."""


@dataclass(frozen=True)
class Paper:
    """A paper, and its claims by name."""

    short: str
    title: str
    claims: dict[str, Claim]
