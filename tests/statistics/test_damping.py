"""Damping on records is a table of whole numbers that follows its exponentials, for every design there is."""

import json
import math

import numpy as np
import pytest

from sfumato.fitting.mechanisms.mixture.design import LEVELS, MOST_COLUMNS, build_design, x_of
from sfumato.trusted.feature_maps import RadialWeight
from tests.statistics.making import a_map, a_whitening

NEAR = 1e-3  # how far straight lines are from the exponentials, at most


def exponentials(damping: RadialWeight, t: np.ndarray) -> np.ndarray:
    return np.exp(-np.outer(t, damping.rates)) @ np.array(damping.coefficients)


@pytest.mark.parametrize("kind", ["hampel", "lift"])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 16, MOST_COLUMNS])
def test_the_table_follows_the_exponentials(kind, d):
    t = np.concatenate([np.linspace(0, 12 * d, 3_001), np.geomspace(1e-3 * d, 3_000 * d, 3_001)])
    whitening = a_whitening(d)
    for level in range(LEVELS):
        damping = build_design(kind, whitening, x_of(level), 1.0).damping
        assert np.abs(damping(t) - exponentials(damping, t)).max() < NEAR


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_at_the_nodes_it_is_the_exponential_itself(d):
    damping = RadialWeight.of([0.3 / d, 5.0 / d], [0.8, -0.2], d)
    start = 2.0 ** (math.floor(math.log2(d)) - 2)
    for octave in range(8):
        t = start * 2**octave * (1 + np.arange(64) / 64) - start
        assert np.abs(damping(t) - exponentials(damping, t)).max() < 2.0**-26


@pytest.mark.parametrize("kind", ["hampel", "lift"])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_beyond_the_table_it_is_nothing(kind, d):
    damping = a_map(kind, d).damping
    assert not damping(np.geomspace(262_144 * d, 1e60, 2_000)).any()
    assert np.abs(damping(np.geomspace(3_000 * d, 262_144 * d, 5_000))).max() < 0.02


def test_between_two_nodes_it_is_between_their_values():
    damping = a_map("hampel", 3).damping
    t = np.sort(np.random.default_rng(0).exponential(20, 20_000))
    place = (t + 2.0**damping.start) / 2.0**damping.start
    octave = np.floor(np.log2(place))
    left = (octave * 64 + np.floor((place / 2**octave - 1) * 64)).astype(int)
    ends = np.stack([damping.nodes[left], damping.nodes[left + 1]]) / 2.0**27
    kappa = damping(t)
    assert (ends.min(axis=0) <= kappa).all()
    assert (kappa <= ends.max(axis=0)).all()


def test_a_table_must_fit_its_exponentials():
    damping = a_map("lift", 2).damping
    with pytest.raises(ValueError, match="coefficient for every rate"):
        RadialWeight(damping.rates, damping.coefficients[1:], damping.start, damping.nodes)
    with pytest.raises(ValueError, match="node for every part"):
        RadialWeight(damping.rates, damping.coefficients, damping.start, damping.nodes[1:])


def test_damping_survives_json():
    damping = a_map("lift", 2).damping
    again = RadialWeight.from_dict(json.loads(json.dumps(damping.to_dict())))
    assert again.to_dict() == damping.to_dict()
    assert np.array_equal(again.nodes, damping.nodes)
