"""No map gives a vector longer than one unit, nor two that are farther apart than it claims."""

import dataclasses
import math

import numpy as np
import pytest

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.feature_maps import FourierFeatures, Hampel, Lift, Shells
from sfumato.trusted.feature_maps.bounded_map import UNIT, Vectors, amplitude, whole
from tests.statistics.making import DIMENSIONS, KINDS, STRENGTHS, a_map
from tests.statistics.reaching import END, draw, farthest, squares, squares_apart

CASES = [
    (kind, d, strength)
    for kind in KINDS
    for d in DIMENSIONS
    for strength in (STRENGTHS if kind in ("hampel", "lift") else STRENGTHS[:1])
]


def claim(one, adjacency: Adjacency) -> float:
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return float(UNIT)
        case Adjacency.LABEL:
            return math.sqrt(2) * UNIT
        case Adjacency.REPLACE:
            return max(math.sqrt(2) * UNIT, one.replace)


@pytest.mark.parametrize(("kind", "d", "strength"), CASES)
def test_no_record_reaches_further_than_claimed(kind, d, strength):
    for seed in (0, 1):
        classes = a_map(kind, d, strength, seed), a_map(kind, d, strength, seed + 2)
        for adjacency in Adjacency:
            assert farthest(classes, adjacency, 1_000, seed) <= claim(classes[0], adjacency)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "d", "strength"), CASES)
def test_no_record_of_a_million_reaches_further_than_claimed(kind, d, strength):
    classes = a_map(kind, d, strength, 5), a_map(kind, d, strength, 6)
    for adjacency in Adjacency:
        found = max(farthest(classes, adjacency, 50_000, seed) for seed in range(20))
        print(f"\n{kind}, {d} columns, n mu^2 {strength:g}, {adjacency}: {found / claim(classes[0], adjacency):.7f}")
        assert found <= claim(classes[0], adjacency)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_claim_is_nearly_reached(kind, adjacency):
    """Of scores under replace only by records of two classes: `lift` is asked for there, and claims no more."""
    for d in DIMENSIONS:
        for strength in STRENGTHS:
            one = a_map(kind, d, strength)
            bound = math.sqrt(2) * UNIT if adjacency == Adjacency.REPLACE else claim(one, adjacency)
            assert farthest((one, one), adjacency, 3_000) >= 0.99 * bound


@pytest.mark.parametrize("kind", ["waves", "even waves"])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_two_records_half_a_wave_apart_are_as_far_apart_as_claimed(kind, d):
    one = a_map(kind, d)
    here, there = (np.full((d, 1), round(place * END)) for place in (0.2, 0.2 + 1.15 / 2))
    assert 0.999 < math.sqrt(squares_apart(one, here, there)[0]) / one.replace <= 1


def test_two_records_of_a_class_are_nearly_as_far_apart_as_scores_claim():
    assert farthest((a_map("hampel", 1, 0.5),) * 2, Adjacency.REPLACE, 2_000) >= 0.99 * a_map("hampel", 1, 0.5).replace
    assert a_map("hampel", 1, 0.5).replace > 1.1 * math.sqrt(2) * UNIT
    lift = a_map("lift", 3)
    here, there = (draw(lift, np.random.default_rng(seed), 200_000) for seed in (0, 1))
    assert 0.98 < math.sqrt(squares_apart(lift, here, there).max()) / lift.replace <= 1


class Longer:
    """A map whose vectors are a thousandth too long."""

    def __init__(self, part):
        self.part, self.frequencies = part, getattr(part, "frequencies", None)
        self.whitening = getattr(part, "whitening", None)

    def __call__(self, places):
        values, block = self.part(places)
        return Vectors(np.trunc(values * 1.001), block)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_search_sees_a_thousandth_too_much(kind, adjacency, monkeypatch):
    monkeypatch.setattr("tests.statistics.reaching.dimension_of", lambda _: 2)
    one = a_map(kind, 2)
    bound = math.sqrt(2) * UNIT if adjacency == Adjacency.REPLACE else claim(one, adjacency)
    assert farthest((Longer(one),) * 2, adjacency, 4_000) > bound


def test_scores_whose_damping_is_three_times_too_large_are_clipped():
    for d in DIMENSIONS:
        honest = a_map("hampel", d)
        nodes = np.minimum(3 * honest.damping.nodes.astype(np.int64), 2**31 - 1).astype(np.int32)
        damping = dataclasses.replace(honest.damping, nodes=nodes)
        places = draw(honest, np.random.default_rng(0), 5_000)
        for kind in ("hampel", "lift"):
            mutant = dataclasses.replace(a_map(kind, d), damping=damping)
            lengths = squares(mutant, places)
            assert 0.999 * UNIT**2 < lengths.max() <= UNIT**2
            assert (lengths > 0).mean() > 0.3


@pytest.mark.parametrize("kind", [Hampel, Lift])
def test_scores_that_forget_their_clip_count_for_nothing(kind, monkeypatch):
    monkeypatch.setattr(kind, "norm", lambda self, t: np.full_like(t, 1e-3))
    honest = a_map(kind.__name__.lower(), 3)
    nodes = np.full_like(honest.damping.nodes, 2**30)
    lax = dataclasses.replace(honest, damping=dataclasses.replace(honest.damping, nodes=nodes))
    lengths = squares(lax, draw(honest, np.random.default_rng(0), 5_000))
    assert lengths.max() <= UNIT**2
    assert (lengths == 0).mean() > 0.5


def test_a_vector_that_is_too_long_counts_for_nothing():
    long = np.array([[UNIT, UNIT, UNIT + 1, 0.6 * UNIT, np.inf], [0, 1, 0, -0.8 * UNIT, 0]])
    assert whole(long).tolist() == [[UNIT, 0, 0, math.trunc(0.6 * UNIT), 0], [0, 0, 0, -math.trunc(0.8 * UNIT), 0]]


def test_a_vector_that_is_not_a_number_counts_for_nothing():
    assert whole(np.array([[np.nan, 3.7], [1.0, -3.7]])).tolist() == [[0, 3], [0, -3]]


@pytest.mark.parametrize("width", [1, 2, 3, 10, 45, 561, 10**6])
def test_cutting_two_vectors_to_whole_numbers_is_paid_for(width):
    """Cutting moves two vectors apart by less than sqrt(width), which the amplitude leaves room for."""
    assert amplitude(width) * math.sqrt(2) + math.sqrt(width) <= UNIT * math.sqrt(2)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_on_a_coarse_lattice_cutting_would_move_two_records_too_far_apart(d, monkeypatch):
    coarse = 32
    for module in ("bounded_map", "scores"):
        monkeypatch.setattr(f"sfumato.trusted.feature_maps.{module}.UNIT", coarse)
    one = a_map("lift", d, 0.5)
    assert farthest((one, one), Adjacency.REPLACE, 20_000) <= math.sqrt(2) * coarse
    monkeypatch.setattr("sfumato.trusted.feature_maps.scores.amplitude", lambda _: float(coarse))
    assert farthest((one, one), Adjacency.REPLACE, 20_000) > math.sqrt(2) * coarse


def test_maps_refuse_weights_that_prove_nothing():
    hampel, lift, shells = (a_map(kind, 2) for kind in ("hampel", "lift", "shells"))
    for change in ({"w": 1.0}, {"w": 0.0}, {"a": 0.0}, {"b": -1.0}, {"e": float("nan")}):
        with pytest.raises(ValueError, match="weights above 0"):
            dataclasses.replace(hampel, **change)
    with pytest.raises(ValueError, match="height above 0"):
        dataclasses.replace(lift, h=0.0)
    for change in ({"edges": ()}, {"edges": (2.0, 1.0)}, {"edges": (0.0, 1.0)}, {"g": 0.0}):
        with pytest.raises(ValueError, match="rising edges"):
            dataclasses.replace(shells, **change)
    with pytest.raises(ValueError, match="weight above 0"):
        FourierFeatures(np.ones((2, 1), dtype=np.int32), 0.0)
    with pytest.raises(ValueError, match="below"):
        FourierFeatures(np.full((2, 1), 2**25, dtype=np.int32), 1.0)
    assert isinstance(shells, Shells)
