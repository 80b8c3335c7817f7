"""Remark 1 to the letter: a mixture by expectation maximisation, whose frequencies are discretised beforehand."""

from typing import NamedTuple

import numpy as np

from sfumato.errors import DataError
from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.fitting import Fitted
from sfumato_papers.liu.labels import em_search
from sfumato_papers.liu.neighbours import Reading, mean_shifts
from sfumato_papers.liu.optimisation import optimise
from sfumato_papers.liu.release import Prepared


class FittedByEM(NamedTuple):
    """The mixture that is released in place of (2), the frequencies before they were discretised, and labels.

    The paper's neighbours change a label: that of a record is the component most responsible for it.
    """

    fitted: Fitted
    frequencies: FloatArray
    label: AnyIntArray


def fit_by_em(rng: np.random.Generator, X: FloatArray, classes: int) -> FittedByEM:  # noqa: N803 - X as in the paper
    """Means and covariances as the method finds them, the most frequent component first."""
    found = em_search(rng, X, classes)
    order = np.argsort(-found.weights_, kind="stable")
    frequencies: FloatArray = found.weights_[order]
    counts = discretised(frequencies, len(X))
    label = np.argsort(order)[found.predict(X)]
    fitted = Fitted(counts / len(X), found.means_[order], found.covariances_[order], counts)
    return FittedByEM(fitted, frequencies, label)


def discretised(frequencies: FloatArray, records: int) -> AnyIntArray:
    """The member of S (3) that is nearest to continuous frequencies, as counts of records.

    Whole numbers of one at least that add up to N: rounded down, then one more or less where that is nearest. The paper
    does not say how; no other member of S is nearer in the sum of squares.
    """
    if records < len(frequencies):
        raise DataError(f"{records} records are too few for {len(frequencies)} classes: S (3) has one at least in each")
    wanted = records * frequencies
    counts: AnyIntArray = np.maximum(np.floor(wanted), 1).astype(np.int64)
    while (short := records - counts.sum()) != 0:
        gain = np.sign(short) * (wanted - counts)
        gain[(counts == 1) & (short < 0)] = -np.inf
        counts[gain.argmax()] += np.sign(short)
    return counts


def prepared_by_em(
    rng: np.random.Generator,
    X: FloatArray,  # noqa: N803
    classes: int,
    epsilon: float,
    delta: float,
    reading: Reading,
) -> Prepared:
    """Algorithm 1 up to the noise, for records without labels. `draw` adds it.

    Edge cases
        A component that no more records than dimensions belong to: `DataError`, because their moves bound its noise.
    """
    fitted, _, label = fit_by_em(rng, X, classes)
    fewest = min(np.bincount(label, minlength=classes).min(), fitted.counts.min())
    if fewest <= fitted.dimensions:
        raise DataError(
            f"a component has {fewest} records; (23) needs {fitted.dimensions + 1}, one more than records have columns"
        )
    shifts = (mean_shifts(X, label, fitted, k, reading) for k in range(classes))
    return Prepared(fitted, optimise(fitted, shifts, epsilon, delta))
