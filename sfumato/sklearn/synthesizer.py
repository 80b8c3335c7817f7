"""`PrivateSynthesizer`: any mechanism of `sfumato.release` as a scikit-learn estimator."""
# ruff: noqa: N803 - X is scikit-learn's name for it

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray

try:
    from sklearn.base import BaseEstimator
    from sklearn.metrics import accuracy_score, r2_score
    from sklearn.utils import ClassifierTags, RegressorTags, check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data
except ImportError:
    raise ImportError('sfumato.sklearn needs scikit-learn 1.6 or newer: pip install "sfumato[sklearn]"') from None

from sfumato.api import release
from sfumato.errors import SfumatoError
from sfumato.sklearn.tables import column_of_array, features_of, is_frame, table_of_array, with_column
from sfumato.trusted.budget import DEFAULT_DELTA
from sfumato.trusted.encoding.frames import names_of
from sfumato.trusted.encoding.header import FrameKind
from sfumato.trusted.reservation import LedgerLike
from sfumato.trusted.schema import BooleanColumn, CategoryColumn, Schema


def _is_listed(schema: Schema) -> bool:
    """Whether the target is one of a list."""
    return schema.target is not None and isinstance(schema[schema.target], CategoryColumn | BooleanColumn)


def _has_classes(asked: "PrivateSynthesizer") -> bool:
    return _is_listed(asked._public_schema())


def _has_target(asked: "PrivateSynthesizer") -> bool:
    return asked._public_schema().target is not None


class PrivateSynthesizer(BaseEstimator):  # type: ignore[misc]
    """The distribution of private records: draw synthetic rows, predict the target, score.

    A face over `sfumato.release`. Every `fit` is a release and spends the whole (epsilon, delta). So does every fold
    and every candidate of a cross-validation or a grid search: their costs add up, the ledger writes each of them down,
    and where it has a limit it refuses the fit that would exceed it.

    schema          what is public about the table, never read off the rows: a `Schema`, a dictionary, or the path of a
                    YAML file. It names the columns of a frame; the columns of an array are its columns but for the
                    target, in its order. Its target is `y`
    epsilon, delta  the whole budget of one fit
    mechanism       "auto", "tables", "mixture", "subspace", "slices" or "3a", see `sfumato.release`
    adjacency       "add-remove" (one record more or less), "replace" or "label"
    components      of mechanism "mixture" without a category as target
    anonymize, approximate, adapt, share   of mechanism "3a", see `sfumato.release`
    ledger          where the spending is written down: by default the user's own; a path, a `Ledger`; None: nowhere
    types           of a pandas or polars frame: "declared" says that you set the type of every column yourself, see
                    `sfumato.release`. Arrays are converted cell by cell, and need it not
    random_state    for `sample` alone. The noise of the release is always drawn from the operating system
    seed            for tests and studies: the noise follows from it and the release is marked "seeded: not private"

    After `fit`
        release_        the `Release`, which answers all other questions; `release_.save(path)` writes its bundle
        statement_      what was promised and what each measurement cost
        schema_         the schema, with what the release bought of it
        classes_        the values of the target in the order of `predict_proba`, where it is a category
        n_features_in_, feature_names_in_   as in scikit-learn

    Formal guarantees
        Everything that `fit` keeps is (epsilon, delta)-differentially private for one change of the adjacency, unless
        it is seeded. Public by definition are the parameters, the schema, and the header of `X`.
    What the promise does not cover
        Steps of a pipeline that learn from the rows (a scaler, an imputer, a selection of columns) publish what they
        learn without noise. Give the synthesizer the table as it is: the schema scales and fills in.
        What `predict` or `score` say of private rows depends on those rows and is as private as they are. So are the
        scores of a cross-validation, and which candidate a grid search picks.
        scikit-learn looks at arrays before anything is spent: no rows, or labels and rows that differ in number, are
        errors. A frame is checked by its header alone.

    Example
        >>> from sfumato.sklearn import PrivateSynthesizer
        >>> estimator = PrivateSynthesizer(release.schema, epsilon=1.0, ledger=None, types="declared")
        >>> estimator.fit(private.drop_columns("sex"), private["sex"]).sample(3).num_rows
        3
    """

    def __init__(
        self,
        schema: Schema | Mapping[str, Any] | str | Path | None = None,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        *,
        mechanism: str = "auto",
        adjacency: str = "add-remove",
        components: int | None = None,
        anonymize: str | None = None,
        approximate: str | None = None,
        adapt: str | None = None,
        share: float | None = None,
        ledger: LedgerLike = "default",
        types: Literal["declared"] | None = None,
        random_state: Any = None,
        seed: int | None = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.adjacency = adjacency
        self.components = components
        self.anonymize = anonymize
        self.approximate = approximate
        self.adapt = adapt
        self.share = share
        self.ledger = ledger
        self.types = types
        self.random_state = random_state
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.non_deterministic = self.seed is None
        try:
            schema = self._public_schema()
        except (SfumatoError, ValueError):  # what is wrong with it is said by `fit`
            return tags
        tags.target_tags.required = schema.target is not None
        if _is_listed(schema):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif schema.target is not None:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type = "density_estimator"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def _public_schema(self) -> Schema:
        """The schema that the parameter stands for."""
        if self.schema is None:
            raise ValueError(
                "schema is not given and is never read off the rows; describe the columns: a sfumato.Schema, a "
                "dictionary, or the path of a YAML file (`sfumato schema init` writes a draft from the header)"
            )
        return self.schema if isinstance(self.schema, Schema) else Schema.load(self.schema)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the distribution of these records, and spend the budget.

        X   a frame with the columns of the schema, which may include the target; or an array of its other columns
        y   the target; ignored where the schema has none

        Edge cases
            No schema, one that does not fit the header, no target: an error, nothing is read or spent. Values that the
            schema does not list, out of bounds or missing are no error: they are read as the schema says.
        """
        schema = self._public_schema()
        table = self._frame_to_release(X, y, schema) if is_frame(X) else self._array_to_release(X, y, schema)
        self.release_ = release(
            table,
            schema,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            adjacency=self.adjacency,
            components=self.components,
            anonymize=self.anonymize,
            approximate=self.approximate,
            adapt=self.adapt,
            share=self.share,
            ledger=self.ledger,
            types=self.types if is_frame(X) else "declared",  # an array's cells were converted one by one
            seed=self.seed,
        )
        self.statement_, self.schema_ = self.release_.statement, self.release_.schema
        self.__dict__.pop("classes_", None)
        if _is_listed(self.schema_):
            self.classes_, self._order = _sorted_classes(self.release_.classes)
        return self

    def _frame_to_release(self, X: Any, y: Any, schema: Schema) -> Any:
        """The frame, with y as its target; only its header is looked at."""
        validate_data(self, features_of(X, schema), skip_check_array=True)
        target = schema.target
        if target is None or (y is None and target in names_of(X)):
            return X
        if target in names_of(X):
            raise ValueError(f"X has the target {target!r} already; give y, or leave it in X, not both")
        return with_column(X, target, _required(y), schema[target])

    def _array_to_release(self, X: Any, y: Any, schema: Schema) -> pa.Table:
        """The array as a table of the schema's features, with y as its target."""
        if schema.target is not None:
            _required(y)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False)
        table = table_of_array(X, schema)
        if schema.target is None:
            return table
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return table.append_column(schema.target, column_of_array(y, schema[schema.target]))

    def _table(self, X: Any) -> Any:
        """The features of records, as a table."""
        check_is_fitted(self)
        if is_frame(X):
            validate_data(self, features_of(X, self.schema_), skip_check_array=True, reset=False)
            return X
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
        return table_of_array(X, self.schema_)

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of every class of the target, in the order of `classes_`; only of a listed target."""
        table = self._table(X)
        probabilities: FloatArray = self.release_.predict_proba(table)[:, self._order]
        return probabilities

    @available_if(_has_target)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each record, or the mean of a numeric target; only where there is a target."""
        table = self._table(X)
        if not hasattr(self, "classes_"):
            return self.release_.predict(table)
        likeliest = self.release_.predict_proba(table)[:, self._order].argmax(axis=1)
        predicted: NDArray[Any] = self.classes_.take(likeliest)
        return predicted

    def score_samples(self, X: Any) -> FloatArray:
        """The log density of each record, of its features alone unless `X` is a frame that holds the target."""
        table = self._table(X)
        return self.release_.log_prob(table)

    def score(self, X: Any, y: Any = None) -> float:
        """The share of labels that `predict` gets right, R squared of a number, or without a target mean log density.

        Computed on these rows without noise, and as private as they are.
        """
        check_is_fitted(self)
        if self.schema_.target is None:
            return float(self.score_samples(X).mean())
        if y is None and is_frame(X) and self.schema_.target in names_of(X):
            y = X[self.schema_.target]
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(np.asarray(_required(y)), self.predict(X)))

    def sample(self, n_samples: int | None = None, *, output: FrameKind | None = None) -> Any:
        """Synthetic records, target included: a frame of the kind that was fitted, an Arrow table for arrays.

        It costs nothing: the release is public. By default as many as there were records, with noise.
        """
        check_is_fitted(self)
        seed = int(check_random_state(self.random_state).randint(2**31))
        return self.release_.sample(n_samples, seed=seed, output=output)


def _required(y: Any) -> Any:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None; the schema names a target")
    return y


def _sorted_classes(values: list[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes as scikit-learn wants them, sorted, missing last; and where each stands in the release."""
    order = sorted(range(len(values)), key=lambda place: _rank(values[place]))
    kinds = {type(value) for value in values}
    classes = np.array([values[place] for place in order], dtype=None if len(kinds) == 1 else object)
    return classes, np.array(order)


def _rank(value: Any) -> tuple[int, Any]:
    """Numbers by size, then text by letters, then nothing."""
    if value is None:
        return 2, 0
    return (1, value) if isinstance(value, str) else (0, value)
