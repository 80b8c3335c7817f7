"""Numbers of a column as a person writes them: amounts, days, moments, and spans between them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.trusted.schema import Column

Kind = Literal["number", "day", "moment"]
_DAY = 86_400.0


@dataclass(frozen=True)
class ColumnUnit:
    """What the numbers of a column are: amounts, days since 1970, or seconds since then."""

    kind: Kind

    @classmethod
    def of(cls, column: Column) -> "ColumnUnit":
        """The unit of a column of numbers, dates or moments."""
        return cls("day" if column.type == "date" else "moment" if column.type == "datetime" else "number")

    @property
    def seconds(self) -> float:
        """How long a unit of time is; 0 for amounts."""
        return {"number": 0.0, "day": _DAY, "moment": 1.0}[self.kind]

    def write(self, value: float) -> str:
        """One value: 1,234, 0.52, 2024-02-29, 2024-02-29 13:05."""
        if not np.isfinite(value):
            return "none" if np.isnan(value) else str(value)
        if self.kind == "number":
            return write_amount(value)
        moment = np.datetime64(round(value * self.seconds), "s")
        return str(moment.astype("datetime64[D]" if self.kind == "day" else "datetime64[m]")).replace("T", " ")

    def write_span(self, value: float) -> str:
        """A difference of two values: 1,234, 3.2 days, 5.1 hours."""
        if self.kind == "number" or not np.isfinite(value):
            return self.write(value) if self.kind == "number" else "none"
        span = value * self.seconds
        return f"{write_amount(span / _DAY)} days" if span >= 2 * _DAY else f"{write_amount(span / 3_600)} hours"


def write_amount(value: float) -> str:
    """A number with four digits at least, and a mark for every thousand: 0.5238, 12.5, 1,234,568."""
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
