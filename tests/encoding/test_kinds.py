"""Of which unit a value is, which weekday it falls on: against a slow, obvious version."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import codes_of
from sfumato.trusted.encoding.decimals import size_of
from sfumato.trusted.encoding.kinds import count_kinds, kinds_of
from sfumato.trusted.schema import Schema

COLUMNS = {
    "pressure": {"type": "number", "bounds": [-150, 17000]},
    "small": {"type": "number", "bounds": [0, 1]},
    "limit": {"type": "integer", "bounds": [0, 1_000_000]},
    "by logarithm": {"type": "number", "bounds": [0, 100_000], "scale": "log"},
}


def codec(**column):
    content = {"sfumato": 1, "name": "t", "columns": [{"name": "x", **column}]}
    return codes_of(Schema.from_dict(content).columns[0])


def slow_level(number: float, units: list[Decimal]) -> int:
    return max([place for place, unit in enumerate(units, 1) if Decimal(repr(number)) % unit == 0], default=0)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_the_level_of_a_number_is_that_of_its_coarsest_unit(column):
    codes = codec(**column)
    kinds = kinds_of(codes)
    units = [Decimal(repr(size_of(unit))) for unit in kinds.units]
    rng = np.random.default_rng(0)
    for number in rng.choice(codes.numbers, 300).tolist():
        if number not in codes.standing_out:
            step = codes.steps_of(np.array([number]))
            assert kinds.of_code[step][0] == slow_level(number, units)


@given(st.integers(3, 998), st.sampled_from([1, 5, 10, 50, 100]))
def test_a_value_that_is_a_multiple_is_of_that_unit_at_least(count, unit):
    codes = codec(type="number", bounds=[0, 100_000.5])
    kinds = kinds_of(codes)
    level = 1 + [size_of(one) for one in kinds.units].index(unit)
    code = codes.code_of(float(count * unit))
    assert kinds.of_code[code] >= level


def test_values_that_stand_out_are_silent():
    codes = codec(type="number", bounds=[0, 500], atoms=[99.5], missing=True)
    kinds = kinds_of(codes)
    for value in (0.0, 500.0, 99.5, None):
        assert kinds.of_code[codes.code_of(value)] == kinds.size - 1
    assert kinds.of_code[codes.code_of(100.0)] < kinds.size - 1


def test_so_are_whole_numbers_that_do():
    codes = codec(type="integer", bounds=[0, 500], atoms=[96])
    kinds = kinds_of(codes)
    assert [kinds.of_code[codes.code_of(value)] == kinds.size - 1 for value in (0, 500, 96, 100)] == [True] * 3 + [
        False
    ]


def test_days_have_a_weekday_and_a_place_in_their_month():
    codes = codec(type="date", bounds=["1960-01-01", "2030-12-31"])
    kinds = kinds_of(codes)
    for day in (
        dt.date(2024, 2, 29),
        dt.date(2023, 2, 28),
        dt.date(1969, 12, 31),
        dt.date(2000, 3, 1),
        dt.date(1965, 6, 15),
    ):
        place = 0 if day.day == 1 else 1 if (day + dt.timedelta(1)).day == 1 else 2
        assert kinds.of_code[codes.code_of(day)] == day.weekday() + 7 * place


def test_moments_have_a_weekday_and_a_round_hour():
    codes = codec(type="datetime", bounds=["2020-01-01T00:00:00", "2020-01-10T00:00:00"])
    kinds = kinds_of(codes)
    assert [size_of(unit) for unit in kinds.units] == [1, 60, 3600, 86400]
    for text, level in (("04T00:00:00", 4), ("04T07:00:00", 3), ("04T07:31:00", 2), ("05T07:31:05", 1)):
        moment = dt.datetime.fromisoformat(f"2020-01-{text}")
        assert kinds.of_code[codes.code_of(moment)] == moment.weekday() + 7 * level


@pytest.mark.parametrize(
    "column",
    [
        *COLUMNS.values(),
        {"type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
        {"type": "datetime", "bounds": ["2020-01-01T00:00:00", "2030-01-01T00:00:00"]},
        {"type": "datetime", "bounds": ["2020-01-01T00:00:00", "2020-01-01T00:00:00"]},
        {"type": "integer", "bounds": [7, 7]},
        {"type": "number", "bounds": [0, 9], "decimals": 2},
    ],
)
def test_kinds_are_counted_without_looking_at_codes(column):
    assert count_kinds(codec(**column)) == kinds_of(codec(**column)).size


def test_a_kind_depends_on_no_other_value():
    codes = codec(type="integer", bounds=[0, 40])
    assert kinds_of(codes).level == tuple(range(len(kinds_of(codes).units) + 1))
    one = codec(type="integer", bounds=[7, 7])
    assert kinds_of(one).units == ()
