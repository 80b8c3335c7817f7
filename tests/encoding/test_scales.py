"""Where numbers lie on the scale of their column, from 0 to 1, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.encoding.test_codes import AGE, DAY, DEBT, HEAP, LONG, MOMENT, WAGE, codes

NONE = codes(type="number", bounds=[0, 5], scale="log")
COUNT = codes(type="integer", bounds=[0, 99], scale="log")
SCALES = {
    "linear": WAGE,
    "log": DEBT,
    "log from 0": NONE,
    "whole": AGE,
    "whole log": COUNT,
    "long whole": LONG,
    "long whole log": HEAP,
    "tenths": codes(type="number", bounds=[34, 43], decimals=1),
    "cents, log": codes(type="number", bounds=[0, 50_000], decimals=2, scale="log"),
    "days": DAY,
    "moments": MOMENT,
}
every = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)


def span(scale) -> float:
    """The length of a scale; the last whole number takes up its unit."""
    return scale.high - scale.low + scale.whole


@every
@given(share=st.floats(0, 1))
def test_places_and_numbers_are_inverse(scale, share):
    number = np.array([scale.low + share * span(scale)])
    assert scale.number_at(scale.place_of(number)) == pytest.approx(number, rel=1e-9, abs=1e-9 * span(scale))
    place = np.array([share])
    assert scale.place_of(scale.number_at(place)) == pytest.approx(place, abs=1e-9)


@every
def test_a_scale_goes_up_from_0_to_1(scale):
    ends = np.array([scale.low, scale.high + scale.whole])
    assert np.allclose(scale.place_of(ends), [0, 1], atol=1e-12)
    assert (np.diff(scale.place_of(np.linspace(*ends, 1000))) > 0).all()


def test_the_places_of_a_few_numbers():
    assert np.allclose(WAGE.place_of(np.array([-10.0, 495.0, 1000.0])), [0, 0.5, 1])
    assert np.allclose(DEBT.place_of(np.array([1.0, 1e3, 1e6])), [0, 0.5, 1])
    assert np.allclose(AGE.place_of(np.array([0.0, 50.0, 99.0])), [0, 0.5, 0.99])
    assert np.allclose(COUNT.place_of(np.array([0.0, 9.0, 100.0])), [0, np.log(10) / np.log(101), 1])


@every
def test_every_step_has_its_own_place(scale):
    """The middle of a step has the step's code; an atom has the place of its value."""
    rng = np.random.default_rng(0)
    drawn = np.unique(np.append(rng.integers(0, scale.steps, 5_000), [0, scale.steps - 1])).astype(np.int32)
    assert (scale.codes_at(scale.places[drawn]) == drawn).all()
    assert np.allclose(scale.number_at(scale.places[scale.steps :]), scale.atoms)
    assert len(scale.places) == scale.size - scale.nullable
    assert (np.diff(scale.places[: scale.steps]) > 0).all()


@every
def test_beyond_the_ends_lie_the_bounds(scale):
    low, high = (scale.encode(scale.write(np.array([end]), np.array([False])))[0] for end in (scale.low, scale.high))
    assert scale.codes_at(np.array([-1e9, -0.5, 0.0])).tolist() == [low] * 3
    assert scale.codes_at(np.array([1.0, 1.5, 1e9])).tolist() == [high] * 3


@every
def test_the_slope_adds_up_to_the_whole_scale(scale):
    """How much of the scale a unit takes up, over all units of the column, is the scale."""
    steps = np.arange(scale.steps, dtype=np.int32)
    assert (scale.slope(steps) * scale.width(steps)).sum() == pytest.approx(1)
    assert (scale.slope(steps) > 0).all()


@every
def test_the_slope_is_the_derivative(scale):
    steps = np.random.default_rng(1).integers(0, scale.steps, 200).astype(np.int32)
    left, right = scale.ends(steps), scale.ends(steps + 1)
    slowly = (scale.place_of(right) - scale.place_of(left)) / (right - left)
    assert np.allclose(scale.slope(steps), slowly, rtol=1e-9)


def test_the_slope_at_an_atom_is_that_of_its_step():
    atoms = WAGE.steps + np.arange(len(WAGE.atoms), dtype=np.int32)
    assert np.allclose(WAGE.slope(atoms), 1 / 1010)
    ends = DEBT.slope(np.array([DEBT.steps, DEBT.steps + 1], np.int32))  # 1 and 1e6
    assert np.allclose(ends, 1 / np.log(1e6) / np.array([1.0, 1e6]), rtol=1e-4)
