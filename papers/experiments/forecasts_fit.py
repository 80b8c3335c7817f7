"""The laws of `sfumato.artefact.quality`, fitted to the building tables, and how often their intervals hold.

A law is log truth = constant + power * log first figure, by least squares. Real tables together weigh as much as made
ones, and among its kind each file as much as every other: a made table is a file of its own.

For its interval each file is left out in turn and forecast by the law of the others. The ends are quantiles of these
errors, each for itself, since truths lie further above a forecast than below it or the reverse. Of n files of a kind
every one has the mass 1 / (n + 1), spread over its releases. The mass that is left is that of the new table, which may
lie beyond all others: it counts as above for the upper end and as below for the lower one. One tenth is allowed beyond
either end. With fewer than nine files no quantile goes so far, and the outermost error is taken. That is done for real
and for made tables apart, and the outer end of the two is taken, so that the interval holds for either kind.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.forecasts_data import BUILDING, BUILDING_NUMBERS, TABLES, file_of, open_task
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
BEYOND = 0.1  # of the truths, at either end


class Measure(NamedTuple):
    """What is forecast: the law that the library has, the first figure that it starts from, and the worst there is.

    What is below `least` counts as `least`: on a few thousand test rows chance alone moves a score by as much.
    `building` are the tables that the law is fitted to.
    """

    law: PowerLaw
    result: str
    first: str
    most: float
    least: float = 1e-6
    building: tuple[str, ...] = BUILDING

    def truth(self, item: Item) -> float:
        return float(min(self.most, max(self.least, item[self.result])))


MEASURES = {
    "COLUMN_LAW": Measure(COLUMN_LAW, "column", "column", 1.0),
    "PAIR_LAW": Measure(PAIR_LAW, "pair", "column", 1.0),
    "MEAN_LAW": Measure(MEAN_LAW, "mean", "mean", 1.0),
    "AREA_LAW": Measure(AREA_LAW, "area", "prediction", 0.5, 0.005),
    "NUMBER_LAW": Measure(NUMBER_LAW, "number", "prediction", 1.0, 0.005, BUILDING_NUMBERS),
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
        schema = open_task(name).schema
        for item in results:
            if item["task"] == name:
                request = check_request(schema, item["rows"], item["epsilon"], 1e-6, "tables", "add-remove")
                found: Noise = measure_noise(pairs_of(list_questions(request)), schema, item["rows"])
                item["first"] = found._asdict()
                if schema.target is not None:
                    listed = schema[schema.target].type in ("category", "boolean")
                    item["area" if listed else "number"] = item["gap"]
    return results


def fit_law(results: Sequence[Item], measure: Measure) -> PowerLaw:
    """From the building tables alone."""
    known = _known(results, measure)
    constant, power = _line(known, measure)
    found = [_ends(*errors) for errors in _errors_by_kind(known, measure) if errors]
    low, high = min(one[0] for one in found), max(one[1] for one in found)
    return PowerLaw(round(constant, 3), round(power, 3), round(math.exp(low), 3), round(math.exp(high), 3))


def leave_out(results: Sequence[Item], measure: Measure) -> list[Forecast]:
    """Every release of a building table, forecast by the law that is fitted without its file."""
    known, found = _known(results, measure), []
    for file in sorted({file_of(item["task"]) for item in known}):
        own = [item for item in known if file_of(item["task"]) == file]
        law = fit_law([item for item in known if file_of(item["task"]) != file], measure)
        found += forecasts(own, measure, law)
    return found


def _known(results: Sequence[Item], measure: Measure) -> list[Item]:
    """The releases that a law is fitted to."""
    return [item for item in results if item["task"] in measure.building and item.get(measure.result) is not None]


def _is_real(item: Item) -> bool:
    return item["task"] in TABLES


def _errors_by_kind(known: Sequence[Item], measure: Measure) -> list[list[FloatArray]]:
    """Of real and of made files: how far each is off, by the law of all others."""
    found: list[list[FloatArray]] = [[], []]
    for file in sorted({file_of(item["task"]) for item in known}):
        own = [item for item in known if file_of(item["task"]) == file]
        law = _line([item for item in known if file_of(item["task"]) != file], measure)
        first, truth = _logs(own, measure)
        found[_is_real(own[0])].append(truth - (law[0] + law[1] * first))
    return found


def _ends(*errors: FloatArray) -> tuple[float, float]:
    """The errors between which all but a tenth at either end lie, of a new file as well."""
    values = np.concatenate(errors)
    mass = np.concatenate([np.full(len(own), 1 / len(own)) for own in errors]) / (len(errors) + 1)
    return -_upper_end(-values, mass), _upper_end(values, mass)


def _upper_end(values: FloatArray, mass: FloatArray) -> float:
    order = np.argsort(values)
    place = int(np.searchsorted(np.cumsum(mass[order]), 1 - BEYOND - 1e-9))
    return float(values[order][min(place, len(values) - 1)])


def _line(items: Sequence[Item], measure: Measure) -> tuple[float, float]:
    first, truth = _logs(items, measure)
    power, constant = np.polyfit(first, truth, 1, w=np.sqrt(_weights(items)))
    return float(constant), float(power)


def _weights(items: Sequence[Item]) -> FloatArray:
    """Half for real files and half for made ones, the same for each file and for each of its releases."""
    releases = Counter(file_of(item["task"]) for item in items)
    files = Counter(_is_real(item) for item in {file_of(item["task"]): item for item in items}.values())
    return np.array([1 / (files[_is_real(item)] * releases[file_of(item["task"])]) for item in items])


def _logs(items: Sequence[Item], measure: Measure) -> tuple[FloatArray, FloatArray]:
    first = np.log([item["first"][measure.first] for item in items])
    return first, np.log([measure.truth(item) for item in items])


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
