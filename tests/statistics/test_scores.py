"""Scores against a slow, obvious version."""

import json
import math

import numpy as np
import pytest

from sfumato.trusted.feature_maps import Hampel, Lift, RadialWeight
from sfumato.trusted.feature_maps.bounded_map import UNIT, amplitude, map_from_content
from tests.statistics.making import DIMENSIONS, STRENGTHS, a_map
from tests.statistics.reaching import END, draw


def kappa(damping: RadialWeight, t: float) -> float:
    """The damping by straight lines between nodes."""
    ends = [2.0 ** (damping.start + octave) for octave in range(20)]
    nodes = [end * (1 + i / 64) - ends[0] for end in ends for i in range(64)]
    return float(np.interp(t, [*nodes, 2 * ends[-1] - ends[0]], damping.nodes / 2.0**27))


def whitened(one: Hampel | Lift, record: list[int]) -> list[float]:
    matrix, centre = one.whitening.exact_matrix.tolist(), one.whitening.centre.tolist()
    return [sum(m * (x - c) / END for m, x, c in zip(row, record, centre, strict=True)) for row in matrix]


def svec(matrix: list[list[float]]) -> list[float]:
    size = range(len(matrix))
    return [matrix[i][j] * (1 if i == j else math.sqrt(2)) for i in size for j in size if i <= j]


def slow_hampel(one: Hampel, record: list[int]) -> list[float]:
    z = whitened(one, record)
    d, t = len(z), sum(entry * entry for entry in z)
    nu = math.sqrt(one.a**2 * t + one.b**2 * t**2 * (1 - 1 / d) + one.e**2 * (t - one.c * d) ** 2 / d)
    k = min(max(kappa(one.damping, t), 0.0), math.sqrt(1 - one.w**2) / nu)
    off = [[x * y - (t / d if i == j else 0.0) for j, y in enumerate(z)] for i, x in enumerate(z)]
    return [
        one.w,
        *(k * one.a * entry for entry in z),
        *(k * one.b * entry for entry in svec(off)),
        k * one.e * (t - one.c * d) / math.sqrt(d),
    ]


def slow_lift(one: Lift, record: list[int]) -> list[float]:
    z = whitened(one, record)
    u, t = [one.h, *z], sum(entry * entry for entry in z)
    k = min(max(kappa(one.damping, t), 0.0), 1 / (one.h**2 + t))
    return [k * entry for entry in svec([[x * y for y in u] for x in u])]


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("kind", "slow"), [("hampel", slow_hampel), ("lift", slow_lift)])
def test_it_is_the_formula(kind, slow, d, strength):
    one = a_map(kind, d, strength)
    places = draw(one, np.random.default_rng(d), 60)
    found, block = one(places)
    expected = amplitude(one.width) * np.array([slow(one, record) for record in places.astype(np.int64).T.tolist()]).T
    assert np.all(np.abs(found - expected) <= 1 + 1e-9 * np.abs(expected))
    assert found.shape == (one.width, 60)
    assert not block.any()


@pytest.mark.parametrize("kind", ["hampel", "lift"])
def test_a_record_at_the_centre_has_no_direction(kind):
    one = a_map(kind, 3)
    values = one(one.whitening.centre[:, None].astype(np.float64)).values[:, 0]
    assert values[0] > 0
    assert not values[1:10].any()


@pytest.mark.parametrize("kind", ["hampel", "lift"])
def test_a_record_out_of_sight_counts_at_most_for_its_class(kind):
    one = a_map(kind, 1)
    far = np.array([[0.0, END]])
    t = (one.whitening(far) ** 2).min()
    assert t > 10_000
    values = one(far).values
    assert values[0].max() <= (one.w if kind == "hampel" else 1e-3) * UNIT


@pytest.mark.parametrize("kind", ["hampel", "lift"])
def test_scores_survive_json(kind):
    one = a_map(kind, 3)
    again = map_from_content(json.loads(json.dumps(one.to_dict())))
    assert again.to_dict() == one.to_dict()
    places = draw(one, np.random.default_rng(0), 50)
    assert np.array_equal(again(places).values, one(places).values)
