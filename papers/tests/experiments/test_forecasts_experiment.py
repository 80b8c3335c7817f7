"""The sets of tables, the laws that are fitted to building tables, and made tables of random laws."""

import math

import numpy as np
import pytest
from experiments.forecasts import apart, crossed
from experiments.forecasts_data import BUILDING, FILES, FRESH, SETS, TABLES, file_of, open_task, releases_of
from experiments.forecasts_fit import BEYOND, MEASURES, Forecast, Measure, coverage, fit_law, forecasts, leave_out
from experiments.forecasts_like import SETS as LIKE_SETS
from experiments.forecasts_like import coverage as coverage_of_simulations
from experiments.forecasts_made import LAWS, TARGET, draw_table, name_of, number_of

from sfumato.artefact.quality import PowerLaw

SOME = (*TABLES, *SETS["building, made"][:15], *FRESH)  # enough for a law
MEASURE = Measure(PowerLaw(0.0, 1.0, 0.5, 2.0), "column", "column", 1.0)


def made(spread: float, seed: int = 0, above: float = 1.0) -> list[dict]:
    """Truth = 0.5 first^0.8, off by a factor that each file has for itself; `above` stretches it to one side."""
    rng = np.random.default_rng(seed)
    off = {file: spread * rng.standard_normal() for file in sorted({file_of(task) for task in SOME})}
    factors = {file: math.exp(one * above if one > 0 else one) for file, one in off.items()}
    return [
        {"task": task, "first": {"column": first}, "column": 0.5 * first**0.8 * factors[file_of(task)]}
        for task in SOME
        for first in (0.001, 0.01, 0.03)
    ]


def test_no_table_is_in_two_sets_and_every_file_is_in_one():
    names = [name for tasks in SETS.values() for name in tasks]
    assert len(names) == len(set(names))
    assert set(FILES) == {file_of(task) for task in TABLES}
    assert not {file_of(task) for task in BUILDING} & {file_of(task) for task in FRESH}
    simulated = {name_of(number) for numbers in LIKE_SETS.values() for number in numbers}
    assert len(simulated) == sum(map(len, LIKE_SETS.values()))
    assert not simulated & set(names)


def test_a_law_is_tried_on_tables_that_it_was_not_fitted_to():
    for name, measure in MEASURES.items():
        tried = SETS["fresh, numbers" if name == "NUMBER_LAW" else "fresh, made"]
        assert not set(tried) & set(measure.building)
    first = open_task(SETS["fresh, numbers"][0]).schema
    assert first[TARGET].type == "number"


def test_a_law_without_spread_is_found_and_has_a_narrow_interval():
    law = fit_law(made(0.0), MEASURE)
    assert (law.constant, law.power) == pytest.approx((math.log(0.5), 0.8), abs=2e-3)
    assert (law.low, law.high) == pytest.approx((1, 1), abs=2e-3)


def test_fresh_tables_decide_nothing():
    results = made(0.3)
    changed = [{**item, "column": 99.0} if item["task"] in FRESH else item for item in results]
    assert fit_law(results, MEASURE) == fit_law(changed, MEASURE)
    assert leave_out(results, MEASURE) == leave_out(changed, MEASURE)


def test_errors_of_one_side_widen_that_end():
    law = fit_law(made(0.3, above=3.0), MEASURE)
    assert math.log(law.high) > -1.5 * math.log(law.low)


@pytest.mark.parametrize("above", [1.0, 2.5])
def test_intervals_hold_four_fresh_files_out_of_five(above):
    held = known = 0
    for seed in range(12):
        results = made(0.3, seed, above)
        found = coverage(forecasts(results, MEASURE, fit_law(results, MEASURE)), FRESH)
        held, known = held + found[0], known + found[1]
    assert 1 - 2 * BEYOND <= held / known < 1


def test_a_file_is_forecast_without_itself():
    results = made(0.0)
    strange = [{**item, "column": 0.9} if file_of(item["task"]) == "adult" else item for item in results]
    missed = [one for one in leave_out(strange, MEASURE) if not one.holds]
    assert {file_of(one.item["task"]) for one in missed} >= {"adult"}


def test_what_is_not_known_is_not_counted():
    assert forecasts([{"task": "adult", "first": {"column": 0.1}, "column": None}], MEASURE, MEASURE.law) == []
    one = Forecast({"task": "adult"}, 0.1, 0.2, 0.3, 0.35)
    assert coverage([one], BUILDING) == (0, 1)


def test_distances_of_pairs():
    real, drawn = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    assert apart(real, drawn) == 0.25
    assert apart(*crossed((real, drawn), (real, drawn))) == 0.25
    assert apart(*crossed((real, real), (real, drawn))) > 0


def test_a_number_decides_a_made_table():
    one, again, other = (draw_table(number) for number in (7, 7, 8))
    assert one.task.rows.equals(again.task.rows)
    assert one.task.schema == again.task.schema != other.task.schema
    assert number_of(name_of(7)) == 7
    assert number_of("adult") is None
    assert open_task(name_of(7)).schema == one.task.schema
    assert releases_of(name_of(7)) == [(one.rows, [one.epsilon])]


def test_made_tables_keep_their_description():
    kinds = set()
    for number in range(len(LAWS)):
        table = draw_table(number)
        schema, rows = table.task.schema, table.task.rows
        assert 5 <= len(schema.columns) <= 26
        assert 2_000 <= table.rows <= 20_000
        kinds.add(schema[TARGET].type)
        for column in schema.columns:
            values = rows[column.name]
            assert column.missing or values.notna().all()
            if column.type == "category":
                assert set(values.dropna()) <= set(column.values)
            else:
                assert column.bounds[0] <= values.min() <= values.max() <= column.bounds[1]
    assert kinds == {"category", "number"}


def test_a_parity_needs_its_columns_together():
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((20_000, 2))
    signal = LAWS["parity"](scores, rng)
    assert abs(np.corrcoef(signal, scores[:, 0])[0, 1]) < 0.15
    assert set(np.unique(signal)) == {-1, 1}


def test_simulations_hold_where_the_truth_lies_among_them():
    simulated = [{"column_error": value} for value in (0.10, 0.12, 0.11)]
    results = [{"simulated": simulated, "truth": {"column_error": truth}} for truth in (0.11, 0.5, None)]
    assert coverage_of_simulations(results, "column_error", 3) == (1, 2)
