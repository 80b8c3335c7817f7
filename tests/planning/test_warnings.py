"""Warnings: each value on either side of its rule."""

import pytest

from sfumato.planning.warnings import warn_of


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((10, 1e-6, 1e5, 100), None),
        ((10.1, 1e-6, 1e5, 100), "epsilon 10.1 is above 10"),
        ((1, 1e-5, 100_000, 100), None),
        ((1, 1.1e-5, 100_000, 100), "above 1 over the 100,000 records"),
        ((1, 1e-6, 1_000, 99), None),
        ((1, 1e-6, 1_000, 101), "groups below 101 of the 1,000 records drown"),
        ((1, 1e-6, 200, 500), "200 records drown"),
        ((1, 0.5), None),
        ((1000, 1e-6), "epsilon 1000"),
    ],
)
def test_each_rule(values, words):
    found = warn_of(*values)
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def test_a_delta_is_advised_that_is_a_tenth_of_one_over_the_rows_or_less():
    (words,) = warn_of(1, 0.01, 20_000)
    assert "use 1e-06 or less" in words


def test_all_at_once():
    assert len(warn_of(50, 0.1, 100, 1e6)) == 3
