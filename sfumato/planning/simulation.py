"""Forecast by rehearsal: release records that are drawn from a public proxy, and compare with the proxy itself.

The release goes through the mechanism and the curator as a private one would, with noise from a seed and no ledger.
What it is compared with is known, because the proxy is public.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.artefact.drawing import draw_records
from sfumato.artefact.verdict import Quality
from sfumato.errors import RequestError
from sfumato.fitting.completion.plan import plan_completion
from sfumato.fitting.mechanisms.mechanism import find_mechanism
from sfumato.fitting.models.constrained import constrain
from sfumato.fitting.models.model import Model
from sfumato.planning.curve import forecast
from sfumato.planning.measures import Measures, measure_release
from sfumato.planning.proxies import Proxy, open_proxy
from sfumato.planning.request import Request
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget, epsilon_of
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.session import check_terms, open_session

_NINE_TENTHS = (3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383)  # Student's t with 1, 2 ... degrees
_NORMAL = 1.282
_UNLIKE, _UNLIKE_GAP = 0.25, 0.5  # how far a table is from a sample of the same law, as a share of an error
_CHANCE = 0.01  # by which chance moves a score on some thousand test records
_MOST_DRAWN = 200_000  # synthetic rows by which a release is compared
MOST_REPETITIONS = 100


@dataclass(frozen=True)
class Simulation:
    """What some releases of records like a proxy's were worth.

    source        the proxy
    repetitions   how many releases
    quality       means over them, and the intervals that hold the next release four times out of five
    """

    source: str
    repetitions: int
    quality: Quality

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        intervals = {name: list(ends) for name, ends in self.quality.intervals.items()}
        return {**asdict(self), "quality": {**asdict(self.quality), "intervals": intervals}}


def simulate(request: Request, like: Any, repetitions: int, progress: Callable[[str], None]) -> Simulation:
    """Release records like a proxy's some times, each with records and noise of its own.

    Raises `RequestError` where the proxy lacks a column of the schema, and for fewer than 2 repetitions.
    """
    if not 2 <= repetitions <= MOST_REPETITIONS:
        raise RequestError(f"{repetitions} repetitions are asked for; 2 to {MOST_REPETITIONS} make an interval")
    proxy = open_proxy(like, _without_unit(request.schema))
    found = []
    for number in range(repetitions):
        progress(f"simulating release {number + 1} of {repetitions}")
        found.append(rehearse(request, proxy, number))
    return Simulation(proxy.name, repetitions, _quality(request, found))


def rehearse(request: Request, proxy: Proxy, seed: int) -> Measures:
    """One release of as many records as are planned, compared with these and with others that it never saw."""
    rng = np.random.default_rng(seed)
    records, others = proxy.draw(request.rows, rng)
    schema, model = _release(request, records, seed)
    drawn = min(_MOST_DRAWN, 4 * request.rows + 10_000)
    batch, _ = draw_records(model, schema, drawn, rng, {})
    return measure_release(schema, model, batch, proxy, records, others)


def _release(request: Request, records: Any, seed: int) -> tuple[Schema, Model]:
    """As `sfumato.release` does it; the model of the table's columns, and the schema with what was found."""
    schema, budget = _without_unit(request.schema), request.budget
    terms = check_terms(
        schema, _epsilon_of_one(budget), budget.delta, request.adjacency, "declared", None, seed, budget.delta_keys
    )
    used, completion = find_mechanism(request.mechanism), plan_completion(schema, terms.budget)
    with open_session(records, terms, request.mechanism) as session:
        if not schema.is_complete:
            schema = completion.ask(session.curator)
            session.curator.adopt(schema)
        layout = layout_of(schema)
        plan = used.build_plan(layout.measured, completion.rest, Adjacency(request.adjacency), request.settings)
        return schema, constrain(used.release(session.curator, plan, lambda _: None), layout)


def _epsilon_of_one(budget: Budget) -> float:
    """The epsilon that gives one record the noise that a person's budget gives it: records are drawn one by one."""
    if budget.records == 1:
        return budget.epsilon
    return epsilon_of(budget.mu, budget.delta - budget.delta_keys)


def _without_unit(schema: Schema) -> Schema:
    return schema.model_copy(update={"unit": None})


def _quality(request: Request, found: list[Measures]) -> Quality:
    """Means and intervals; the noise of a group follows from the plan and needs no simulation."""
    expected = forecast(request)
    columns = [one.column_error for one in found]
    parts = {
        "column_error": columns,
        "pair_error": [one.pair_error for one in found if one.pair_error is not None],
        "mean_error": [one.mean_error for one in found if one.mean_error is not None],
        "prediction_gap": [one.prediction_gap for one in found if one.prediction_gap is not None],
    }
    means = {name: float(np.mean(values)) if values else None for name, values in parts.items()}
    return Quality(
        rows=float(request.rows),
        smallest_group=expected.smallest_group,
        column_error=float(np.mean(columns)),
        pair_error=means["pair_error"],
        prediction_gap=means["prediction_gap"],
        mean_error=means["mean_error"],
        intervals={name: predict_interval(name, values) for name, values in parts.items() if len(values) > 1},
    )


def predict_interval(measure: str, values: Sequence[float]) -> tuple[float, float]:
    """What holds the truth of a table like the stand-in, four times out of five.

    measure   the name of an error in `Quality`
    values    that error in each of the simulated releases, two or more

    Releases of the stand-in differ by their noise: the next one would lie within t s sqrt(1 + 1/n) of their mean. The
    table also differs from its stand-in, by a quarter of the mean; what a predictor loses, by half of it and by chance
    on the test records. These are independent, so their squares add up. docs/planning.md says how often that holds.

    Returns both ends, neither below 0 nor above 1.

    Example
        >>> low, high = predict_interval("column_error", [0.10, 0.12, 0.11])
        >>> (round(low, 3), round(high, 3))
        (0.075, 0.145)
    """
    degrees = len(values) - 1
    quantile = _NINE_TENTHS[degrees - 1] if degrees <= len(_NINE_TENTHS) else _NORMAL
    middle, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    next_one = quantile * spread * math.sqrt(1 + 1 / len(values))
    unlike = (_UNLIKE_GAP * middle, _CHANCE) if measure == "prediction_gap" else (_UNLIKE * middle,)
    width = math.hypot(next_one, *unlike)
    return max(0.0, middle - width), min(1.0, middle + width)
