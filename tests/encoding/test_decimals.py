"""The roundest number of an interval, against every decimal in it; and what a step of a scale is written as."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import codes_of
from sfumato.trusted.encoding.decimals import roundest_between, size_of, units_between
from sfumato.trusted.schema import Schema

COLUMNS = {
    "wide": {"bounds": [-150, 17000]},
    "unit": {"bounds": [0, 1], "atoms": [0.3]},
    "log": {"bounds": [1, 1e6], "scale": "log"},
    "log from 0": {"bounds": [0, 5e4], "scale": "log"},
    "far": {"bounds": [1e9, 1e9 + 7]},
    "tiny": {"bounds": [-3e-9, 2e-9]},
    "next to nothing": {"bounds": [0, 1e-99]},
    "huge": {"bounds": [-8e99, 8e99]},
}


def codec(**column):
    schema = Schema.from_dict({"sfumato": 1, "name": "t", "columns": [{"name": "x", "type": "number"} | column]})
    return codes_of(schema.columns[0])


def slow_roundest(left: Fraction, right: Fraction) -> Fraction:
    """By trial: units from the coarsest down, exact fractions."""
    if left <= 0 < right:
        return Fraction(0)
    for exponent in range(12, -13, -1):
        for k in (5, 1):
            unit = k * Fraction(10) ** exponent
            count = -(-left // unit)
            if count * unit < right:
                return count * unit
    raise AssertionError


@given(st.integers(-(10**7), 10**7), st.integers(1, 10**5), st.integers(-4, 2))
def test_the_roundest_is_a_multiple_of_the_coarsest_unit(first, width, exponent):
    left, right = first * 10.0**exponent, (first + width) * 10.0**exponent
    (found,) = roundest_between(np.array([left]), np.array([right]))
    assert left <= found < right
    exact = slow_roundest(*(Fraction(end) * Fraction(10) ** exponent for end in (first, first + width)))
    assert found == pytest.approx(float(exact), rel=1e-9, abs=1e-9 * (right - left))


def test_units_are_a_chain():
    units = units_between(0.01, 500)
    sizes = [Fraction(k) * Fraction(10) ** e for k, e in units]
    assert [float(size) for size in sizes] == [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50, 100, 500]
    assert all((coarse / fine).denominator == 1 for fine, coarse in itertools.pairwise(sizes))
    assert [size_of(unit) for unit in units] == [float(size) for size in sizes]


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_every_step_is_written_as_a_value_of_its_own(column):
    codes = codec(**column)
    steps = np.unique(np.linspace(1, codes.steps - 2, 20_001).astype(np.int32))  # a bound's atom may fill its step
    written = codes.decode(steps, np.full(len(steps), 0.5))
    assert np.array_equal(codes.encode(written), steps)
    low, high = (codes.edges(steps, upper=upper).to_numpy() for upper in (False, True))
    assert ((low <= written.to_numpy()) & (written.to_numpy() <= high)).all()


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("limits", [(None, None), (30.0, None), (None, 40.0)])
def test_few_and_many_codes_are_written_alike(column, limits):
    codes = codec(**column, missing=True)
    rng = np.random.default_rng(0)
    drawn = np.append(rng.integers(0, codes.size, 50_000), np.arange(codes.steps - 20, codes.size)).astype(np.int32)
    inside = rng.random(len(drawn))
    many = codes.decode(drawn, inside, limits)
    few = [codes.decode(drawn[part], inside[part], limits) for part in np.array_split(np.arange(len(drawn)), 4)]
    assert many.equals(pa.concat_arrays(few))
    assert many.null_count == (drawn == codes.missing).sum()


@pytest.mark.parametrize("value", [120.0, 37.5, -12.0, 16_999.0, 0.25])
def test_round_values_come_back_as_they_were(value):
    codes = codec(bounds=[-150, 17000])
    there = codes.encode(codes.write(np.array([value]), np.array([False])))
    assert codes.decode(there, np.array([0.9]))[0].as_py() == value


MORE = {
    "integers": {"type": "integer", "bounds": [-7, 50_000_000]},
    "integers by logarithm": {"type": "integer", "bounds": [0, 50_000_000], "scale": "log"},
    "days": {"type": "date", "bounds": ["1900-01-01", "2030-12-31"]},
    "moments": {"type": "datetime", "bounds": ["2001-01-01T00:00:00", "2030-12-31T23:59:59"]},
}


@pytest.mark.parametrize("column", (COLUMNS | MORE).values(), ids=COLUMNS | MORE)
def test_all_steps_at_once_are_written_as_one_by_one(column):
    codes = codec(**column)
    drawn = np.random.default_rng(0).integers(0, codes.steps, 5_000)
    step = np.append(drawn, codes.steps_of(np.array(codes.standing_out))).astype(np.int32)
    written = codes.read(codes.decode(step, np.full(len(step), 0.5))).values
    assert np.array_equal(codes.numbers[step], written)
