"""Families of components: which boxes share one, and the gradient of their logits against differences."""

import numpy as np
import pytest

from sfumato.fitting.mechanisms.tables.approximation import evidence
from sfumato.fitting.mechanisms.tables.families import Families, form_families
from sfumato.fitting.mechanisms.tables.product_mixture import ProductMixture
from tests.mechanisms.test_approximation import hidden, tables


def mixture_of_families(rng: np.random.Generator):
    """Five components of three families, each cut to a box, and tables."""
    one_way, pairs = tables(hidden(rng, 4, 2), 2, 500.0, 20.0, rng)
    seen = evidence(one_way, pairs)
    owner, family = np.array([0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2])
    inside = np.ones((5, 12), dtype=bool)
    inside[[0, 1, 2, 3], [0, 4, 1, 9]] = False
    marginals = np.concatenate([column.theta for column in one_way.columns.values()], axis=1)[owner] * inside
    for start, stop in ((0, 3), (3, 7), (7, 12)):
        marginals[:, start:stop] /= marginals[:, start:stop].sum(axis=1, keepdims=True)
    families = Families(family, np.array([0.3, 0.7, 0.6, 0.4, 1.0]), np.where(inside, 0.0, -np.inf))
    logits, weights = rng.normal(size=(3, 12)), rng.normal(size=5)
    return ProductMixture(logits, weights, owner, marginals, seen.offsets, families), seen


def test_the_gradient_of_families_agrees_with_differences():
    mixture, seen = mixture_of_families(np.random.default_rng(0))
    by_logits, by_weights = mixture.slope(seen)
    assert (mixture.theta[np.isneginf(mixture.families.closed)] == 0).all()
    assert by_logits.shape == (3, 12)
    for parameter, gradient in ((mixture.logits, by_logits), (mixture.weight_logits, by_weights)):
        for at in np.ndindex(parameter.shape):
            kept, errors = parameter[at], []
            for step in (1e-2, -1e-2):
                parameter[at] = kept + step
                errors.append(mixture.error(seen))
            parameter[at] = kept
            assert gradient[at] == pytest.approx((errors[0] - errors[1]) / 2e-2, rel=2e-2, abs=2e-2)


def test_large_boxes_have_their_own_components_and_small_ones_share_families():
    mass = np.array([[0.5, 0.02, 0.03, 0.0, 0.4, 0.05]])
    owner, box, family, siblings = form_families(mass, [80])
    assert (owner == 0).all()
    assert 3 not in box
    assert (np.diff(family) >= 0).all()
    assert (np.bincount(box)[[0, 4]] == [40, 32]).all()
    shared = [set(box[family == f].tolist()) for f in range(len(siblings))]
    assert all(len(one) == 1 for one in shared if one & {0, 4})
    assert {1, 2, 5} in shared
    assert sum(len(one) > 1 for one in shared) == 8


def test_every_box_has_a_component_however_little_it_holds():
    mass = np.full((3, 200), 1e-6)
    mass[:, 0] = 1 - mass[:, 1:].sum(axis=1)
    mass[1] = 0
    owner, box, _, _ = form_families(mass, [1, 1, 50])
    assert {(int(c), int(b)) for c, b in zip(owner, box, strict=True)} == {(c, b) for c in (0, 2) for b in range(200)}


def test_components_are_bounded():
    mass = np.full((16, 256), 1 / 256)
    owner, _, _, _ = form_families(mass, [80] * 16)
    assert len(owner) <= 2 * 4_096
