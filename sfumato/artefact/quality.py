"""How large the errors of a release are to be expected, from its questions, their noise and the number of records.

Everything here is public: what is asked follows from the schema and the budget, and how much noise is added is part of
the release. A plan has the questions that it will ask, a release those that it has asked; both are judged alike.

The noise of a count gives a first figure. For k cells with shares p_i of N records and noise of deviation s in each,

    total variation = 1/2 sum of min(sqrt(2/pi) s / N, p_i)

since the mean of |noise| is sqrt(2/pi) s, and an estimate that is never negative is wrong by p_i at most where a cell
drowns. Shares are not known: those of listed values are taken to fall off as 1/i, those of numbers to be even. A model
then smooths what it was told, which makes some errors smaller and some larger. How much was measured on tables for
which these figures were known, and is corrected here by a power law; see docs/planning.md and
papers/experiments/forecasts.py.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple, Protocol

import numpy as np

from sfumato.artefact.verdict import Quality
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import CategoricalCodec, codes_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Cells

HALF_WRONG = 2 * 1.959964  # deviations in a group whose count is wrong by half of it once in twenty
_CELLS = 12  # in which a column of numbers is looked at
_MEAN_OF_NOISE = math.sqrt(2 / math.pi)


class Asked(Protocol):
    """What must be known of a statistic that is no table of counts."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        """How far one change can move it."""


Interval = tuple[float, float, float]
"""The middle and both ends."""
Questions = Sequence[tuple[Asked, float]]


@dataclass(frozen=True)
class PowerLaw:
    """exp(constant) * x^power, and the factors around it that hold four truths out of five.

    The factors are no inverses of each other: truths lie further on one side of a forecast than on the other.
    """

    constant: float
    power: float
    low: float
    high: float

    def __call__(self, x: float) -> float:
        """The middle of what to expect, from a first figure."""
        return math.exp(self.constant) * x**self.power if x > 0 else 0.0


# Fitted by papers/experiments/forecasts.py to its building tables alone.
COLUMN_LAW = PowerLaw(-0.919, 0.954, 0.204, 2.465)
PAIR_LAW = PowerLaw(-0.658, 0.659, 0.156, 2.132)  # from the first figure of single columns
MEAN_LAW = PowerLaw(-1.253, 0.981, 0.343, 2.206)
AREA_LAW = PowerLaw(-1.955, 0.364, 0.151, 4.709)  # of the loss in area under the ROC curve
NUMBER_LAW = PowerLaw(0.018, 0.466, 0.102, 3.589)  # of the loss in R squared, where the target is a number


# Where Gaussians are fitted to sums: what was found on a few development tables, see docs/planning.md.
MISFIT_OF_COLUMN, MISFIT_OF_PAIR = 0.18, 0.27
MISFIT_LAW = PowerLaw(0.0, 1.0, 0.33, 3.0)
MEAN_OF_SUMS_LAW = PowerLaw(1.0, 1.0, 0.2, 5.0)


class Noise(NamedTuple):
    """First figures of all errors, before experience corrects them; None where nothing of the kind is measured."""

    group: float  # deviation of the count of a group
    column: float
    mean: float | None
    prediction: float  # 1 over the records that the budget makes visible to a prediction
    counted: bool  # whether columns are counted; else sums are measured


def expected_quality(questions: Questions, schema: Schema, rows: float) -> Quality:
    """The errors that are to be expected of a release.

    questions   what is asked, each with the standard deviation of its noise: of a finished release
                `[(m.statistic, m.sigma) for m in release.measurements]`
    schema      the public description of the table
    rows        the number of records: the custodian's estimate, or the noisy number of a release

    Returns the errors with their 80 % intervals. More rows or less noise never make them larger.

    Example
        >>> asked = [(m.statistic, m.sigma) for m in release.measurements]
        >>> 0 < expected_quality(asked, release.schema, release.size).column_error <= 1
        True
    """
    rows = max(float(rows), 1.0)
    noise = measure_noise(questions, schema, rows)
    found = {
        **(_forecast_counts(noise) if noise.counted else _forecast_sums(noise)),
        "prediction_gap": _forecast_prediction(schema, noise.prediction),
    }
    if len(schema.by_name) < 2:
        found["pair_error"] = None
    values = {name: None if one is None else one[0] for name, one in found.items()}
    return Quality(
        rows=rows,
        smallest_group=HALF_WRONG * noise.group,
        column_error=values["column_error"] or 0.0,
        pair_error=values["pair_error"],
        prediction_gap=values["prediction_gap"],
        mean_error=values["mean_error"],
        intervals={name: one[1:] for name, one in found.items() if one is not None},
        counted=noise.counted,
    )


def _forecast_counts(noise: Noise) -> dict[str, Interval | None]:
    return {
        "column_error": _forecast(COLUMN_LAW, noise.column, 1.0),
        "pair_error": _forecast(PAIR_LAW, noise.column, 1.0),
        "mean_error": _forecast(MEAN_LAW, noise.mean, 1.0),
    }


def _forecast_sums(noise: Noise) -> dict[str, Interval | None]:
    """Noise, and on top of it what Gaussians do not describe."""
    return {
        "column_error": _forecast(MISFIT_LAW, MISFIT_OF_COLUMN + noise.column, 1.0),
        "pair_error": _forecast(MISFIT_LAW, MISFIT_OF_PAIR + 2 * noise.column, 1.0),
        "mean_error": _forecast(MEAN_OF_SUMS_LAW, noise.mean, 1.0),
    }


def _forecast(law: PowerLaw, first: float | None, most: float) -> Interval | None:
    """The middle and both ends of the interval, none above the worst that can be."""
    if first is None:
        return None
    middle = law(first)
    return min(most, middle), min(most, law.low * middle), min(most, law.high * middle)


def _forecast_prediction(schema: Schema, first: float) -> Interval | None:
    if schema.target is None or not schema.features:
        return None
    if schema[schema.target].type in ("category", "boolean"):
        return _forecast(AREA_LAW, first, 0.5)
    return _forecast(NUMBER_LAW, first, 1.0)


def measure_noise(questions: Questions, schema: Schema, rows: float) -> Noise:
    """The first figures: what noise alone would do to counts and means."""
    columns = noise_of_counts(questions)
    measured = layout_of(schema).measured
    if len(columns) * 2 < len(measured.features):
        return _noise_of_moments(questions, measured, rows)
    shares = {name: _shares(measured, name) for name in measured.by_name}
    means = [one.of_mean(rows) for name, one in columns.items() if has_mean(measured, name)]
    return Noise(
        group=median(one.deviation for one in columns.values()),
        column=fmean(_apart(one.within(len(shares[name])), rows, shares[name]) for name, one in columns.items()),
        mean=fmean(means) if means else None,
        prediction=_noise_of_prediction(questions, measured, rows),
        counted=True,
    )


class Counted(NamedTuple):
    """How a column is counted: the deviation of a cell's count, and how many cells there are."""

    deviation: float
    cells: int

    def within(self, cells: int) -> float:
        """The deviation of each of fewer cells, which these are put together to."""
        return self.deviation * math.sqrt(max(1.0, self.cells / cells))

    def of_mean(self, rows: float) -> float:
        """The deviation of the mean of even cells, as a share of the range that they cut."""
        return self.deviation * math.sqrt(self.cells / 12) / rows


def noise_of_counts(questions: Questions) -> dict[str, Counted]:
    """How every column is counted with the least noise, by itself or by the classes of the target."""
    columns: dict[str, Counted] = {}
    for cells, table, sigma in _tables(questions):
        sizes = dict(zip(table, cells.shape(table), strict=True))
        names = [name for name in table if name != cells.label] or list(table)
        if len(names) == 1:
            classes = math.prod(sizes.values()) / sizes[names[0]]
            found = Counted(sigma * math.sqrt(classes), sizes[names[0]])
            columns[names[0]] = min(columns.get(names[0], found), found)
    return columns


def _tables(questions: Questions) -> Iterator[tuple[Cells, tuple[str, ...], float]]:
    """Every table of counts that crosses columns themselves, with the noise of its cells."""
    for statistic, sigma in questions:
        if isinstance(statistic, Cells):
            weights = statistic.weights or (1.0,) * len(statistic.tables)
            for table, weight in zip(statistic.tables, weights, strict=True):
                if table and not any(axis in statistic.of for axis in table):
                    yield statistic, table, sigma / weight


def _shares(schema: Schema, name: str) -> FloatArray:
    """How records are taken to spread over a column: even over numbers, as 1/i over listed values."""
    codes = codes_of(schema[name])
    if isinstance(codes, CategoricalCodec):
        falling: FloatArray = 1 / np.arange(1.0, codes.size + 1)
        return falling / float(falling.sum())
    cells = min(codes.size, _CELLS)
    return np.full(cells, 1 / cells)


def _apart(deviation: float, rows: float, shares: FloatArray) -> float:
    """The total variation that noise of this deviation in every cell makes: see the top of this file."""
    return float(np.minimum(_MEAN_OF_NOISE * deviation / rows, shares).sum() / 2)


def has_mean(schema: Schema, name: str) -> bool:
    """Whether a column has a mean that a forecast is made for."""
    return schema[name].type in ("integer", "number")


def _noise_of_moments(questions: Questions, schema: Schema, rows: float) -> Noise:
    """The same where sums are measured instead of counts.

    A mean of d columns that are scaled to a common ball is wrong by about the noise times sqrt(d) over the records of
    its class, in standard deviations; a normal distribution that is moved by so much is 0.4 of it apart.
    """
    noise = _least_noise(questions)
    wide, classes = max(1, len(schema.features)), _classes(schema)
    moved = noise * math.sqrt(wide * classes) / rows
    mean = moved / 6 if any(has_mean(schema, name) for name in schema.features) else None
    prediction = _noise_of_prediction(questions, schema, rows)
    return Noise(noise * math.sqrt(classes), min(1.0, 0.4 * moved), mean, prediction, counted=False)


def _least_noise(questions: Questions) -> float:
    """The noise of the question with the least, in effects of one record."""
    return min(
        (sigma / statistic.sensitivity(Adjacency.ADD_REMOVE) for statistic, sigma in questions), default=math.inf
    )


def _noise_of_prediction(questions: Questions, schema: Schema, rows: float) -> float:
    """The features times classes that a prediction must learn, over the records times the mu of all questions."""
    spent = math.hypot(*(statistic.sensitivity(Adjacency.ADD_REMOVE) / sigma for statistic, sigma in questions))
    return len(schema.features) * _classes(schema) / (rows * spent) if spent else math.inf


def _classes(schema: Schema) -> int:
    """The classes of the target; a number is cut into a few."""
    if schema.target is None:
        return 1
    codes = codes_of(schema[schema.target])
    return codes.size if isinstance(codes, CategoricalCodec) else 6
