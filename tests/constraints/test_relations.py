"""Relations as people write them."""

import pytest

from sfumato.trusted.schema.relations import Equation, Inequality, Limit, parse_relation


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a >= b", Inequality("a", "b", 0.0, False)),
        ("a < b", Inequality("b", "a", 0.0, True)),
        ("a > b + 2", Inequality("a", "b", 2.0, True)),
        ("a <= b - 1.5", Inequality("b", "a", 1.5, False)),
        ("length of stay >= days-in icu", Inequality("length of stay", "days-in icu", 0.0, False)),
        ("age >= 18", Limit("age", "18", False, False)),
        ("18 <= age", Limit("age", "18", False, False)),
        ("day < 2020-01-31", Limit("day", "2020-01-31", True, True)),
        ("age = 2026 - born", Equation("age", 2026.0, ((-1.0, "born"),))),
        ("net = gross - 0.5 * tax + tips / 4", Equation("net", 0.0, ((1.0, "gross"), (-0.5, "tax"), (0.25, "tips")))),
        ("age = years(seen - born)", Equation("age", 0.0, ((1.0, "seen"), (-1.0, "born")), years=True)),
        ("x = `a + b` + c", Equation("x", 0.0, ((1.0, "a + b"), (1.0, "c")))),
    ],
)
def test_a_text_is_read_as_meant(text, meant):
    assert parse_relation(text) == meant


@pytest.mark.parametrize(
    "text",
    ["", "a", "a >=b", "a >= b >= c", "a = 3", "a = b + b", "a >= b + c", "a >= 2 * b", "a = years(b)", "a = b * c"],
)
def test_what_is_no_relation_is_refused_with_a_cure(text):
    with pytest.raises(ValueError, match=r"write|add up"):
        parse_relation(text)
