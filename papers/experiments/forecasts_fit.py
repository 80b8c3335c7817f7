"""The laws of `sfumato.artefact.quality`, fitted to development tables, and how often their intervals hold.

A law is log truth = constant + power * log first figure, by least squares over the releases of the development tables.
For its interval each file is left out in turn and forecast by the law of the others. The factors are exp(-+ t s), s
the root of the mean square of these errors over files and t such that four new tables out of five lie inside, were the
errors normal: Student's t for as many files, with the uncertainty of the middle. For single columns and pairs it is
nine out of ten: at four out of five, 33 and 34 of the 42 held-out releases were inside, fewer than promised or hardly
more.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from experiments.forecasts_data import DEVELOPMENT, FILES, FRESH, TABLES
from sfumato.artefact.quality import (
    AREA_LAW,
    COLUMN_LAW,
    MEAN_LAW,
    NUMBER_LAW,
    PAIR_LAW,
    Noise,
    PowerLaw,
    measure_noise,
)
from sfumato.planning.questions import list_questions, pairs_of
from sfumato.planning.request import check_request
from sfumato.trusted.arrays import FloatArray

Item = Mapping[str, Any]


class Measure(NamedTuple):
    """What is forecast: the law that the library has, the first figure that it starts from, and the worst there is.

    What is below `least` counts as `least`: on a few thousand test rows chance alone moves a score by as much. `end` is
    the quantile of Student's t at the upper end of the interval.
    """

    law: PowerLaw
    result: str
    first: str
    most: float
    least: float = 1e-6
    end: float = 0.9

    def truth(self, item: Item) -> float:
        return float(min(self.most, max(self.least, item[self.result])))


MEASURES = {
    "COLUMN_LAW": Measure(COLUMN_LAW, "column", "column", 1.0, end=0.95),
    "PAIR_LAW": Measure(PAIR_LAW, "pair", "column", 1.0, end=0.95),
    "MEAN_LAW": Measure(MEAN_LAW, "mean", "mean", 1.0),
    "AREA_LAW": Measure(AREA_LAW, "area", "prediction", 0.5, 0.005),
    "NUMBER_LAW": Measure(NUMBER_LAW, "number", "prediction", 1.0, 0.005),
}


class Forecast(NamedTuple):
    """What was forecast of a release, and what came out."""

    item: Item
    low: float
    middle: float
    high: float
    truth: float

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high


def add_first_figures(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What noise alone would do, from schema, budget and rows."""
    for name in {item["task"] for item in results}:
        schema = {**TABLES, **FRESH}[name]().schema
        for item in results:
            if item["task"] == name:
                request = check_request(schema, item["rows"], item["epsilon"], 1e-6, "tables", "add-remove")
                found: Noise = measure_noise(pairs_of(list_questions(request)), schema, item["rows"])
                item["first"] = found._asdict()
                if schema.target is not None:
                    listed = schema[schema.target].type in ("category", "boolean")
                    item["area" if listed else "number"] = item["gap"]
    return results


def file_of(task: str) -> str:
    return next(file for file, tasks in FILES.items() if task in tasks)


def fit_law(results: Sequence[Item], measure: Measure) -> PowerLaw:
    """From the development tables alone."""
    known = [item for item in results if item["task"] in DEVELOPMENT and item.get(measure.result) is not None]
    constant, power = _line(known, measure)
    files = sorted({file_of(item["task"]) for item in known})
    errors = []
    for file in files:
        law = _line([item for item in known if file_of(item["task"]) != file], measure)
        own = [item for item in known if file_of(item["task"]) == file]
        errors.append(float(np.mean(_errors(own, measure, *law) ** 2)))
    wide = float(student.ppf(measure.end, len(files) - 1)) * math.sqrt((1 + 1 / len(files)) * np.mean(errors))
    return PowerLaw(round(constant, 3), round(power, 3), round(math.exp(-wide), 3), round(math.exp(wide), 3))


def _line(items: Sequence[Item], measure: Measure) -> tuple[float, float]:
    first, truth = _logs(items, measure)
    power, constant = np.polyfit(first, truth, 1)
    return float(constant), float(power)


def _logs(items: Sequence[Item], measure: Measure) -> tuple[FloatArray, FloatArray]:
    first = np.log([item["first"][measure.first] for item in items])
    return first, np.log([measure.truth(item) for item in items])


def _errors(items: Sequence[Item], measure: Measure, constant: float, power: float) -> FloatArray:
    first, truth = _logs(items, measure)
    return truth - (constant + power * first)


def forecasts(results: Sequence[Item], measure: Measure, law: PowerLaw) -> list[Forecast]:
    """Every release of which the truth is known."""
    found = []
    for item in results:
        if item.get(measure.result) is not None:
            middle = law(item["first"][measure.first])
            low, middle, high = (min(measure.most, factor * middle) for factor in (law.low, 1.0, law.high))
            found.append(Forecast(item, low, middle, high, measure.truth(item)))
    return found


def coverage(found: Sequence[Forecast], tasks: Sequence[str]) -> tuple[int, int]:
    """How many intervals hold, of how many."""
    own = [one for one in found if one.item["task"] in tasks]
    return sum(one.holds for one in own), len(own)
