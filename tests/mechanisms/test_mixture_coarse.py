"""Where classes lie and how wide they are, from waves."""

import numpy as np
import pytest

from sfumato.fitting.mechanisms.mixture.coarse import CoarsePosterior
from sfumato.fitting.mechanisms.mixture.plan import Tuning
from sfumato.trusted.feature_maps import FourierFeatures
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS

COUNT = 5_000
MEANS = np.array([[0.2, 0.5], [0.85, 0.4]])
SDS = np.array([[0.05, 0.01], [0.02, 0.1]])


def seen(noise: float, rounds: int = 2, records: int = COUNT) -> CoarsePosterior:
    """Two classes of two columns after some rounds of waves."""
    rng = np.random.default_rng(0)
    coarse = CoarsePosterior(2, 2, Tuning.resolution)
    for t in range(rounds):
        waves = [FourierFeatures.of(mine, 1) for mine in coarse.frequencies(first=t == 0)]
        values = []
        for k, one in enumerate(waves):
            drawn = MEANS[k][:, None] + SDS[k][:, None] * np.random.default_rng(k).standard_normal((2, records))
            places = np.rint(2.0**PLACE_BITS * drawn.clip(0, 1))
            total = one(places).values.sum(axis=1) / UNIT
            values.append(total + noise * rng.standard_normal(len(total)))
        coarse.add(waves, values, noise)
    return coarse


def test_waves_with_little_noise_find_the_classes():
    now = seen(2.0, rounds=3).now
    assert np.allclose(now.count, COUNT, rtol=0.01)
    assert np.abs(now.mean - MEANS).max() < 0.005
    assert np.abs(now.log_sd - np.log(SDS)).max() < 0.25  # a step of the grid


def test_the_truth_lies_within_what_is_left_open():
    now = seen(60.0).now
    assert (np.abs(now.count - COUNT) < 4 * now.count_sd).all()
    assert (np.abs(now.mean - MEANS) < 4 * np.sqrt(now.mean_var)).all()
    assert (np.abs(now.log_sd - np.log(SDS)) < 4 * np.sqrt(now.log_sd_var)).all()


def test_another_round_leaves_less_open():
    first, second = seen(20.0, rounds=1).now, seen(20.0, rounds=2).now
    assert (second.count_sd < first.count_sd).all()
    assert (second.mean_var < first.mean_var).all()


def test_before_any_round_a_class_may_lie_anywhere():
    now = CoarsePosterior(3, 2, Tuning.resolution).now
    assert now.mean.shape == (3, 2)
    assert np.allclose(now.mean, 0.5)
    assert np.allclose(now.mean_var, 1 / 12, rtol=0.01)


@pytest.mark.parametrize("records", [0, 1])
def test_a_class_without_records_stays_open(records):
    now = seen(20.0, records=records).now
    assert (now.count >= 2).all()
    assert (now.count < 200).all()
    assert np.sqrt(now.mean_var).min() > 0.1


def test_waves_grow_finer_as_places_become_known():
    coarse = seen(2.0, rounds=1)
    first, second = coarse.frequencies(first=True), coarse.frequencies(first=False)
    assert first.shape == (2, 2, 2)
    assert second.shape == (2, 2, 1)
    assert (second[..., 0] >= first[..., 0]).all()
    assert second[0, 1, 0] > second[0, 0, 0]  # the narrower column
