"""Releases of MNIST digits in 5 directions: how far from the fit, and how well they classify test images."""

from functools import cache

import numpy as np
from sfumato_papers.liu import Mixture, divergence

from experiments.liu.data import digits
from experiments.liu.methods import FITTED, fitted_to, mixtures
from sfumato.trusted.arrays import FloatArray, IntArray

TRIALS, WITH_LABELS, QUICK_TRIALS = 20, 3, 1


@cache
def measured(epsilon: float, seed: int) -> dict[str, tuple[float, float]]:
    """KL to the fit in nats and test accuracy, by method. Figures 9 and 10 are of the same releases."""
    training, test, label = digits(seed)
    found = {FITTED: (0.0, accuracy(fitted_to(training), test, label))}
    for name, mixture, fitted in mixtures(training, training, epsilon, seed, label=seed < WITH_LABELS):
        found[name] = divergence(mixture, fitted).total, accuracy(mixture, test, label)
    return found


def accuracy(mixture: Mixture, records: FloatArray, label: IntArray) -> float:
    """The share of records whose class is the one of greatest likelihood, as in section V-D: weights play no part."""
    away = records[:, None, :] - mixture.means
    squares = np.einsum("nki,kij,nkj->nk", away, mixture.precisions, away)
    likelihood = -(squares + np.linalg.slogdet(mixture.covariances)[1]) / 2
    return float(np.mean(likelihood.argmax(axis=1) == label))
