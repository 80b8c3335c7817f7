"""Steps, words for truth, and columns that are left out: what a schema takes and what it refuses, with the cure."""

from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.errors import SchemaError
from sfumato.trusted.schema import Schema


def schema_of(column: str, more: str = "") -> Schema:
    return Schema.from_yaml(f"sfumato: 1\nname: t\ncolumns:\n  - {{name: x, {column}}}\n{more}")


@pytest.mark.parametrize(
    ("column", "spacing"),
    [
        ("type: number, bounds: [0, 99.99], decimals: 2", Fraction(1, 100)),
        ("type: number, bounds: [0, 99], decimals: 0", Fraction(1)),
        ("type: number, bounds: [34.1, 43.3], step: 0.1", Fraction(1, 10)),
        ("type: number, bounds: [0, 1.0e-5], step: 1.0e-6", Fraction(1, 10**6)),
        ("type: integer, bounds: [0, 1000000], step: 10000", Fraction(10_000)),
        ("type: integer, bounds: [0, 9], step: 1", None),
        ("type: number, bounds: [0, 9]", None),
    ],
)
def test_a_step_is_the_decimal_that_is_written(column, spacing):
    schema = schema_of(column)
    assert schema["x"].spacing == spacing
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.integers(0, 9))
def test_bounds_that_are_written_as_multiples_are_multiples(low, more, decimals):
    bounds = [f"{Fraction(count, 10**decimals).__float__():.{decimals}f}" for count in (low, low + more)]
    assert schema_of(f"type: number, bounds: [{', '.join(bounds)}], decimals: {decimals}")


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("type: integer, bounds: [18, 99], step: 5", r"\[18, 99\] are not multiples of 5 \(step\); write \[15, 100\]"),
        ("type: number, bounds: [0.05, 1], decimals: 1", r"not multiples of 0.1 \(decimals\); write \[0, 1\]"),
        ("type: number, bounds: [0, 1], decimals: 1, step: 0.1", "keep one of them"),
        ("type: number, bounds: [0, 1], step: 0", "not above 0"),
        ("type: integer, bounds: [0, 4], step: -2", "not above 0"),
        ("type: integer, bounds: [0, 4], step: 0.5", "not a whole number"),
        ("type: integer, bounds: [0, 4], decimals: 1", "does not belong here"),
        ("type: number, bounds: [0, 1], decimals: 16", "less than or equal to 15"),
        ("type: number, bounds: [0, 10000000], decimals: 9", "more digits than a float64"),
        ("type: number, bounds: [0, 1], step: 1.0e-17", "more digits than a float64"),
        ("type: number, bounds: [0, 10], step: 0.25, atoms: [1.3]", r"atoms: 1.3 is not a multiple .* write 1.25, say"),
        ("type: number, bounds: [0, 10], step: 0.25, otherwise: 9.99", "otherwise: 9.99 is not a multiple"),
    ],
)
def test_what_is_no_multiple_is_refused_with_the_cure(column, told):
    with pytest.raises(SchemaError, match=told):
        schema_of(column)


@pytest.mark.parametrize("words", ['["no", "yes"]', "[Nein, Ja]", '["0", "1"]', "[0, 1]", "[Faux, Vrai]", "[f, m]"])
def test_words_go_out_and_come_back(words):
    schema = schema_of(f"type: boolean, words: {words}")
    assert Schema.from_yaml(schema.to_yaml()) == schema


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("[no, yes]", "put it in quotes"),
        ('["yes", "no"]', "'yes' is read as true in every table; write the word for false first"),
        ("[m, F]", "'f' is read as false"),
        ("[1, 2]", "'1' is read as true"),
        ("[0, 2]", "only 0 and 1 may be numbers"),
        ("[nan, da]", "only 0 and 1 may be numbers"),
        ("[0x1f, da]", "only 0 and 1 may be numbers"),
        ("[' ', da]", "is empty"),
        ("[Da, ' dA']", "read the same"),
        ("[da]", "two values|required"),
        ("[FILL, FILL]", "FILL stands for"),
    ],
)
def test_words_that_would_be_read_otherwise_are_refused(words, told):
    with pytest.raises(SchemaError, match=told):
        schema_of(f"type: boolean, words: {words}")


def test_columns_can_be_left_out_by_name():
    schema = schema_of("type: boolean", "leave_out: [patient_id, notes]\n")
    assert schema.leave_out == ("patient_id", "notes")
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert schema.read == ("x",)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("leave_out: [x]", "'x' is described among the columns and is read; take it off one of the two"),
        ("leave_out: [p]\nunit: {column: p, records: 2}", "'p' is the unit's and is read"),
        ("leaveout: [p]", "did you mean 'leave_out'"),
    ],
)
def test_a_column_is_read_or_left_out(more, told):
    with pytest.raises(SchemaError, match=told):
        schema_of("type: boolean", f"{more}\n")


def test_leaving_out_changes_nothing_of_a_release():
    table = pa.table({"x": [True, False] * 200, "notes": ["a", "b"] * 200})
    settings = {"epsilon": 3, "delta": 1e-5, "ledger": None, "seed": 1, "types": "declared"}
    one, other = (
        sfumato.release(table, schema_of("type: boolean", more), **settings) for more in ("", "leave_out: [notes]\n")
    )
    assert one.sample(50, seed=1) == other.sample(50, seed=1)
    for here, there in zip(one.measurements, other.measurements, strict=True):
        assert (here.values == there.values).all()


@pytest.mark.parametrize("key", ["decimals: 2", "step: 5"])
def test_multiples_need_bounds_that_are_known(key):
    columns = f"{{name: x, type: number, bounds: estimate, {key}}}"
    with pytest.raises(SchemaError, match="needs bounds that are known"):
        Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{columns}]}}")
