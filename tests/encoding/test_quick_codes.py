"""Codes are what plain comparisons give, value by value, whatever short cuts are taken."""

import decimal
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import NumericCodec, codes_of
from sfumato.trusted.schema import Schema

COLUMNS = {
    "plain": "{name: x, type: number, bounds: [-3, 7]}",
    "atoms": "{name: x, type: number, bounds: [0, 1000], atoms: [0, 100, 333.3], missing: true}",
    "far from 0": "{name: x, type: number, bounds: [1000000, 1000001]}",
    "cents": "{name: x, type: number, bounds: [-3, 70], decimals: 2}",
    "cents, long": "{name: x, type: number, bounds: [-3, 70000], decimals: 2, missing: true}",
    "steps, log": "{name: x, type: number, bounds: [0.75, 1500000], step: 0.75, scale: log}",
    "log": "{name: x, type: number, bounds: [1, 1e6], scale: log, missing: true}",
    "log from 0": "{name: x, type: number, bounds: [0, 1e6], scale: log, atoms: [5]}",
    "log below 0": "{name: x, type: number, bounds: [-5, 1e9], scale: log, otherwise: 3}",
    "age": "{name: x, type: integer, bounds: [0, 120]}",
    "whole, long": "{name: x, type: integer, bounds: [-7, 10000000], missing: true}",
    "whole, even": "{name: x, type: integer, bounds: [0, 4194303]}",
    "whole, far": "{name: x, type: integer, bounds: [-2147483647, -1610612737]}",
    "whole, log": "{name: x, type: integer, bounds: [0, 1000000000], scale: log}",
    "whole, short log": "{name: x, type: integer, bounds: [1, 50], scale: log}",
    "whole, huge": "{name: x, type: integer, bounds: [0, 4000000000000000], missing: true}",
}
CODES = {
    name: codes_of(Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{text}]}}")["x"])
    for name, text in COLUMNS.items()
}


def obvious(codes: NumericCodec, value: float | None) -> int:
    """The code of one value, by the words of the class."""
    if value is None or math.isnan(value):
        return codes.otherwise if codes.missing is None else codes.missing
    if codes.unit is not None:
        value = value * 10.0**codes.unit.decimals / codes.unit.multiple
    number = min(max(float(np.rint(value)) if codes.whole else value, codes.low), codes.high)
    for place in reversed(range(len(codes.atoms))):
        if abs(number - codes.atoms[place]) <= codes._reach(codes.atoms[place]):
            return codes.steps + place
    if codes._by_table:
        return min(int(np.searchsorted(codes._table[1:-1], number, side="right")), codes.steps - 1)
    return min(int((number - codes.low) * (codes.steps / codes._range)), codes.steps - 1)


def telling(codes: NumericCodec, rng: np.random.Generator) -> list[float]:
    """Values around bounds, atoms and ends of steps, to the last digit, and some anywhere."""
    steps = np.unique(np.concatenate((rng.integers(0, codes.steps, 300), [0, 1, codes.steps - 1, codes.steps])))
    reaches = [atom + sign * codes._reach(atom) for atom in codes.atoms for sign in (-1, 1)]
    exact = codes.in_units(
        np.array([codes.low, codes.high, *codes.atoms, *reaches, *codes.ends(steps), *(codes.ends(steps) - 0.5)])
    ).tolist()
    beside = [math.nextafter(value, to) for value in exact for to in (-math.inf, math.inf)]
    inside = codes.in_units(codes.low + (codes.high - codes.low) * rng.random(300) ** 3).tolist()
    return [*exact, *beside, *inside, codes.low - 1e9, codes.high + 1e9, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", CODES)
def test_every_value_gets_the_code_that_comparisons_give(name):
    codes, rng = CODES[name], np.random.default_rng(0)
    values: list[float | None] = [*telling(codes, rng), None]
    expected = [obvious(codes, value) for value in values]
    assert codes.encode(pa.array(values, pa.float64())).tolist() == expected
    without = pa.array([value for value in values if value is not None and not math.isnan(value)], pa.float64())
    kept = [code for code, value in zip(expected, values, strict=True) if value is not None and not math.isnan(value)]
    assert codes.encode(without).tolist() == kept
    assert codes.encode(pa.array(values, pa.float64()).dictionary_encode()).tolist() == expected


@pytest.mark.parametrize("name", CODES)
def test_company_does_not_matter(name):
    """A value has the same code alone, among others and at every place of an array."""
    codes, rng = CODES[name], np.random.default_rng(1)
    values = telling(codes, rng)[:200]
    alone = [int(codes.encode(pa.array([value]))[0]) for value in values]
    for shift in (0, 1, 3, 5):
        together = codes.encode(pa.array([codes.low] * shift + values))
        assert together.tolist()[shift:] == alone


@pytest.mark.parametrize("name", ["whole, long", "whole, even", "whole, far"])
def test_whole_numbers_around_every_end_of_a_long_scale(name):
    codes = CODES[name]
    assert codes._sure
    ends = codes._table[np.random.default_rng(2).integers(0, len(codes._table), 20_000)]
    numbers = np.concatenate((ends - 1, ends, ends + 1, [codes.low, codes.high])).clip(codes.low, codes.high)
    expected = np.searchsorted(codes._table[1:-1], numbers, side="right").clip(max=codes.steps - 1)
    assert np.array_equal(codes.encode(pa.array(numbers.astype(np.int64))), expected)
    assert np.array_equal(codes.encode(pa.array(numbers)), expected)


@given(st.data(), st.sampled_from(list(CODES)), st.sampled_from([pa.float64(), pa.float32(), pa.int64(), pa.int16()]))
def test_what_lies_under_a_null_does_not_matter(data, name, storage):
    """Arrow leaves anything in memory where a value is null; slices begin anywhere in a byte of the bitmap."""
    numbers = st.floats(width=32) if pa.types.is_floating(storage) else st.integers(-(2**15), 2**15 - 1)
    values = data.draw(st.lists(st.tuples(numbers, st.booleans()), min_size=1, max_size=40))
    there = pa.array([known for _, known in values])
    lying = pa.array([value for value, _ in values], storage)
    array = pa.Array.from_buffers(storage, len(values), [there.buffers()[1], lying.buffers()[1]])
    start = data.draw(st.integers(0, len(values)))
    expected = [obvious(CODES[name], float(value) if known else None) for value, known in values]
    assert CODES[name].encode(array.slice(start)).tolist() == expected[start:]
    assert CODES[name].encode(array.slice(start).dictionary_encode()).tolist() == expected[start:]


@given(st.lists(st.none() | st.booleans(), max_size=40), st.integers(0, 20))
def test_truth_in_slices(values, start):
    codes = codes_of(Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: boolean, missing: true}]}")["x"])
    expected = [2 if value is None else int(value) for value in values]
    assert codes.encode(pa.array(values, pa.bool_()).slice(start)).tolist() == expected[start:]


@pytest.mark.parametrize(
    "storage", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32"]
)
@pytest.mark.parametrize("name", ["plain", "atoms", "age", "whole, long", "log"])
def test_every_storage_gives_the_same_codes(name, storage):
    numbers = [0, 1, 2, 3, 7, 50, 100, 119, 120, 121, 127]
    array = pa.array([*numbers, None], pa.float64()).cast(storage)
    assert CODES[name].encode(array).tolist() == [obvious(CODES[name], value) for value in [*numbers, None]]


@given(st.lists(st.none() | st.decimals(-1000, 10**8, places=3), max_size=30), st.sampled_from(list(CODES)))
def test_decimals_are_numbers(values, name):
    array = pa.array(values, pa.decimal128(20, 3))
    numbers = [None if value is None else float(decimal.Decimal(value)) for value in values]
    assert CODES[name].encode(array).tolist() == [obvious(CODES[name], value) for value in numbers]


@given(st.lists(st.none() | st.floats(allow_subnormal=True), max_size=40), st.sampled_from(list(CODES)))
def test_any_floats_at_all(values, name):
    codes = CODES[name]
    assert codes.encode(pa.array(values, pa.float64())).tolist() == [obvious(codes, value) for value in values]
