"""What a made-up table is worth, each figure from 0 to 1 and more is better.

    KSComp           1 less the Kolmogorov-Smirnov statistic, a mean over numbers          as SDMetrics' KSComplement
    CorrSim          1 less half the difference of correlations, a mean over pairs of numbers    CorrelationSimilarity
    LogitRegression  area under the ROC curve on real rows of a logistic regression that learnt from made-up ones
    2-way TV         1 less the total variation of a pair of columns, a mean over pairs, the label among them
    LightGBM         as LogitRegression, by trees

All are against rows that no method has seen. The first three are the paper's, by the definitions of the open library
that its names come from; what its logistic regression is scored by it does not say where we could read it.
"""

import itertools
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.clustmix.learning import score, told
from sfumato.trusted.arrays import FloatArray, IntArray

METRICS = ("KSComp", "CorrSim", "LogitRegression", "2-way TV", "LightGBM")
BINS = 8
_STEPS = 300


class Coded(NamedTuple):
    """Rows as the rivals take them: numbers from 0 to 1 by their bounds, categories and labels as places in a list."""

    X: FloatArray
    y: IntArray


def figures(made: Coded, real: Coded, kinds: Sequence[int], classes: int = 2) -> dict[str, float]:
    """All figures that are defined for a table: CorrSim needs two numbers, KSComp one."""
    numbers = [place for place, kind in enumerate(kinds) if not kind]
    found = {
        "KSComp": ks_complement(made.X[:, numbers], real.X[:, numbers]),
        "CorrSim": correlation_similarity(made.X[:, numbers], real.X[:, numbers]),
        "LogitRegression": logistic_auc(made, real, kinds),
        "2-way TV": pairs_shared(made, real, kinds, classes),
        "LightGBM": score("", told("", made.X, made.y, real.X, classes), real.y),
    }
    return {name: value for name, value in found.items() if value is not None}


def ks_complement(made: FloatArray, real: FloatArray) -> float | None:
    """None where there is no number."""
    if not made.shape[1]:
        return None
    return float(np.mean([1 - _largest_gap(*columns) for columns in zip(made.T, real.T, strict=True)]))


def _largest_gap(made: FloatArray, real: FloatArray) -> float:
    """Between two distribution functions."""
    at = np.concatenate((made, real))
    below = [np.searchsorted(np.sort(part), at, side="right") / len(part) for part in (made, real)]
    return float(np.abs(below[0] - below[1]).max())


def correlation_similarity(made: FloatArray, real: FloatArray) -> float | None:
    """None where there are fewer than two numbers."""
    if made.shape[1] < 2:
        return None
    pairs = np.triu_indices(made.shape[1], 1)
    return float(np.mean(1 - np.abs(_correlations(made)[pairs] - _correlations(real)[pairs]) / 2))


def _correlations(rows: FloatArray) -> FloatArray:
    """Pearson's; that of a constant column is 0."""
    away = rows - rows.mean(axis=0)
    lengths = np.linalg.norm(away, axis=0)
    units = np.divide(away, lengths, out=np.zeros_like(away), where=lengths > 1e-12 * np.sqrt(len(rows)))
    found: FloatArray = units.T @ units
    return found


def logistic_auc(made: Coded, real: Coded, kinds: Sequence[int]) -> float:
    """One half where all made-up rows have one label."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    if len(np.unique(made.y)) < 2:
        return 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(max_iter=_STEPS).fit(_spread_out(made.X, made.X, kinds), made.y)
    return float(roc_auc_score(real.y, model.decision_function(_spread_out(real.X, made.X, kinds))))


def _spread_out(rows: FloatArray, learnt_from: FloatArray, kinds: Sequence[int]) -> Any:
    """Categories as zeros and ones; numbers with the mean and spread of the rows that are learnt from."""
    from scipy import sparse

    parts, each = [], np.arange(len(rows))
    for place, kind in enumerate(kinds):
        if kind:
            where = (each, rows[:, place].astype(np.int64))
            parts.append(sparse.csr_array((np.ones(len(rows)), where), shape=(len(rows), kind)))
        else:
            mean, spread = learnt_from[:, place].mean(), learnt_from[:, place].std()
            parts.append(sparse.csr_array(((rows[:, place] - mean) / (spread or 1.0))[:, None]))
    return sparse.hstack(parts, format="csr")


def pairs_shared(made: Coded, real: Coded, kinds: Sequence[int], classes: int) -> float:
    """Numbers in at most eight cells at the quantiles of the real rows."""
    cells = [_cells(*columns) for columns in zip(made.X.T, real.X.T, kinds, strict=True)]
    cells.append((made.y, real.y, classes))
    return float(np.mean([1 - _total_variation(*pair) for pair in itertools.combinations(cells, 2)]))


Cells = tuple[IntArray, IntArray, int]


def _cells(made: FloatArray, real: FloatArray, kind: int) -> Cells:
    """Which cell of a column each row is in, and how many cells there are."""
    if kind:
        return made.astype(np.int64), real.astype(np.int64), kind
    cuts = np.unique(np.quantile(real, np.arange(1, BINS) / BINS))
    return np.searchsorted(cuts, made, side="right"), np.searchsorted(cuts, real, side="right"), len(cuts) + 1


def _total_variation(one: Cells, other: Cells) -> float:
    size = one[2] * other[2]
    made, real = (np.bincount(one[part] * other[2] + other[part], minlength=size) for part in (0, 1))
    return float(np.abs(made / made.sum() - real / real.sum()).sum() / 2)
