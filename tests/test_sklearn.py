"""The face for people who come with `X, y`: scikit-learn's contract, and nothing that was not paid for."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfumato
from sfumato.artefact.verify import verify
from sfumato.errors import BudgetError, BudgetExceededError, RequestError, SchemaError
from sfumato.sklearn import DataDependentWarning, PrivateGaussianMixture
from sfumato.sklearn.public_inputs import bounds_of
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.privacy_filter import units_of

CENTRES = np.array([[0.0, 0.0, 0.0], [4.0, 1.0, -2.0], [-3.0, 5.0, 2.0]])
SHARES = np.array([0.5, 0.3, 0.2])
BOX = (-15.0, 15.0)


def blobs(rows: int = 2_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that lie apart."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, rows, p=SHARES)
    return CENTRES[y] + rng.normal(size=(rows, 3)) * (1.0 + 0.5 * y[:, None]), y


def quick(**parameters) -> PrivateGaussianMixture:
    """One column and one class fit fast; where the answer does not matter."""
    return PrivateGaussianMixture(**{"bounds": (-5, 5), "epsilon": 8.0, "n_components": 1, **parameters})


# The checks compare fits with each other, which only a seed makes equal: it costs privacy and nothing else.
@pytest.mark.slow
@parametrize_with_checks(
    [
        PrivateGaussianMixture(epsilon=8.0, bounds="estimate", classes="observed", seed=0),
        PrivateGaussianMixture(epsilon=8.0, bounds=(-1_000, 1_000), seed=0),
    ]
)
@pytest.mark.filterwarnings("ignore::sfumato.sklearn.DataDependentWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_sfumato_does_not_load_scikit_learn():
    code = "import sys, sfumato; sfumato.release, sfumato.open; print('sklearn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


@pytest.mark.parametrize("bounds", [BOX, "estimate"], ids=str)
def test_labelled_records_are_fitted_as_without_privacy(bounds):
    X, y = blobs()
    new, truth = blobs(seed=1)
    private = PrivateGaussianMixture(epsilon=8.0, bounds=bounds, classes=[2, 0, 1]).fit(X, y)
    plain = GaussianMixture(3, means_init=CENTRES, random_state=0).fit(X)
    assert private.score(new) > plain.score(new) - 0.05
    assert private.score(new, truth) > (plain.predict(new) == truth).mean() - 0.02
    assert list(private.classes_) == [0, 1, 2]
    assert np.abs(private.means_ - CENTRES).max() < 0.4
    assert np.abs(private.weights_ - SHARES).max() < 0.05


@pytest.mark.parametrize("components", [None, 3])
def test_records_without_labels_are_fitted_as_without_privacy(components):
    X, _ = blobs()
    new, _ = blobs(seed=1)
    private = PrivateGaussianMixture(components, epsilon=8.0, bounds=BOX).fit(X)
    assert private.score(new) > GaussianMixture(3, random_state=0).fit(X).score(new) - 0.15
    assert private.n_components_ == 3
    assert not hasattr(private, "classes_")
    assert set(private.predict(new)) == {0, 1, 2}


LABELS = {
    "text": ["no", "yes"],
    "whole numbers": [-1, 1],
    "numbers": [1.0, 2.0],
    "truth": [False, True],
    "objects": np.array(["a", "b"], dtype=object),
    "digits as text": ["1", "10"],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_come_back_as_they_went_in(labels):
    rng = np.random.default_rng(0)
    code = rng.integers(0, 2, 600)
    X, y = rng.normal(size=(600, 1)) * 0.5 + 4 * code[:, None] - 2, np.asarray(labels)[code]
    estimator = quick(n_components=None, classes=labels).fit(X, y)
    assert np.array_equal(estimator.classes_, np.unique(labels))
    assert estimator.predict(X).dtype == estimator.classes_.dtype
    assert (estimator.predict(X) == y).mean() > 0.95
    drawn, label = estimator.sample(400)
    assert set(label.tolist()) == set(np.asarray(labels).tolist())
    assert (estimator.predict(drawn) == label).mean() > 0.95
    with pytest.warns(DataDependentWarning, match="name the labels"):
        observed = quick(n_components=2).fit(X, pd.Series(y))
    assert np.array_equal(observed.classes_, estimator.classes_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        allowed = quick(n_components=None, classes="observed").fit(X, pd.Series(y))
    assert np.array_equal(allowed.classes_, estimator.classes_)


def test_a_class_without_records_has_a_gaussian():
    X, y = blobs(600)
    estimator = PrivateGaussianMixture(epsilon=8.0, bounds=BOX, classes=[0, 1, 2, 3]).fit(X, y)
    assert estimator.means_.shape == (4, 3)
    assert estimator.weights_[3] < 0.05
    assert estimator.predict_proba(X).shape == (600, 4)


def test_names_of_a_frame_are_the_names_of_the_release():
    X, y = blobs(300)
    frame = pd.DataFrame(X, columns=["age", "y", "wage"])
    estimator = quick(n_components=None, classes=[0, 1, 2]).fit(frame, y)
    assert list(estimator.feature_names_in_) == ["age", "y", "wage"]
    assert list(estimator.release_.schema.by_name) == ["age", "y", "wage", "y_"]
    assert estimator.predict(frame).shape == (300,)
    odd = quick().fit(pd.DataFrame(X[:, :2], columns=["run_{0..9}", "b"]))
    assert list(odd.release_.schema.by_name) == ["x0", "x1"]


def test_parameters_are_in_the_units_of_x():
    X, y = blobs()
    estimator = PrivateGaussianMixture(epsilon=8.0, bounds=BOX, classes=[0, 1, 2]).fit(X * [1, 10, 100], y)
    estimator.set_params(bounds=(np.array([-15, -150, -1500]), np.array([15, 150, 1500]))).fit(X * [1, 10, 100], y)
    parts = zip(estimator.weights_, estimator.means_, estimator.covariances_, strict=True)
    places = X[:200] * [1, 10, 100]
    joint = np.column_stack([np.log(w) + multivariate_normal(m, c).logpdf(places) for w, m, c in parts])
    assert estimator.score_samples(places) == pytest.approx(logsumexp(joint, axis=1), abs=1e-6)
    assert estimator.predict_log_proba(places) == pytest.approx(joint - logsumexp(joint, axis=1)[:, None], abs=1e-6)
    table = pd.DataFrame(places, columns=["x0", "x1", "x2"])
    assert estimator.score_samples(places) == pytest.approx(estimator.release_.log_prob(table), abs=0.01)
    assert estimator.predict_proba(places) == pytest.approx(estimator.release_.predict_proba(table), abs=0.01)


def test_far_away_is_unlikely_and_never_an_error():
    X, y = blobs(300)
    estimator = PrivateGaussianMixture(epsilon=8.0, bounds=BOX, classes=[0, 1, 2]).fit(X, y)
    far = np.array([[100.0] * 3, [-1e300, 1e300, 0.0]])
    assert (estimator.score_samples(far) < -100).all()
    assert estimator.predict_proba(far).sum(axis=1) == pytest.approx(1)


def test_detailed_gaussians_belong_to_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4_000)
    X = rng.standard_t(3, size=(4_000, 2)) + 6 * y[:, None]
    estimator = PrivateGaussianMixture(epsilon=8.0, bounds=(-40, 40), classes=[0, 1], estimate="detailed").fit(X, y)
    assert estimator.n_components_ == 2
    assert len(estimator.means_) == len(estimator.owners_) > 2
    assert list(estimator.owners_) == sorted(estimator.owners_)
    assert estimator.predict_proba(X).shape == (4_000, 2)
    assert estimator.score(X, y) > 0.9


def test_pipeline_clone_and_search():
    X, y = blobs(600)
    scaled = FunctionTransformer(lambda values: (values - 3.0) / 5.0)  # a public scale, not one read off the rows
    pipeline = make_pipeline(scaled, PrivateGaussianMixture(epsilon=8.0, bounds=(-4, 4), classes=[0, 1, 2]))
    assert clone(pipeline).fit(X, y).score(X, y) > 0.9
    search = GridSearchCV(
        PrivateGaussianMixture(epsilon=8.0, bounds=BOX, classes=np.arange(3)), {"estimate": ["mixture", "wide"]}, cv=2
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert is_classifier(search)
    assert not is_classifier(quick())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bounds": None}, "never read off the rows.*bounds='estimate'"),
        ({"bounds": "guess"}, "'guess'; give numbers, or say 'estimate'"),
        ({"bounds": (5, -5)}, "feature 0: 5 is not below -5"),
        ({"bounds": (0, np.inf)}, "do not fit 3 features"),
        ({"bounds": np.zeros((2, 2))}, "do not fit 3 features"),
        ({"n_components": 2.5}, "2.5; it must be a whole number"),
        ({"n_components": None, "classes": "all"}, "'all'; list the labels"),
        ({"n_components": None, "classes": []}, "names no class"),
        ({"n_components": None, "classes": [0, 1]}, "a label that classes does not name"),
        ({"estimate": "narrow"}, "use one of mixture, wide, detailed"),
        ({"adjacency": "row"}, "use one of add-remove, replace, label"),
        ({"adjacency": "label", "classes": [0, 1, 2], "bounds": "estimate"}, "bounds as numbers"),
        ({"dataset": None}, "give dataset="),
    ],
)
def test_what_nobody_said_is_refused_before_anything_is_spent(parameters, message, tmp_path):
    X, y = blobs(50)
    book = sfumato.Ledger(tmp_path / "ledger")
    with pytest.raises(ValueError, match=message):
        quick(**{"ledger": book, "dataset": "blobs", "classes": [0, 1, 2], **parameters}).fit(X, y)
    assert book.entries() == []


def test_what_the_mixture_refuses_is_refused_before_bounds_are_bought(tmp_path):
    book = sfumato.Ledger(tmp_path / "ledger")
    terms = {"bounds": "estimate", "ledger": book, "dataset": "d"}
    for error, X, parameters in (
        (SchemaError, np.zeros((5, 33)), {}),
        (RequestError, np.zeros((5, 2)), {"n_components": 51}),
        (BudgetError, np.zeros((5, 2)), {"epsilon": 0.0}),
        (BudgetError, np.zeros((5, 2)), {"epsilon": 1e-5}),
    ):
        with pytest.raises(error):
            quick(**terms, **parameters).fit(X)
    assert book.entries() == []
    refused = quick(epsilon=0.0)
    with pytest.raises(BudgetError):
        refused.fit(np.zeros((5, 2)))
    for estimator in (refused, quick()):
        with pytest.raises(NotFittedError):
            estimator.predict(np.zeros((5, 2)))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_bought_bounds_are_paid_for(adjacency, tmp_path):
    X, y = blobs(600)
    book = sfumato.Ledger(tmp_path / "ledger")
    budget = Budget(8.0, 1e-6)
    book.set_limit("blobs", budget, Adjacency(adjacency))
    estimator = PrivateGaussianMixture(
        epsilon=8.0, bounds="estimate", classes=[0, 1, 2], adjacency=adjacency, ledger=book, dataset="blobs"
    ).fit(X, y)
    statement = estimator.statement_
    assert (statement.epsilon, statement.delta, statement.adjacency) == (8.0, 1e-6, adjacency)
    assert statement == estimator.release_.statement
    assert statement.units_spent == sum(units_of(item.mu) for item in estimator.release_.measurements) <= budget.units
    assert [item.what for item in statement.items[:3]] == ["bounds of 3 columns"] * 3
    assert [item.what for item in statement.items].count("bounds of 3 columns") == len(estimator.bought_)
    assert statement.items[0].sensitivity == pytest.approx(np.sqrt(3 if adjacency == "add-remove" else 6))
    estimator.release_.save(tmp_path / "bundle")
    opened = sfumato.open(tmp_path / "bundle")
    assert opened.statement == statement
    assert all(check.holds for check in verify(opened))
    _, reserved, committed = book.entries()
    assert reserved.units == budget.units
    assert reserved.hash == statement.reservation
    assert statement.hash in committed.detail
    with pytest.raises(BudgetExceededError):
        estimator.fit(X, y)


def test_bounds_that_are_known_cost_nothing(tmp_path):
    X, _ = blobs(200)
    book = sfumato.Ledger(tmp_path / "ledger")
    estimator = quick(ledger=book, dataset="blobs").fit(X)
    assert estimator.bought_ == ()
    assert estimator.statement_ == estimator.release_.statement
    assert estimator.statement_.label == "proven"
    estimator.release_.save(tmp_path / "bundle")
    assert sfumato.open(tmp_path / "bundle").statement.reservation == book.entries()[0].hash
    assert quick(seed=1).fit(X).statement_.label == quick(bounds="estimate", seed=1).fit(X).statement_.label
    assert quick(seed=1).fit(X).statement_.seeded


COLUMNS = {
    "around 0": lambda rng: rng.normal(size=3_000),
    "around 1000": lambda rng: 1_000 + rng.normal(size=3_000),
    "a million": lambda rng: 1e6 * (1 + 0.01 * rng.normal(size=3_000)),
    "small": lambda rng: 0.01 * rng.normal(size=3_000),
    "skewed": lambda rng: np.exp(rng.normal(size=3_000)),
    "two clusters": lambda rng: np.where(rng.random(3_000) < 0.3, 500, 0) + rng.normal(size=3_000),
}


def test_bought_bounds_hold_the_records_and_little_else():
    rng = np.random.default_rng(0)
    X = np.column_stack([make(rng) for make in COLUMNS.values()])
    for seed in range(3):
        bounds = PrivateGaussianMixture(epsilon=3.0, bounds="estimate", n_components=1, seed=seed).fit(X).bounds_
        assert ((bounds[:, 0] <= X) & (bounds[:, 1] >= X)).mean(axis=0).min() > 0.97
        assert (np.ptp(bounds, axis=1) / X.std(axis=0)).max() < 600


def test_too_few_records_leave_the_widest_bounds():
    estimator = PrivateGaussianMixture(epsilon=0.1, bounds="estimate", n_components=1, adjacency="replace", seed=0)
    assert estimator.fit(np.zeros((5, 2))).bounds_.tolist() == [[-1e6, 1e6]] * 2


def test_random_state_is_for_samples_and_never_for_noise():
    X, _ = blobs(300)
    first, second = (quick(bounds=BOX, random_state=0).fit(X) for _ in range(2))
    assert not np.array_equal(first.means_, second.means_)
    drawn, component = first.sample(1_000)
    assert np.array_equal(drawn, first.sample(1_000)[0])
    assert not np.array_equal(drawn, first.set_params(random_state=1).sample(1_000)[0])
    assert drawn.shape == (1_000, 3)
    assert set(component) == {0}
    assert ((drawn >= BOX[0]) & (drawn <= BOX[1])).all()
    with pytest.raises(ValueError, match="ask for 1 or more"):
        first.sample(0)
    same = [quick(bounds=BOX, seed=3).fit(X).means_ for _ in range(2)]
    assert np.array_equal(*same)


@pytest.mark.slow
def test_a_fitted_estimator_holds_no_row():
    X, y = blobs(60)
    X[:, 0] = np.random.default_rng(3).normal(size=60)
    estimator = PrivateGaussianMixture(epsilon=8.0, bounds="estimate", classes=[0, 1, 2]).fit(X, y)
    stored = pickle.dumps(estimator)
    assert not any(value.tobytes() in stored for value in X.ravel())
    assert np.array_equal(pickle.loads(stored).predict(X), estimator.predict(X))


def test_label_adjacency_protects_labels():
    X, y = blobs(600)
    estimator = PrivateGaussianMixture(epsilon=8.0, bounds=BOX, classes=[0, 1, 2], adjacency="label").fit(X, y)
    assert estimator.statement_.adjacency == "label"
    assert estimator.score(X, y) > 0.9


def test_bounds_in_every_form():
    wanted = [[0.0, 1.0], [0.0, 2.0]]
    assert bounds_of((0, 1), 2).tolist() == [[0, 1], [0, 1]]
    assert bounds_of([0, 1], 2).tolist() == [[0, 1], [0, 1]]
    assert bounds_of((0, [1, 2]), 2).tolist() == wanted
    assert bounds_of((np.zeros(2), np.array([1, 2])), 2).tolist() == wanted
    assert bounds_of(np.array(wanted), 2).tolist() == wanted
    assert bounds_of(wanted, 2).tolist() == wanted
    for wrong in (3, (0, "x"), (0, [1, 2, 3]), [(0, 1)] * 3, (0, 1, 2), {}):
        with pytest.raises(ValueError, match="do not fit 2 features"):
            bounds_of(wrong, 2)


def test_fitting_without_labels_forgets_classes():
    X, y = blobs(200)
    estimator = quick(n_components=None, classes=[0, 1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="requires y"):
        estimator.fit(X)
    estimator.set_params(classes=None, n_components=1).fit(X)
    assert not hasattr(estimator, "classes_")
    assert estimator.fit_predict(X).tolist() == [0] * 200
