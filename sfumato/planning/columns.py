"""The noise of every column in its own units."""

from dataclasses import dataclass

from sfumato.artefact.quality import MEAN_LAW, has_mean, noise_of_counts
from sfumato.planning.questions import Question, pairs_of
from sfumato.planning.request import Request
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.schema.bounds import span_of


@dataclass(frozen=True)
class ColumnNoise:
    """How a column is counted.

    cells     in which it is counted; those of a column of numbers may be cut anew by the noisy counts
    records   standard deviation of the noise of one cell's count, all classes of the target together
    mean      how far its mean is off, in its own units; None where it has none, or bounds are yet to be found
    """

    name: str
    cells: int
    records: float
    mean: float | None

    @property
    def words(self) -> str:
        """In a sentence."""
        off = f"; its mean off by about {self.words_of_mean}" if self.mean is not None else ""
        return f"{self.name}: counts in {self.cells} cells, each off by ±{two_figures(self.records)} records{off}"

    @property
    def words_of_mean(self) -> str:
        """How far the mean is off, and between what four tables out of five lie; empty where there is no mean."""
        if self.mean is None:
            return ""
        low, high = (two_figures(self.mean * factor) for factor in (MEAN_LAW.low, MEAN_LAW.high))
        return f"{two_figures(self.mean)} ({low} to {high})"


def two_figures(number: float) -> str:
    """As a person writes it: 0.18, 26, 350, 12,000."""
    return f"{float(f'{number:.2g}'):,.10g}"


def list_columns(request: Request, questions: tuple[Question, ...]) -> tuple[ColumnNoise, ...]:
    """Every column that is counted by itself, in the order of the schema; none where sums are measured instead."""
    counted = noise_of_counts(pairs_of(questions))
    measured = layout_of(request.completed).measured
    found = []
    for name in measured.by_name:
        if name in counted:
            one = counted[name]
            found.append(ColumnNoise(name, one.cells, one.deviation, _mean(request, name, one.of_mean(request.rows))))
    return tuple(found)


def _mean(request: Request, name: str, share: float) -> float | None:
    """The error of a mean in the column's units: a share of the range between its bounds."""
    measured = layout_of(request.completed).measured
    if not has_mean(measured, name) or name in request.schema.estimated:
        return None
    column = measured[name]
    if getattr(column, "scale", "linear") == "log":
        return None
    low, high = span_of(column)
    return min(1.0, MEAN_LAW(share)) * (high - low)
