"""Releases of MNIST digits in 5 directions, and how well they classify test images."""

from functools import cache

import numpy as np
from sfumato_papers.liu import Fitted, Mixture

from experiments.liu.data import digits
from experiments.liu.methods import Case, mixtures
from sfumato.trusted.arrays import FloatArray, IntArray

QUICK_TRIALS = 1


@cache
def releases(part: str, epsilon: float, seed: int) -> dict[str, tuple[Mixture, Fitted]]:
    """A release by each method of a part, and the fit. Figures 9 and 10 and example 3 are of the same releases."""
    training = digits(seed).training
    found = mixtures(part, Case(training, training, epsilon), seed)
    return {name: (mixture, fitted) for name, mixture, fitted in found}


def accuracy(mixture: Mixture, records: FloatArray, label: IntArray) -> float:
    """The share of records whose class is the one of greatest likelihood, as in section V-D: weights play no part."""
    away = records[:, None, :] - mixture.means
    squares = np.einsum("nki,kij,nkj->nk", away, mixture.precisions, away)
    likelihood = -(squares + np.linalg.slogdet(mixture.covariances)[1]) / 2
    return float(np.mean(likelihood.argmax(axis=1) == label))
