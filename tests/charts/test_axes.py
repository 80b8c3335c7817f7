"""Axes: round ticks between the ends, and marks where the data say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.artefact.risk import Risk
from sfumato.charts.axes import Axes, Axis, plain_number
from sfumato.reports.risk_chart import risk_chart


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 10))
def test_ticks_lie_between_the_ends_and_are_few(low, length, most):
    axis = Axis(low, low + length)
    ticks = axis.ticks(most)
    assert 1 <= len(ticks) <= most + 1
    assert all(low - length * 1e-6 <= tick <= low + length * 1.000001 for tick in ticks)


@given(st.floats(1e-6, 1e3), st.floats(2, 1e9), st.integers(3, 10))
def test_ticks_of_a_log_axis_lie_between_the_ends(low, factor, most):
    ticks = Axis(low, low * factor, log=True).ticks(most)
    assert 1 <= len(ticks) <= most
    assert all(low * 0.999 <= tick <= low * factor * 1.001 for tick in ticks)


def test_ticks_as_a_person_would_set_them():
    assert Axis(0, 1).ticks(6) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert Axis(0.1, 10, log=True).ticks(8) == pytest.approx([0.1, 0.2, 0.5, 1, 2, 5, 10])
    assert [plain_number(v) for v in (0, 0.05, 12, 1000, 2_500_000)] == ["0", "0.05", "12", "1,000", "2.5M"]


def test_a_value_in_the_middle_lies_in_the_middle():
    assert Axis(10, 20).share(15) == 0.5
    assert Axis(1, 100, log=True).share(10) == pytest.approx(0.5)
    assert Axis(1, 100, log=True).share(0) == 0
    axes = Axes(Axis(0, 1), Axis(0, 1), "t", width=100, height=100, left=10, bottom=10)
    assert axes.at(0, 0) == (10, 90)
    assert axes.at(1, 1) == (80, 12)


def test_labels_are_escaped():
    drawn = Axes(Axis(0, 1, "<b>"), Axis(0, 1), "<script>").picture()
    assert "<b>" not in drawn
    assert "<script>" not in drawn


def test_the_risk_is_drawn_above_blind_guessing():
    assert "blind guessing" in risk_chart(Risk(0.5))
