"""What scores add up to in closed form, against what the scores of drawn records add up to."""

import numpy as np
import pytest

from sfumato.fitting.mechanisms.mixture.design import build_design
from sfumato.fitting.mechanisms.mixture.expectation import expected_score
from sfumato.trusted.feature_maps import Whitening
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS

END = 2**PLACE_BITS
DRAWS = 200_000


def a_class(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and a root of the covariance of a class that the bounds never cut."""
    rng = np.random.default_rng(d)
    turned, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return rng.uniform(0.45, 0.55, d), turned * np.geomspace(0.01, 0.05, d)


def a_view(mean: np.ndarray, root: np.ndarray) -> Whitening:
    """A whitening that is off in centre, scale and direction."""
    rng = np.random.default_rng(1)
    blurred = root @ np.diag(rng.uniform(0.8, 1.6, len(mean))) @ root.T + 1e-5 * np.eye(len(mean))
    values, vectors = np.linalg.eigh(blurred)
    return Whitening.of((vectors / np.sqrt(values)) @ vectors.T, mean + 0.3 * root @ rng.normal(size=len(mean)))


@pytest.mark.parametrize("kind", ["hampel", "lift"])
@pytest.mark.parametrize("d", [1, 3, 6])
@pytest.mark.parametrize("strength", [0.5, 30.0, 2_000.0, 100_000.0])
def test_the_closed_form_is_the_mean_of_the_scores(kind, d, strength):
    mean, root = a_class(d)
    one = build_design(kind, a_view(mean, root), strength, 1.0)
    places = np.rint(END * (mean[:, None] + root @ np.random.default_rng(0).normal(size=(d, DRAWS))))
    assert 0 < places.min() < places.max() < END
    scores = one(places).values / UNIT
    expected = expected_score(one, mean[None], root[None])[0]
    deviation = np.maximum(scores.std(axis=1) / np.sqrt(DRAWS), 1e-6)
    assert np.abs((scores.mean(axis=1) - expected) / deviation).max() < 5.5


@pytest.mark.parametrize("kind", ["hampel", "lift"])
def test_many_classes_at_once_are_each_by_itself(kind):
    classes = [a_class(3), (np.array([0.2, 0.4, 0.9]), 0.1 * np.eye(3)), (np.full(3, 0.5), 0.02 * np.tri(3))]
    one = build_design(kind, a_view(*classes[0]), 30.0, 1.0)
    means, roots = (np.stack(part) for part in zip(*classes, strict=True))
    together = expected_score(one, means, roots)
    for row, mean, root in zip(together, means, roots, strict=True):
        assert np.allclose(row, expected_score(one, mean[None], root[None])[0], atol=1e-12)


@pytest.mark.parametrize("kind", ["hampel", "lift"])
def test_only_the_covariance_counts_not_its_root(kind):
    mean, root = a_class(3)
    turned, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))
    one = build_design(kind, a_view(mean, root), 30.0, 1.0)
    first, second = expected_score(one, np.stack([mean, mean]), np.stack([root, root @ turned]))
    assert np.allclose(first, second, atol=1e-10)
