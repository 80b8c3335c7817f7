"""Values in the order that people expect."""

import pytest

from sfumato.charts.natural_order import natural_order


def ordered(values):
    places = natural_order(values)
    return None if places is None else [values[place] for place in places]


@pytest.mark.parametrize(
    "expected",
    [
        ["January", "February", "March", "April", "December"],
        ["jan", "feb", "sep"],
        ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
        ["never", "former", "current"],
        ["low", "medium", "high"],
        ["0-9", "10-19", "20-29", "100+"],
        ["under 20", "20-29", "30 and more"],
        ["< 5", "5 to 10", "10 to 50"],
        [1, 2, 3, 10, 20],
        ["1", "2", "10"],
        ["-5", "0", "2.5"],
        [False, True],
    ],
)
def test_lists_with_an_order_keep_it(expected):
    for start in (expected, expected[::-1], sorted(expected, key=str)):
        assert ordered(start) == expected


@pytest.mark.parametrize(
    "values",
    [
        ["surgery", "maternity"],
        ["HS-grad", "9th", "Bachelors"],
        ["January", "surgery"],
        ["a1", "b1", "c1"],
        ["one"],
        [],
        ["May", "may"],
    ],
)
def test_other_lists_have_none(values):
    assert natural_order(values) is None
