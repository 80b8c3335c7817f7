"""Mean, standard deviation and quantiles of a column of numbers, as it is stored."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.evaluation.column_units import ColumnUnit
from sfumato.trusted.arrays import FloatArray

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Figures:
    """Of the finite numbers of one table: mean, standard deviation (of the table, not of a population), quantiles.

    All in units of the column: a date in days and a moment in seconds since 1970. None of them where there is no
    number.
    """

    mean: float
    deviation: float
    quantiles: tuple[float, ...]

    def to_dict(self, unit: ColumnUnit) -> dict[str, Any]:
        """Plain content; dates and moments as text, their standard deviation in days or seconds."""
        write = (lambda value: value) if unit.kind == "number" else unit.write
        return {
            "mean": write(self.mean),
            "standard_deviation": self.deviation,
            **{f"quantile_{share:g}": write(value) for share, value in zip(QUANTILES, self.quantiles, strict=True)},
        }


def figures_of(values: FloatArray) -> Figures | None:
    """The figures of numbers of which some may be NaN or infinite; None where none is finite."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    quantiles = np.quantile(finite, QUANTILES)
    return Figures(float(finite.mean()), float(finite.std()), tuple(float(value) for value in quantiles))
