"""Correlations are what a slow version says, whatever is missing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.evaluation.correlations import compare_correlations, correlation_matrix
from sfumato.evaluation.raw_values import RawColumn
from sfumato.trusted.schema import Schema


def slow_correlation(first, second):
    """Over the rows where both are finite."""
    rows = [(x, y) for x, y in zip(first, second, strict=True) if math.isfinite(x) and math.isfinite(y)]
    mean = [sum(row[place] for row in rows) / len(rows) for place in (0, 1)]
    products = sum((x - mean[0]) * (y - mean[1]) for x, y in rows)
    squares = [sum((row[place] - mean[place]) ** 2 for row in rows) for place in (0, 1)]
    return products / math.sqrt(squares[0] * squares[1])


cells = st.integers(-50, 50).map(float) | st.sampled_from([math.nan, math.inf])


@given(arrays(float, (25, 3), elements=cells))
def test_correlations_are_what_a_slow_version_says(values):
    found = correlation_matrix(list(values.T))
    for one in range(3):
        for two in range(3):
            if np.isfinite(found[one, two]):
                assert found[one, two] == pytest.approx(slow_correlation(values[:, one], values[:, two]), abs=1e-6)


def test_large_numbers_do_not_cancel():
    rng = np.random.default_rng(0)
    day = 1.7e9 + rng.random(400)
    other = day - 1.7e9 + rng.random(400)
    assert correlation_matrix([day, other])[0, 1] == pytest.approx(slow_correlation(day - 1.7e9, other), abs=1e-5)


def test_a_constant_column_and_a_few_rows_have_none():
    constant, rising = np.ones(10), np.arange(10.0)
    assert np.isnan(correlation_matrix([constant, rising])[0, 1])
    assert np.isnan(correlation_matrix([np.where(rising < 2, rising, np.nan), rising])[0, 1])


def test_numbers_and_two_values_are_compared_and_longer_lists_are_not():
    columns = """[{name: x, type: number, bounds: [0, 9]}, {name: y, type: boolean}, {name: z, type: category,
        values: [a, b, c]}, {name: u, type: category, values: [a, b]}]"""
    schema = Schema.from_yaml(f"{{sfumato: 1, name: t, columns: {columns}}}")
    rising = np.arange(8.0)
    table = {name: RawColumn.of(rising % 2) for name in "yzu"} | {"x": RawColumn.of(rising)}
    strange = table | {"u": RawColumn.of(np.where(rising < 5, rising % 2, 2.0))}
    found = compare_correlations(table, table, strange, schema)
    assert {one.columns for one in found} == {("x", "y"), ("x", "u"), ("y", "u")}
    by_pair = {one.columns: one for one in found}
    assert by_pair["y", "u"].real == pytest.approx(1)
    assert by_pair["x", "u"].test == pytest.approx(slow_correlation(rising[:5], (rising % 2)[:5]))
    assert compare_correlations(table, table, table, Schema.from_yaml(
        "{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [0, 9]}]}"
    )) == ()  # fmt: skip
