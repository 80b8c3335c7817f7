"""Questions that a release answers, each with its 95 % interval and the call that asks it."""

import math
from typing import Any, NamedTuple

from sfumato.artefact.figures import Expectation
from sfumato.artefact.quality import expected_quality
from sfumato.artefact.release import Release
from sfumato.artefact.verdict import Quality
from sfumato.charts.ordered import write
from sfumato.errors import RequestError
from sfumato.trusted.encoding import Encoder, NumericCodec
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Column
from sfumato.trusted.statistics import Cells

_MOST_NUMBERS, _MOST_LISTS, _MOST_GROUPS = 3, 3, 2
_WIDEST = 0.15  # of the range of a column: an interval of a group's mean that is worth showing
_REACH = 1.96  # deviations of the noise to either side


class Question(NamedTuple):
    """A question, its answer, the ends of its interval, and how to ask it."""

    words: str
    answer: str
    low: str
    high: str
    call: str


def quality_of(release: Release) -> Quality:
    """The errors that are to be expected of a release, from what it was asked and its noise."""
    asked = [(one.statistic, one.sigma) for one in release.modelling]
    return expected_quality(asked, release.schema, release.unconditioned.size)


def example_questions(release: Release, quality: Quality) -> list[Question]:
    """Shares of values, means, means within a group, and a prediction, as far as the schema has them.

    Example
        >>> [one.call for one in example_questions(release, quality_of(release))][0]
        'release.size'
    """
    return [
        *_of_size(release),
        *_shares(release),
        *_means(release),
        *_means_of_groups(release),
        *_prediction(release, quality),
    ]


def _of_size(release: Release) -> list[Question]:
    deviation = _deviation_of_size(release)
    if deviation is None or release.given:
        return []
    low, high = max(0.0, release.size - _REACH * deviation), release.size + _REACH * deviation
    return [Question("How many records?", f"{release.size:,}", f"{low:,.0f}", f"{high:,.0f}", "release.size")]


def _deviation_of_size(release: Release) -> float | None:
    """What noise leaves in the number of records; None where it is not known.

    From counts: a table of A cells adds up to it with A times the noise variance of a cell, and tables of single
    columns are averaged by that. Gaussians know theirs.
    """
    model = release.fitted
    if hasattr(model, "draws"):
        return float(model.draws.counts.sum(axis=1).std())
    if hasattr(model, "count_sd"):
        return float(model.count_sd) * math.sqrt(len(getattr(model, "weights", ())))
    found = [_precision_of_total(one) for one in release.modelling]
    return 1 / math.sqrt(max(found)) if any(found) else None


def _precision_of_total(measurement: Measurement) -> float:
    """Of the mean of the totals of all tables of one column, or of one and the target; 0 where there is none."""
    cells = measurement.statistic
    if not isinstance(cells, Cells):
        return 0.0
    target = () if cells.label is None else (cells.label,)
    single = [
        table
        for table in cells.tables
        if not any(axis in cells.of for axis in table) and table[1:] == target and table[:1] != target
    ]
    return sum(1 / math.prod(cells.shape(table)) for table in single) / measurement.sigma**2


def _columns(release: Release, *, ordered: bool) -> list[str]:
    """Columns of a kind, the target first, without the single points of pictures."""
    codes, target = Encoder(release.schema).columns, release.schema.target
    points = {name for one in release.schema.columns if getattr(one, "image", None) for name in one.names}
    columns = [name for name in release.schema.by_name if name not in points]
    found = [name for name in columns if isinstance(codes[name], NumericCodec) == ordered]
    return sorted(found, key=lambda name: name != target)


def _shares(release: Release) -> list[Question]:
    found = []
    for name in _columns(release, ordered=False)[:_MOST_LISTS]:
        rows = [row for row in release.marginal(name, output="arrow").to_pylist() if row["value"] is not None]
        row = max(rows, key=lambda one: one["probability"], default=None)
        if row is not None:
            words = f"Which share of the records has {name} = {row['value']}?"
            answer, low, high = (f"{row[key]:.1%}" for key in ("probability", "low", "high"))
            found.append(Question(words, answer, low, high, f"release.marginal({name!r})"))
    return found


def _means(release: Release) -> list[Question]:
    asked = {name: _mean(release, name, None) for name in _columns(release, ordered=True)[:_MOST_NUMBERS]}
    return [
        Question(f"What is the mean of {name}?", *answer, f"release.mean({name!r})")
        for name, answer in asked.items()
        if answer is not None
    ]


def _means_of_groups(release: Release) -> list[Question]:
    """The mean of the first number where the first lists have their most frequent value."""
    numbers, lists = _columns(release, ordered=True), _columns(release, ordered=False)
    found = []
    for name in lists[:_MOST_GROUPS] if numbers else []:
        rows = [row for row in release.marginal(name, output="arrow").to_pylist() if row["value"] is not None]
        value = min(rows, key=lambda one: abs(one["probability"] - 0.3), default={"value": None})["value"]
        answer = None if value is None else _mean(release, numbers[0], {name: value}, most=_WIDEST)
        if answer is not None:
            words = f"What is the mean of {numbers[0]} where {name} = {value}?"
            found.append(Question(words, *answer, f"release.mean({numbers[0]!r}, given={{{name!r}: {value!r}}})"))
    return found


def _mean(
    release: Release, name: str, given: dict[str, Any] | None, most: float | None = None
) -> tuple[str, str, str] | None:
    """None where its interval is more than a share of the range between the bounds: there is little to tell."""
    try:
        answer = release.mean(name, given=given)
    except RequestError:  # nobody in the release has this value
        return None
    if most is not None and _width(answer, release.schema[name]) > most:
        return None
    return _written(answer.mean), _written(answer.low), _written(answer.high)


def _width(answer: Expectation, column: Column) -> float:
    """The length of an interval, as a share of the range between the column's bounds."""
    bounds: Any = column.bounds  # type: ignore[union-attr]
    width: Any = answer.high - answer.low  # type: ignore[operator]
    return float(width / (bounds[1] - bounds[0]))


def _written(value: Any) -> str:
    if isinstance(value, float):
        return write(value) if math.isfinite(value) else "not known"
    return str(value)


def _prediction(release: Release, quality: Quality) -> list[Question]:
    target, gap = release.schema.target, quality.prediction_gap
    if target is None or gap is None:
        return []
    listed = not isinstance(Encoder(release.schema).columns[target], NumericCodec)
    measure, call = ("area under the ROC curve", "predict_proba") if listed else ("R squared", "predict")
    low, high = quality.intervals.get("prediction_gap", (gap, gap))
    words = (
        f"What is {target} of a record, given the rest? Expected loss of {measure} against the records themselves (the "
        "interval holds four times out of five)"
    )
    return [Question(words, f"{gap:.3f}", f"{low:.3f}", f"{high:.3f}", f"release.{call}(rows)")]
