"""Every value has a code (threats 5, 6, 16), and a code gives the value back to within one step of the scale."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import NumericCodec, codes_of
from sfumato.trusted.encoding import codes as codes_module
from sfumato.trusted.encoding.scales import STEPS
from sfumato.trusted.schema import Schema


def codes(**column):
    return codes_of(Schema.from_dict({"sfumato": 1, "name": "t", "columns": [{"name": "x", **column}]}).columns[0])


AGE = codes(type="integer", bounds=[0, 99])
WAGE = codes(type="number", bounds=[-10, 1000], atoms=[100])
DEBT = codes(type="number", bounds=[1, 1e6], scale="log", missing=True)
HEAP = codes(type="integer", bounds=[0, 10**9], scale="log")
LONG = codes(type="integer", bounds=[10_000, 1_500_000])
DAY = codes(type="date", bounds=["2020-01-01", "2020-12-31"])
MOMENT = codes(type="datetime", bounds=["2020-01-01", "2024-12-31"])
JOB = codes(type="category", values=["nurse", "cook", "clerk"])
MEMBER = codes(type="boolean", missing=True)
ALL = {
    "age": AGE,
    "wage": WAGE,
    "debt": DEBT,
    "heap": HEAP,
    "long": LONG,
    "day": DAY,
    "moment": MOMENT,
    "job": JOB,
    "member": MEMBER,
}


def code(book, value) -> int:
    return int(book.encode(pa.array([value]))[0])


def value(book, number, inside=0.5):
    return book.decode(np.array([number], np.int32), np.array([inside]))[0].as_py()


class TestRules:
    def test_sizes(self):
        assert AGE.size == 100
        assert WAGE.size == STEPS + 4  # -10, 0, 100, 1000
        assert DEBT.size == STEPS + 2 + 1
        assert JOB.size == 3
        assert MEMBER.size == 3

    def test_outside_the_bounds_is_clamped(self):
        assert code(AGE, -5) == code(AGE, 0) == 0
        assert code(AGE, 10**12) == code(AGE, np.inf) == 99
        assert code(WAGE, -np.inf) == code(WAGE, -10)
        assert code(DAY, dt.date(1800, 1, 1)) == 0

    def test_null_and_unreadable_go_where_the_schema_says(self):
        assert code(AGE, "x") == code(AGE, None) == code(AGE, np.nan) == AGE.otherwise == 50
        assert code(DEBT, None) == code(DEBT, "x") == DEBT.missing
        assert code(JOB, None) == code(JOB, "pilot") == 2
        assert code(MEMBER, "perhaps") == code(MEMBER, None) == 2
        chosen = codes(type="category", values=["a", "b"], missing=True, otherwise="a")
        assert (code(chosen, "z"), code(chosen, None)) == (0, 2)
        placed = codes(type="number", bounds=[0, 1], missing=True, otherwise=0.0)
        assert (code(placed, "z"), code(placed, None)) == (STEPS, placed.missing)
        assert code(codes(type="boolean", otherwise=True), "perhaps") == 1
        assert code(codes(type="boolean"), "perhaps") == 0

    def test_fractions_of_whole_numbers_are_rounded(self):
        assert code(AGE, 3.4) == 3
        assert code(AGE, "3.6") == 4

    def test_atoms_have_their_own_code_even_in_float32(self):
        assert WAGE.atoms == (-10, 0, 100, 1000)
        assert code(WAGE, 100.0) == STEPS + 2
        assert code(WAGE, 100.01) < STEPS
        tenth = codes(type="number", bounds=[0, 1], atoms=[0.1])
        assert tenth.encode(pa.array([0.1], pa.float32()))[0] == STEPS + 1
        assert value(tenth, STEPS + 1) == 0.1

    def test_a_log_scale_spends_its_steps_evenly_over_powers(self):
        steps = DEBT.encode(pa.array([1.0001, 10.0, 1e3, 1e5]))
        assert np.allclose(np.diff(steps) / STEPS, [1 / 6, 1 / 3, 1 / 3], atol=1e-3)

    def test_lists_of_0_and_1_are_not_taken_for_truth(self):
        numbers = codes(type="category", values=[0, 1], missing=True)
        assert (code(numbers, "yes"), code(numbers, 1), code(numbers, "1")) == (2, 1, 1)

    def test_categories_come_in_any_type(self):
        numbers = codes(type="category", values=[1, 2, 3])
        assert [code(numbers, x) for x in (2, 2.0, "2")] == [1, 1, 1]
        assert value(numbers, 1) == 2
        mixed = codes(type="category", values=["a", 1])
        assert value(mixed, 1) == "1"

    def test_one_public_value_has_a_code_or_none(self):
        assert AGE.code_of(7) == 7
        assert AGE.code_of("7") == 7
        assert AGE.code_of(100) is None
        assert AGE.code_of(object()) is None
        assert AGE.code_of(None) is None
        assert DEBT.code_of(None) == DEBT.missing
        assert JOB.code_of("pilot") is None
        assert MEMBER.code_of(True) == MEMBER.code_of("yes") == 1


@given(st.integers(0, 99))
def test_short_whole_numbers_come_back_exactly(x):
    assert value(AGE, code(AGE, x)) == x


@given(st.floats(-10, 1000), st.floats(0, 1, exclude_max=True))
def test_numbers_come_back_to_within_a_step(x, inside):
    assert abs(value(WAGE, code(WAGE, x), inside) - x) <= 1010 / STEPS * (1 + 1e-9)


@given(st.floats(1, 1e6), st.floats(0, 1, exclude_max=True))
def test_numbers_on_a_log_scale_come_back_to_within_a_ratio(x, inside):
    assert value(DEBT, code(DEBT, x), inside) == pytest.approx(x, rel=2 * np.log(1e6) / STEPS)


@given(st.integers(10_000, 1_500_000), st.floats(0, 1, exclude_max=True))
def test_long_whole_numbers_come_back_to_within_a_step(x, inside):
    assert abs(value(LONG, code(LONG, x), inside) - x) <= 2


@given(st.integers(0, 10**9))
def test_whole_numbers_on_a_log_scale_come_back_near(x):
    assert value(HEAP, code(HEAP, x)) == pytest.approx(x, rel=1e-3, abs=1)


@given(st.dates(dt.date(2020, 1, 1), dt.date(2020, 12, 31)))
def test_days_come_back_exactly(x):
    assert value(DAY, code(DAY, x)) == x


@given(st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2024, 12, 31)))
def test_moments_come_back_to_within_minutes(x):
    assert abs(value(MOMENT, code(MOMENT, x)) - x) < dt.timedelta(minutes=4)


@pytest.mark.parametrize("book", ALL.values(), ids=ALL)
def test_every_code_decodes_to_a_value_that_has_that_code(book):
    """Also to a value inside the bounds: a sample never leaves them."""
    rng = np.random.default_rng(0)
    drawn = np.unique(np.append(rng.integers(0, book.size, 2_000), [0, book.size - 1])).astype(np.int32)
    for inside in (np.zeros(len(drawn)), rng.random(len(drawn)), np.full(len(drawn), 1 - 2.0**-53)):
        again = book.encode(book.decode(drawn, inside))
        if isinstance(book, NumericCodec) and not book.exact:
            assert ((np.abs(again - drawn) <= 1) | (again >= book.steps) | (drawn >= book.steps)).all()
        else:
            assert (again == drawn).all()


HOSTILE = [
    np.nan,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    5e-324,
    -5e-324,
    0.0,
    -0.0,
    2.0**53,
    1e-300,
    np.nextafter(1000, 2000),
]


@pytest.mark.parametrize("book", [AGE, WAGE, DEBT, HEAP, LONG], ids=["age", "wage", "debt", "heap", "long"])
def test_two_million_hostile_numbers_each_have_one_code(book):
    """Threat 5: a record adds one to one cell whatever its values are. No row over, none lost, no exception."""
    rng = np.random.default_rng(1)
    bits = np.frombuffer(rng.bytes(8 * 400_000), dtype=np.float64)
    values = np.concatenate((np.tile(HOSTILE, 100), bits))
    encoded = book.encode(pa.array(values))
    assert encoded.dtype == np.int32
    assert encoded.min() >= 0
    assert encoded.max() < book.size
    assert np.bincount(encoded, minlength=book.size).sum() == len(values)


@pytest.mark.parametrize("book", ALL.values(), ids=ALL)
def test_a_value_never_sees_its_neighbours(book):
    """The lattice: the same values in other batches, orders and alignments get the same codes to the last bit."""
    rng = np.random.default_rng(2)
    values = rng.lognormal(3, 4, 5_000)
    array = (
        pa.array(values)
        if isinstance(book, NumericCodec) and not book.dated
        else pa.array(rng.integers(0, 4, 5_000).astype(str))
    )
    whole = book.encode(array)
    for shift in (1, 3, 7, 1001):
        assert (book.encode(array.slice(shift)) == whole[shift:]).all()
    order = rng.permutation(5_000)
    assert (book.encode(array.take(pa.array(order))) == whole[order]).all()


def test_columns_of_other_names_share_codes_and_those_of_other_types_do_not():
    texts = [
        "{name: a, type: category, values: [1, 2]}",
        "{name: b, type: category, values: [1, 2]}",
        "{name: c, type: category, values: [1.0, 2.0]}",
        "{name: d, type: category, values: [1, 2], missing: true}",
    ]
    schema = Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{', '.join(texts)}]}}")
    a, b, c, d = (codes_of(column) for column in schema.columns)
    assert a is b
    assert [type(value) for value in c.plain] == [float, float]
    assert [type(value) for value in a.plain] == [int, int]
    assert d.size == 3


def test_codes_of_a_column_are_found_again_without_a_look_at_its_list(monkeypatch):
    column = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: category, values: [a, b]}]}").columns[0]
    first = codes_of(column)
    monkeypatch.delattr(codes_module, "_codes_like")
    assert codes_of(column) is first
    with pytest.raises(NameError):
        codes_of(column.model_copy())
