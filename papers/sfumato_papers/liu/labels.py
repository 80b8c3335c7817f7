"""Labels for records that have none: footnote 1 and remark 1 of the paper.

Such a label is a function of everybody's features, so that one changed record may change the labels of others. The
paper's neighbours, where one label changes and nothing else, know nothing of that.
"""

import importlib
from typing import Any

import numpy as np

from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.fitting import check_records

_RESTARTS, _ROUNDS = 10, 1_000


def labels_by_kmeans(rng: np.random.Generator, X: FloatArray, classes: int) -> AnyIntArray:  # noqa: N803
    """Footnote 1: the nearest of `classes` centres, the best of ten starts. The largest class is 0."""
    check_records(X)
    search = _scikit_learn("cluster").KMeans(classes, n_init=_RESTARTS, random_state=_seed(rng))
    return _by_size(search.fit_predict(X))


def labels_by_em(rng: np.random.Generator, X: FloatArray, classes: int) -> AnyIntArray:  # noqa: N803
    """Remark 1 in a looser reading: the component most responsible for a record. The largest class is 0.

    Here it is responsibilities that are discretised: each record has a label, and the frequencies (2a) lie in S (3).
    `em` has the frequencies of the method itself discretised, as the remark says.
    """
    return _by_size(em_search(rng, X, classes).predict(X))


def em_search(rng: np.random.Generator, X: FloatArray, classes: int) -> Any:  # noqa: N803
    """Scikit-learn's mixture after expectation maximisation, the best of ten starts."""
    check_records(X)
    search = _scikit_learn("mixture").GaussianMixture(
        classes, n_init=_RESTARTS, max_iter=_ROUNDS, random_state=_seed(rng)
    )
    return search.fit(X)


def _scikit_learn(module: str) -> Any:
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError:
        raise ImportError('labels by clustering need scikit-learn: pip install "sfumato[sklearn]"') from None


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _by_size(labels: AnyIntArray) -> AnyIntArray:
    rank: AnyIntArray = np.argsort(np.argsort(-np.bincount(labels), kind="stable"))
    return rank[labels]
