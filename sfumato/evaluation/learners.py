"""Train on synthetic records, test on real ones."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RequestError
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.schema import Schema

Predict = Callable[[FloatArray], FloatArray]
"""From features to probabilities (rows x classes), or values."""
Learner = Callable[[FloatArray, NDArray[Any], FloatArray | None], Predict]
"""From features, labels and weights to what predicts."""
Make = Callable[[int], Any]
"""From a number of rows to a model that can be fitted to them."""
_ROWS_OF_A_TREE = 10_000
_TREE = {"max_depth": 5, "random_state": 0}


def design(values: Mapping[str, FloatArray], schema: Schema) -> FloatArray:
    """The features, one column each."""
    return np.column_stack([values[name] for name in schema.features])


def learners(schema: Schema, classes: int | None) -> dict[str, Learner]:
    """Two strong learners and two simple ones, for so many classes or for a number (None).

    LightGBM and the linear model have their defaults. The forest has 100 trees with at least 5 rows in a leaf, each
    grown on at most 10,000 rows drawn from all of them; the decision tree has five levels. Raises `RequestError` where
    LightGBM or scikit-learn is not installed.
    """
    try:
        import lightgbm
        import sklearn.ensemble
        import sklearn.linear_model
        import sklearn.tree
    except ImportError:
        raise RequestError('evaluation needs LightGBM and scikit-learn: pip install "sfumato[evaluate]"') from None
    listed = [schema[name].type in ("category", "boolean") for name in schema.features]
    boosting = {"random_state": 0, "n_jobs": 1, "verbose": -1}
    if classes is None:
        return {
            "LightGBM": _number(lambda _: lightgbm.LGBMRegressor(**boosting)),
            "random forest": _number(lambda rows: sklearn.ensemble.RandomForestRegressor(**_forest(rows))),
            "linear regression": _number(lambda _: _linear(listed, sklearn.linear_model.Ridge())),
            "decision tree": _number(lambda _: sklearn.tree.DecisionTreeRegressor(**_TREE)),
        }
    logistic = partial(sklearn.linear_model.LogisticRegression, max_iter=1_000)
    return {
        "LightGBM": _classes(lambda _: lightgbm.LGBMClassifier(**boosting), classes),
        "random forest": _classes(lambda rows: sklearn.ensemble.RandomForestClassifier(**_forest(rows)), classes),
        "logistic regression": _classes(lambda _: _linear(listed, logistic()), classes),
        "decision tree": _classes(lambda _: sklearn.tree.DecisionTreeClassifier(**_TREE), classes),
    }


def _forest(rows: int) -> dict[str, Any]:
    """The settings of a forest whose time does not grow with the rows."""
    share = min(1.0, _ROWS_OF_A_TREE / rows)
    return {"n_estimators": 100, "min_samples_leaf": 5, "max_samples": share, "random_state": 0, "n_jobs": 1}


def _linear(listed: list[bool], model: Any) -> Any:
    """Categories one by one, numbers to unit variance, missing as the mean with a mark."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
    parts = [
        ("categories", OneHotEncoder(handle_unknown="ignore"), np.flatnonzero(listed)),
        ("numbers", numbers, np.flatnonzero(~np.array(listed, dtype=bool))),
    ]
    return make_pipeline(ColumnTransformer(parts), model)


def _classes(make: Make, classes: int) -> Learner:
    def learn(features: FloatArray, label: NDArray[Any], weight: FloatArray | None) -> Predict:
        there = np.unique(label).astype(int)
        if len(there) < 2:
            return lambda rows: np.repeat(np.eye(classes)[there[:1]], len(rows), axis=0)
        model = _fitted(make(len(label)), features, label, weight)

        def predict(rows: FloatArray) -> FloatArray:
            found = np.zeros((len(rows), classes))
            found[:, there] = model.predict_proba(rows)
            return found

        return predict

    return learn


def _number(make: Make) -> Learner:
    def learn(features: FloatArray, label: NDArray[Any], weight: FloatArray | None) -> Predict:
        model = _fitted(make(len(label)), features, label, weight)
        return lambda rows: np.asarray(model.predict(rows), dtype=np.float64)

    return learn


def _fitted(model: Any, features: FloatArray, label: NDArray[Any], weight: FloatArray | None) -> Any:
    last = f"{model.steps[-1][0]}__sample_weight" if hasattr(model, "steps") else "sample_weight"
    return model.fit(features, label, **({} if weight is None else {last: weight}))


def weigh_classes(features: FloatArray, told: FloatArray) -> tuple[FloatArray, NDArray[Any], FloatArray | None]:
    """Every row once for each class, weighted by its probability; or with the mean as its label."""
    if told.ndim == 1:
        return features, told, None
    classes = told.shape[1]
    label = np.repeat(np.arange(classes), len(features))
    return np.concatenate([features] * classes), label, told.T.ravel() + 1e-9


def score(predicted: FloatArray, truth: NDArray[Any]) -> float | None:
    """Area under the ROC curve (mean over pairs of classes, if more than two) or R squared; None: cannot be told."""
    from sklearn.metrics import r2_score, roc_auc_score

    if predicted.ndim == 1:
        return float(r2_score(truth, predicted)) if len(truth) > 1 else None
    there = np.unique(truth).astype(int)
    if len(there) < 2:
        return None
    if predicted.shape[1] == 2:
        return float(roc_auc_score(truth, predicted[:, 1]))
    among = predicted[:, there] + 1e-12
    return float(
        roc_auc_score(
            np.searchsorted(there, truth),
            among / among.sum(axis=1, keepdims=True) if len(there) > 2 else among[:, 1],
            multi_class="ovo",
        )
    )


def errors(predicted: FloatArray, truth: NDArray[Any]) -> FloatArray:
    """How wrong each prediction is: a wrong class counts 1, a number its distance."""
    wrong: FloatArray = np.abs(predicted - truth) if predicted.ndim == 1 else (predicted.argmax(axis=1) != truth) * 1.0
    return wrong
