"""Columns of multiples: 37.3 goes in and 37.3 comes out, and what lies between goes to the nearest."""

import decimal
import math
import warnings
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.trusted.encoding import NumericCodec, codes_of
from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.decimals import roundest_between
from sfumato.trusted.encoding.multiples import Step
from sfumato.trusted.schema import Schema
from sfumato.trusted.schema.steps import written

COLUMNS = {
    "temperature": {"type": "number", "bounds": [34, 43], "decimals": 1},
    "price": {"type": "number", "bounds": [0, 9999.99], "decimals": 2, "missing": True},
    "quarters": {"type": "number", "bounds": [-3.75, 12], "step": 0.25, "otherwise": 0.5},
    "thirds of a dozen": {"type": "number", "bounds": [-2.8, 5.6], "step": 0.7, "atoms": [0.7]},
    "whole numbers as floats": {"type": "number", "bounds": [-5, 20], "decimals": 0},
    "limit": {"type": "integer", "bounds": [-50000, 1000000], "step": 10000},
    "short log": {"type": "number", "bounds": [0, 50], "decimals": 1, "scale": "log"},
    "turnover": {"type": "number", "bounds": [-1000, 900000], "decimals": 2, "atoms": [99.99], "missing": True},
    "turnover, log": {"type": "number", "bounds": [0, 50000], "decimals": 2, "scale": "log"},
    "long, uneven": {"type": "number", "bounds": [-1750000, 1750000.35], "step": 0.35},
    "whole, long": {"type": "integer", "bounds": [0, 2**40], "step": 4},
}
LONG = {"turnover", "turnover, log", "long, uneven", "whole, long"}


def codes(**column) -> NumericCodec:
    found = codes_of(Schema.from_dict({"sfumato": 1, "name": "t", "columns": [{"name": "x", **column}]})["x"])
    assert isinstance(found, NumericCodec)
    return found


CODES = {name: codes(**column) for name, column in COLUMNS.items()}
every = pytest.mark.parametrize("name", CODES)


def spacing(name: str) -> Fraction:
    column = COLUMNS[name]
    return Fraction(1, 10 ** column["decimals"]) if "decimals" in column else written(column["step"])


def some_codes(scale: NumericCodec) -> np.ndarray:
    rng = np.random.default_rng(1)
    around = scale.steps_of(np.array(scale.standing_out))
    drawn = np.concatenate((rng.integers(0, scale.steps, 2_000), around, around + 1, around - 1, [0, scale.steps - 1]))
    return np.unique(drawn.clip(0, scale.steps - 1)).astype(np.int32)


@every
def test_a_code_comes_back_from_its_value(name):
    scale, drawn = CODES[name], some_codes(CODES[name])
    for inside in (0.0, 0.5, 1 - 2**-53):
        values = scale.decode(drawn, np.full(len(drawn), inside))
        assert (scale.encode(values) == drawn).all()
    for upper in (False, True):
        assert (scale.encode(scale.edges(drawn, upper=upper)) == drawn).all()


@every
def test_values_come_back_as_the_shortest_decimals(name):
    """The float64 nearest to a multiple, and no other, prints as the multiple."""
    scale, drawn = CODES[name], some_codes(CODES[name])
    for value in scale.decode(drawn, np.zeros(len(drawn))).to_pylist():
        assert (Fraction(repr(value)) / spacing(name)).denominator == 1


@every
def test_every_multiple_has_a_code_of_its_own_where_there_are_codes_enough(name):
    scale, (low, high) = CODES[name], COLUMNS[name]["bounds"]
    assert scale.whole
    assert scale.exact == (name not in LONG)
    assert scale.atoms == ()
    if scale.exact:
        assert scale.size == (written(high) - written(low)) / spacing(name) + 1 + scale.nullable
        assert scale.decode(np.arange(scale.steps), np.zeros(scale.steps))[0].as_py() == low
        assert scale.decode(np.arange(scale.steps), np.zeros(scale.steps))[-1].as_py() == high


@every
@given(share=st.floats(0, 1))
def test_a_value_goes_to_the_nearest_multiple(name, share):
    scale, (low, high), step = CODES[name], COLUMNS[name]["bounds"], spacing(name)
    value = low + share * (high - low)
    count = np.rint(scale.read(pa.array([value])).values)[0]
    away = abs(Fraction(value) - int(count) * step)
    assert away <= step / 2 * (1 + Fraction(1, 2**20)) + abs(Fraction(value)) / 2**50
    exact = Fraction(float(Fraction(value) * 10 ** Step.of(step).decimals)) / Step.of(step).multiple
    assert count == round(Fraction(float(exact)))  # both round a half to the even count
    assert scale.encode(pa.array([value]))[0] == scale.steps_of(np.array([count]))[0]


@given(decimals=st.integers(0, 6), text=st.decimals(-999, 999, places=9))
def test_a_written_decimal_is_rounded_as_decimals_are_but_for_ties(decimals, text):
    unit = decimal.Decimal(10) ** -decimals
    nearest = text.quantize(unit, decimal.ROUND_HALF_EVEN)
    assume(abs(abs(text - nearest) - unit / 2) > unit * decimal.Decimal("1e-6"))
    scale = codes(type="number", bounds=[-1000, 1000], decimals=decimals)
    assert np.rint(scale.read(pa.array([float(text)])).values)[0] == int(nearest / unit)


@every
@given(shares=st.lists(st.floats(-0.1, 1.1), min_size=2, max_size=20))
def test_codes_go_up_with_values(name, shares):
    scale, (low, high) = CODES[name], COLUMNS[name]["bounds"]
    values = np.sort(low + np.array(shares) * (high - low))
    assert (np.diff(scale.encode(pa.array(values))) >= 0).all()


@given(multiple=st.integers(1, 2**30), decimals=st.integers(0, 15), share=st.floats(-1, 1))
def test_counts_and_numbers_are_inverse(multiple, decimals, share):
    step = Step(multiple, decimals)
    count = float(math.trunc(share * 2**50 / multiple))
    number = step.numbers(np.array([count]))
    assert number[0] == float(Fraction(int(count) * multiple, 10**decimals))
    assert np.rint(step.counts(number))[0] == count
    assert step.settled(step.counts(number))[0] == count


@given(
    multiple=st.sampled_from([1, 5, 7, 25, 100, 10_000]),
    left=st.integers(-(10**6), 10**6),
    width=st.integers(1, 5_000),
)
def test_the_roundest_multiple_of_an_interval(multiple, left, width):
    """The one that the coarsest of the units 1, 5, 10, 50 ... divides, nothing being rounder than 0."""

    def roundness(count: int) -> float:
        units = [k * 10**e for e in range(12) for k in (1, 5)]
        return math.inf if count == 0 else max(unit for unit in units if count * multiple % unit == 0)

    ends = np.array([float(left)]), np.array([float(left + width)])
    found = int(roundest_between(*ends, Step(multiple, 2).chain)[0])
    assert left <= found < left + width
    assert roundness(found) == max(map(roundness, range(left, left + width)))


def test_ties_go_to_the_even_multiple():
    scale = codes(type="number", bounds=[0, 10], step=0.25)
    assert scale.decode(scale.encode(pa.array([0.125, 0.375, 0.625])), np.zeros(3)).to_pylist() == [0.0, 0.5, 0.5]


@every
def test_storage_does_not_matter(name):
    scale = CODES[name]
    drawn = some_codes(scale)[:300]
    values = scale.decode(drawn, np.zeros(len(drawn))).to_pylist()
    expected = scale.encode(pa.array(values)).tolist()
    texts, decimals = [repr(value) for value in values], [decimal.Decimal(repr(value)) for value in values]
    for array in (pa.array(texts), pa.array(decimals), cells_of(values), pa.array(texts).dictionary_encode()):
        assert scale.encode(array).tolist() == expected
    if name not in LONG:
        assert scale.encode(pa.array(np.array(values, dtype=np.float32))).tolist() == expected
    for value, code in zip(values, expected, strict=True):
        assert scale.encode(pa.array([value])).tolist() == [code]
        assert scale.code_of(value) == scale.code_of(repr(value)) == code


@every
def test_no_value_is_told_of_by_a_warning(name):
    scale = CODES[name]
    signalling = np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf4\x7f", dtype=np.float64)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scale.encode(pa.array([1e308, -1e308, math.inf, 5e-324, math.nan, signalling, None]))
    absent = scale.otherwise if scale.missing is None else scale.missing
    low, high = scale.lowest_and_highest
    assert found.tolist() == [high, low, high, scale.code_of(0) or 0, absent, absent, absent]


@pytest.mark.parametrize("value", [0.29, 0.57, 1.1, 1.15, 4.35, 9.99])
def test_a_public_value_is_the_multiple_that_it_writes(value):
    """0.29 * 100 is 28.999999999999996 in float64."""
    scale = codes(type="number", bounds=[0, value], decimals=2)
    assert scale.number_of(value) == scale.number_of(np.float32(value)) == round(value * 100)
    assert scale.code_of(value) == scale.steps - 1
    assert scale.code_of(value + 0.01) is None


def test_an_integer_step_of_one_says_nothing():
    assert codes(type="integer", bounds=[0, 9], step=1) == codes(type="integer", bounds=[0, 9])


@every
def test_limits_between_multiples_still_give_one(name):
    """A user may ask for 5.123 in a column of cents: it is read as 5.12, and 5.12 comes back."""
    scale, code = CODES[name], np.array([CODES[name].steps // 3], dtype=np.int32)
    number = scale.ends(code)[0] + 0.3
    value = scale.decode(code, np.zeros(1), (number, number))[0].as_py()
    assert (Fraction(repr(value)) / spacing(name)).denominator == 1
    assert scale.code_of(value) == code[0]


def test_a_code_of_several_multiples_is_written_as_its_roundest():
    scale = CODES["turnover"]
    for value in (120.0, 250_000.0, 99.99):
        inside = scale.decode(scale.encode(pa.array([value] * 2)), np.array([0.0, 0.99])).to_pylist()
        assert inside == [value, value]
