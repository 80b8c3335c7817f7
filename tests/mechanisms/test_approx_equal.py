"""Two questions are the same, the same but for last digits, or not the same."""

import dataclasses

import numpy as np
import pytest

from sfumato.fitting.approx_equal import approx_equal
from sfumato.fitting.mechanisms.mixture.design import build_design
from sfumato.trusted.feature_maps import (
    Boxes,
    ByRule,
    ByTarget,
    CentredProjection,
    FourierFeatures,
    Radii,
    ScaledColumns,
    Shells,
    Whitening,
)
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import ClassSums, Scatter, Stacked

NUMBERS = [{"name": name, "type": "number", "bounds": [0, 1]} for name in "ab"]
COLUMNS = Schema.from_dict({"sfumato": 1, "name": "t", "columns": NUMBERS}).by_name
PLACES = ScaledColumns.of(COLUMNS, ["a", "b"])
MATRIX, CENTRE = np.array([[8.0, 1.0], [2.0, 5.0]]), np.array([0.4, 0.6])
HERE = Whitening.of(MATRIX, CENTRE)
ALONG_ONE = Whitening.of(np.array([[8.0, 1.0], [0.0, 0.0]]), CENTRE)


def view(factor: float = 1.0, moved: float = 0.0) -> Whitening:
    """A whitening that is larger by a factor, and moved by so many of its units."""
    return Whitening.of(factor * MATRIX, CENTRE + np.linalg.inv(MATRIX) @ [moved, 0.0])


def asked(one, parting=None) -> ClassSums:
    parting = parting or ByTarget("y", 2)
    return ClassSums(PLACES, parting, (one,) * parting.size)


MAPS = {
    "waves": lambda factor: FourierFeatures.of(factor * np.array([[3.0], [40.0]]), 1.0),
    "hampel": lambda factor: build_design("hampel", view(factor), 500.0, 1.0),
    "lift": lambda factor: build_design("lift", view(factor), 500.0, 1.0),
    "shells": lambda factor: Shells.of(view(factor)),
    "radii": lambda factor: Radii(view(factor), (1.0, 4.0)),
    "boxes": lambda factor: Boxes(view(factor), 2, 8, 3.0),
}


@pytest.mark.parametrize("make", MAPS.values(), ids=MAPS)
def test_the_same_is_alike_and_another_is_not(make):
    assert approx_equal(asked(make(1.0)), asked(make(1.0)))
    assert approx_equal(asked(make(1.0)), asked(make(1 + 1e-7)))
    assert not approx_equal(asked(make(1.0)), asked(make(1.01)))


@pytest.mark.parametrize(("moved", "same"), [(0.0, True), (1e-4, True), (0.01, False)])
def test_a_centre_counts_in_whitened_units(moved, same):
    assert approx_equal(asked(Shells.of(view())), asked(Shells.of(view(moved=moved)))) == same


def test_a_rule_that_looks_along_few_axes_is_compared_along_these():
    first, near, far = (ByRule((HERE, ALONG_ONE), (0.0, offset)) for offset in (5.0, 5.0 + 1e-6, 5.1))
    boxes = Boxes(HERE, 1, 4, 3.0)
    assert approx_equal(asked(boxes, first), asked(boxes, near))
    assert not approx_equal(asked(boxes, first), asked(boxes, far))
    assert not approx_equal(asked(boxes, first), asked(boxes, ByRule((HERE, HERE), (0.0, 5.0))))


def test_other_kinds_sizes_and_columns_are_not_alike():
    shells = Shells.of(HERE)
    question = asked(shells)
    one_column = ScaledColumns.of(COLUMNS, ["a"])
    narrow = Shells.of(Whitening.of(np.eye(1), np.array([0.5])))
    others = [
        asked(MAPS["lift"](1.0)),
        asked(shells, ByTarget("y", 3)),
        asked(shells, ByTarget("z", 2)),
        asked(dataclasses.replace(shells, edges=shells.edges[:-1])),
        asked(dataclasses.replace(shells, edges=(*shells.edges[:-1], shells.edges[-1] * 1.01))),
        asked(Boxes(HERE, 2, 8, 3.0)),
        ClassSums(one_column, ByTarget("y", 2), (narrow, narrow)),
    ]
    assert not any(approx_equal(question, other) for other in others)
    assert not approx_equal(asked(Boxes(HERE, 2, 8, 3.0)), asked(Boxes(HERE, 2, 9, 3.0)))
    assert not approx_equal(asked(Radii(HERE, (1.0, 4.0))), asked(Radii(HERE, (1.0, 4.1))))
    assert not approx_equal(
        asked(MAPS["waves"](1.0)), asked(FourierFeatures.of(np.array([[3.0, 9.0], [40.0, 50.0]]), 1.0))
    )


def test_a_statistic_of_another_class_is_not_alike():
    other = Stacked((asked(Shells.of(HERE)),), (1.0,))
    assert approx_equal(other, other)
    assert not approx_equal(asked(Shells.of(HERE)), other)
    assert not approx_equal(other, asked(Shells.of(HERE)))


@pytest.mark.parametrize(("moved", "same"), [(0.0, True), (1e-6, True), (0.01, False)])
def test_wide_questions_are_alike_up_to_last_digits(moved, same):
    def scatter(shift: float) -> Scatter:
        directions = 0.9 * MATRIX + shift * MATRIX.max()
        return Scatter(
            CentredProjection.of(PLACES, ByTarget("y", 2), CENTRE + shift, directions), 2.0 + shift, apart=True
        )

    assert approx_equal(scatter(0.0), scatter(moved)) == same
