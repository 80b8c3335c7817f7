"""The rule that parts tables, and the laws that are fitted to one part, on made figures."""

import math

import numpy as np
import pytest
from experiments.forecasts import apart, crossed
from experiments.forecasts_data import DEVELOPMENT, FILES, HELD_OUT, TABLES
from experiments.forecasts_fit import Forecast, Measure, coverage, file_of, fit_law, forecasts

from sfumato.artefact.quality import PowerLaw

MEASURE = Measure(PowerLaw(0.0, 1.0, 0.5, 2.0), "column", "column", 1.0)


def made(spread: float, seed: int = 0) -> list[dict]:
    """Truth = 0.5 first^0.8, off by a factor that each file has for itself."""
    rng = np.random.default_rng(seed)
    off = {file: math.exp(spread * rng.standard_normal()) for file in FILES}
    return [
        {"task": task, "first": {"column": first}, "column": 0.5 * first**0.8 * off[file_of(task)]}
        for task in (*DEVELOPMENT, *HELD_OUT)
        for first in (0.001, 0.01, 0.1)
    ]


def test_files_in_turn_are_for_development_and_held_out():
    files = [{file_of(task) for task in tasks} for tasks in (DEVELOPMENT, HELD_OUT)]
    assert not files[0] & files[1]
    assert files[0] | files[1] == set(FILES)
    assert sorted(files[0])[0] == min(FILES)
    assert set(DEVELOPMENT) | set(HELD_OUT) == set(TABLES)


def test_a_law_without_spread_is_found_and_has_a_narrow_interval():
    law = fit_law(made(0.0), MEASURE)
    assert (law.constant, law.power) == pytest.approx((math.log(0.5), 0.8), abs=2e-3)
    assert (law.low, law.high) == pytest.approx((1, 1), abs=2e-3)


def test_the_held_out_tables_decide_nothing():
    results = made(0.3)
    changed = [{**item, "column": 99.0} if item["task"] in HELD_OUT else item for item in results]
    assert fit_law(results, MEASURE) == fit_law(changed, MEASURE)


def test_intervals_of_normal_files_hold_four_times_out_of_five():
    held = known = 0
    for seed in range(150):
        results = made(0.4, seed)
        found = coverage(forecasts(results, MEASURE, fit_law(results, MEASURE)), HELD_OUT)
        held, known = held + found[0], known + found[1]
    assert held / known > 0.8


def test_what_is_not_known_is_not_counted():
    assert forecasts([{"task": "adult", "first": {"column": 0.1}, "column": None}], MEASURE, MEASURE.law) == []
    one = Forecast({"task": "adult"}, 0.1, 0.2, 0.3, 0.35)
    assert coverage([one], DEVELOPMENT) == (0, 1)


def test_distances_of_pairs():
    real, drawn = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    assert apart(real, drawn) == 0.25
    assert apart(*crossed((real, drawn), (real, drawn))) == 0.25
    assert apart(*crossed((real, real), (real, drawn))) > 0
