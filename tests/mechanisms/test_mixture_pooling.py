"""What classes have in common: found where it is there, and left alone where it is not."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import logm, sqrtm

from sfumato.fitting.mechanisms.mixture.pooling import SharedShape, Tuning, shared_shapes
from sfumato.fitting.mechanisms.mixture.symmetric import svec


@dataclass
class Known:
    """A class with this covariance, known to this variance in each coordinate."""

    cov: np.ndarray
    doubt: float

    @property
    def dimension(self) -> int:
        return len(self.cov)

    @property
    def laplace(self) -> np.ndarray:
        d = len(self.cov)
        return self.doubt * np.eye(1 + d + d * (d + 1) // 2)


def correlated(rng: np.random.Generator, d: int, shape: np.ndarray) -> np.ndarray:
    """These correlations, in units of its own."""
    scale = rng.uniform(0.1, 10, d)
    return shape * np.outer(scale, scale)


def shape_of(rng: np.random.Generator, d: int, freedom: int) -> np.ndarray:
    normal = rng.standard_normal((freedom, d))
    cov = normal.T @ normal
    return cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov)))


def iterated(classes) -> list[SharedShape] | None:
    found, tau = None, None
    for _ in range(5):
        found = shared_shapes(classes, tau)
        tau = found[0].tau if found else None
    return found


def test_residuals_are_logarithms_of_whitened_correlations():
    rng = np.random.default_rng(0)
    centre, other = shape_of(rng, 3, 9), shape_of(rng, 3, 9)
    root = np.linalg.cholesky(correlated(rng, 3, other))
    whitening = np.linalg.inv(sqrtm(centre).real)
    expected = svec(logm(whitening @ other @ whitening).real) / 0.3
    assert np.allclose(SharedShape(whitening, 0.3).residuals(root[None])[0], expected)


@pytest.mark.parametrize("d", [2, 4, 7])
def test_classes_of_equal_correlations_share_them_whatever_their_units(d):
    rng = np.random.default_rng(d)
    shape = shape_of(rng, d, d + 2)
    found = iterated([Known(correlated(rng, d, shape), 1e-4) for _ in range(4)])
    assert found is not None
    assert found[0].tau == Tuning.least_tau
    assert np.allclose(np.linalg.inv(found[0].whitening @ found[0].whitening), shape, atol=1e-8)


@pytest.mark.parametrize("d", [3, 5])
def test_classes_that_differ_share_nothing(d):
    rng = np.random.default_rng(d)
    assert iterated([Known(shape_of(rng, d, d + 1), 1e-4) for _ in range(5)]) is None


def test_classes_of_which_little_is_known_share_nothing():
    rng = np.random.default_rng(0)
    shape = np.eye(3)  # the mode where nothing was measured
    doubt = 2 / (3 + 1)  # the variance of the prior
    assert iterated([Known(correlated(rng, 3, shape), doubt) for _ in range(3)]) is not None  # nothing apart at all
    noisy = [Known(shape_of(rng, 3, 12), doubt) for _ in range(3)]
    assert iterated(noisy) is None


def test_a_class_learns_from_the_others_alone():
    rng = np.random.default_rng(1)
    shape, odd = shape_of(rng, 3, 6), np.eye(3)
    odd[0, 1] = odd[1, 0] = 0.4
    found = shared_shapes([Known(odd, 1e-4), *(Known(shape, 1e-4) for _ in range(8))], None)
    assert found is not None
    assert np.allclose(np.linalg.inv(found[0].whitening @ found[0].whitening), shape, atol=1e-8)


@pytest.mark.parametrize("classes", [[Known(np.eye(3), 0.01)], [Known(np.eye(1), 0.01)] * 3])
def test_one_class_or_one_column_has_nothing_to_share(classes):
    assert shared_shapes(classes, None) is None
