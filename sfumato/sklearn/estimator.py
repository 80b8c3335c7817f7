"""`PrivateGaussianMixture`: fit, predict, score and sample, as scikit-learn's own estimators do."""
# ruff: noqa: N803 - X is scikit-learn's name for it

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray

try:
    from sklearn.base import BaseEstimator
    from sklearn.metrics import accuracy_score
    from sklearn.utils import ClassifierTags, check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ImportError('sfumato.sklearn needs scikit-learn 1.6 or newer: pip install "sfumato[sklearn]"') from None

from sfumato.artefact.release import Release
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture
from sfumato.fitting.models.logarithms import log_sum
from sfumato.sklearn.public_inputs import bounds_of, classes_of, codes_of, names_of
from sfumato.sklearn.refusals import refuse
from sfumato.sklearn.releasing import Records, Terms, bounds_in, release_mixture
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import DEFAULT_DELTA, Budget
from sfumato.trusted.reservation import LedgerLike

_UNNAMED = "unnamed arrays"
_FAR = 1e100  # in ranges of a column: its square is still a number


class PrivateGaussianMixture(BaseEstimator):  # type: ignore[misc]
    """Gaussians of private records: one for each class of `y`, or as many as noisy counts bear out.

    A thin face over `sfumato.release(..., mechanism="mixture")`. Every `fit` is a release and spends the whole
    (epsilon, delta); so does every fold and every candidate of a cross-validation or a grid search, and their costs add
    up. Name a `ledger` and a `dataset`, and they are written down and can be limited.

    n_components    the most Gaussians that records without `y` get (None: 10); the released counts say how many. With
                    `y` there is one for each class, whatever is said here
    epsilon, delta  the whole budget of one fit
    bounds          between which values each feature lies, from what it means, never from the rows: (low, high), each a
                    number or an array of one number for each feature, or an array of shape (n_features, 2). A value
                    outside counts as the bound. Ten times too wide does little harm, a hundred times too wide does.
                    "estimate": nobody knows; spend a twentieth of the budget on finding out, as `bounds: estimate` of a
                    schema does. It takes some 1000 sqrt(n_features) / epsilon records
    classes         the labels that may occur in `y`: public knowledge, named by you. A class without records is no
                    error. None: those that occur in `y` are taken, with a `DataDependentWarning`, for nobody has
                    protected which labels occur. "observed": the same without the warning, for labels that everybody
                    may know
    adjacency       "add-remove" (one record more or less), "replace" or "label"
    estimate        how the release is read: "mixture" for its parameters, "wide", or "detailed" for up to three
                    Gaussians in a class with heavy tails (see `Release.estimate`)
    ledger          where the spending is written down: a path, a `Ledger`, "default" for the user's own; None: nowhere
    dataset         the name of the records in the ledger
    random_state    for `sample` alone. The noise of the release is always drawn from the operating system
    seed            for tests and studies: the noise follows from it and the release is marked "seeded: not private"

    After `fit`
        weights_, means_, covariances_   of every Gaussian, in the units of `X`; with labels in the order of `classes_`
        owners_         the class or component that each Gaussian belongs to; several share one under "detailed" only
        n_components_   how many classes or components there are: the columns of `predict_proba`
        classes_        the classes, sorted; there are none without labels
        bounds_         of every feature (n_features, 2)
        release_        the `Release`; `release_.save(path)` writes its bundle
        statement_      what was promised and what each measurement cost, that of bought bounds included
        bought_         the measurements that bought bounds follow from
        n_features_in_, feature_names_in_   as in scikit-learn

    Formal guarantees
        Everything that `fit` keeps is (epsilon, delta)-differentially private for one change of the adjacency, unless
        it is seeded. Public by definition are the parameters, the number and names of the features, and the classes.
        The number of records is used nowhere.
    What the promise does not cover
        scikit-learn validates before anything is spent, and it reads the rows to do so: no records, a NaN or infinity,
        labels that are no classes, a label that `classes` does not name, are errors, which may quote a value. Who sees
        whether `fit` raised must be somebody who may see the rows.
        What `predict` or `score` say of private rows depends on those rows and is as private as they are.
    """

    def __init__(
        self,
        n_components: int | None = None,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        *,
        bounds: Any = None,
        classes: Any = None,
        adjacency: str = "add-remove",
        estimate: str = "mixture",
        ledger: LedgerLike = None,
        dataset: str | None = None,
        random_state: Any = None,
        seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.adjacency = adjacency
        self.estimate = estimate
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        labelled = self.classes is not None
        tags.estimator_type = "classifier" if labelled else "density_estimator"
        tags.classifier_tags = ClassifierTags() if labelled else None
        tags.target_tags.required = labelled
        tags.non_deterministic = self.seed is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the Gaussians of these records, and spend the budget.

        Edge cases
            No `bounds`, or `classes` without labels: `ValueError`, nothing is read. A budget, a number of features or
            of components that cannot be: an error of `sfumato.errors`, nothing is spent.
        """
        refuse(self, labelled=y is not None)
        terms = Terms(
            Budget(self.epsilon, self.delta),
            Adjacency(self.adjacency),
            self.n_components if y is None else None,
            self.dataset or _UNNAMED,
            self.ledger,
            self.seed,
        )
        records = self._records(X, y)
        bounds = None if isinstance(self.bounds, str) else bounds_of(self.bounds, len(records.names))
        self._keep(release_mixture(records, terms, bounds), records)
        return self

    def _records(self, X: Any, y: Any) -> Records:
        """The arrays as scikit-learn validates them."""
        classes = codes = None
        if y is None:
            X = validate_data(self, X, dtype=np.float64)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
            check_classification_targets(y)
            classes = classes_of(self.classes, y)
            codes = codes_of(classes, y)
        return Records(X, codes, names_of(getattr(self, "feature_names_in_", None), X.shape[1]), classes)

    def _keep(self, made: Release, records: Records) -> None:
        """Keep what is public: the release and its parameters in the units of X."""
        self.release_ = made.estimate(self.estimate)
        self.statement_, self.bought_ = made.statement, made.completing
        self.bounds_ = bounds_in(made.schema, records.names)
        gaussians, spans = self._gaussians, np.ptp(self.bounds_, axis=1)
        order = np.argsort(gaussians.owner, kind="stable")
        self.owners_ = gaussians.owner[order]
        self.weights_ = gaussians.weights[order]
        self.means_ = self.bounds_[:, 0] + spans * gaussians.means[order]
        self.covariances_ = np.outer(spans, spans) * gaussians.covs[order]
        self.n_components_ = self._model.classes
        self.__dict__.pop("classes_", None)
        if records.classes is not None:
            self.classes_ = records.classes

    @property
    def _model(self) -> GaussianMixture:
        model = self.release_.model
        assert isinstance(model, GaussianMixture)  # noqa: S101 - fit releases nothing else
        return model

    @property
    def _gaussians(self) -> Gaussians:
        return self._model.gaussians

    def _log_joint(self, X: Any) -> FloatArray:
        """log of weight times density of each record in every Gaussian, in units of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        spans = np.ptp(self.bounds_, axis=1)
        with np.errstate(over="ignore"):
            places = ((X - self.bounds_[:, 0]) / spans).clip(-_FAR, _FAR)
        joint: FloatArray = self._gaussians.log_joint(places, np.arange(len(spans))) - np.log(spans).sum()
        return joint

    def score_samples(self, X: Any) -> FloatArray:
        """The log density of each record. A record beyond the bounds is not clamped: far away is unlikely."""
        return log_sum(self._log_joint(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithm of `predict_proba`."""
        joint = self._log_joint(X)
        owner = self._gaussians.owner
        classes = [log_sum(joint[:, owner == one]) for one in range(self.n_components_)]
        shares: FloatArray = np.column_stack(classes) - log_sum(joint)[:, None]
        return shares

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of every class, or of every component where there are no labels."""
        probabilities: FloatArray = np.exp(self.predict_log_proba(X))
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each record, or the number of the likeliest component where there are no labels."""
        return self._named(self.predict_log_proba(X).argmax(axis=1))

    def _named(self, codes: IntArray) -> NDArray[Any]:
        classes: NDArray[Any] | None = getattr(self, "classes_", None)
        return codes if classes is None else classes.take(codes)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit, then predict the same records; the answer depends on them and is as private as they are."""
        return self.fit(X, y).predict(X)

    def score(self, X: Any, y: Any = None) -> float:
        """The share of labels that `predict` gets right; the mean log density where there are none."""
        check_is_fitted(self)
        if y is not None and hasattr(self, "classes_"):
            return float(accuracy_score(y, self.predict(X)))
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, NDArray[Any]]:
        """Synthetic records and the class or component of each, in random order.

        A draw beyond the bounds is set to the bound, as a record's value was. It costs nothing: the release is public.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"a sample of {n_samples} records cannot be drawn; ask for 1 or more")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        places, owner = self._gaussians.sample(n_samples, rng)
        drawn = self.bounds_[:, 0] + np.ptp(self.bounds_, axis=1) * places.clip(0.0, 1.0)
        return drawn.clip(*self.bounds_.T), self._named(owner)
