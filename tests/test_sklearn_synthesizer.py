"""`PrivateSynthesizer`: scikit-learn's contract as far as privacy allows, and no row that was not paid for."""

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import sfumato
from sfumato.errors import BudgetExceededError, DataError, RequestError, SchemaError
from sfumato.sklearn import PrivateSynthesizer
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from tests.conftest import MIXED, in_pandas, make_table

SCHEMA = {
    "sfumato": 1,
    "name": "visits",
    "target": "ill",
    "columns": [
        {"name": "age", "type": "integer", "bounds": [0, 99]},
        {"name": "dose", "type": "number", "bounds": [0, 10], "missing": True},
        {"name": "ward", "type": "category", "values": ["b", "a"]},
        {"name": "ill", "type": "category", "values": ["yes", "no"]},
    ],
}
DENSITY = {**SCHEMA, "target": None}
NUMERIC = {**SCHEMA, "target": "age"}


def visits(rows: int = 1_500, seed: int = 0) -> pd.DataFrame:
    """Older patients, and those on ward a, are ill more often."""
    rng = np.random.default_rng(seed)
    age, ward = rng.integers(0, 100, rows), rng.integers(0, 2, rows)
    ill = rng.random(rows) < 0.05 + 0.8 * (age > 50) + 0.1 * ward
    dose = np.where(rng.random(rows) < 0.1, np.nan, rng.uniform(0, 5, rows) + 4 * ill)
    return pd.DataFrame(
        {
            "age": age.astype("int32"),
            "dose": dose.astype("float32"),
            "ward": pd.Categorical(np.array(["b", "a"])[ward]),
            "ill": np.array(["no", "yes"])[ill.astype(int)],
        }
    )


def quick(schema=SCHEMA, **more) -> PrivateSynthesizer:
    return PrivateSynthesizer(schema, **{"epsilon": 4.0, "ledger": None, "types": "declared", **more})


@pytest.fixture(scope="module")
def fitted():
    table = visits()
    return quick(random_state=0).fit(table.drop(columns="ill"), table["ill"])


class OfAnyShape(PrivateSynthesizer):
    """What the checks need: a schema for whatever width and labels they come with. A user names them."""

    def __init__(
        self,
        kind=None,
        epsilon=8.0,
        delta=1e-6,
        *,
        mechanism="auto",
        adjacency="add-remove",
        components=None,
        ledger=None,
        types="declared",
        random_state=None,
        seed=0,
    ) -> None:
        self.kind = kind
        super().__init__(
            None,
            epsilon,
            delta,
            mechanism=mechanism,
            adjacency=adjacency,
            components=components,
            ledger=ledger,
            types=types,
            random_state=random_state,
            seed=seed,
        )

    def _public_schema(self):
        return getattr(self, "_made", None) or self._schema_for(["x0"], [0, 1])

    def fit(self, X, y=None):
        array = np.asarray(X)
        width = array.shape[1] if array.ndim == 2 else 1
        names = map(str, X.columns) if hasattr(X, "columns") else [f"x{place}" for place in range(max(1, width))]
        labels = np.asarray([0, 1] if y is None else y)
        plain = labels.dtype.kind != "c" and labels.size
        self._made = self._schema_for(names, np.unique(labels).tolist() if plain else [0, 1])
        return super().fit(X, y)

    def _schema_for(self, names, labels):
        columns = [{"name": name, "type": "number", "bounds": [-1_000, 1_000]} for name in names]
        if self.kind == "classes":
            columns.append({"name": "label", "type": "category", "values": labels})
        if self.kind == "number":
            columns.append({"name": "label", "type": "number", "bounds": [-500, 500]})
        target = "label" if self.kind else None
        return sfumato.Schema.from_dict({"sfumato": 1, "name": "any", "columns": columns, "target": target})


NO_WORD_ABOUT_LABELS = (
    "whether a private label is missing, infinite or not in the schema must not be told by an error: it is read as the "
    "schema says"
)
NOT_PASSED = {
    "classes": {
        "check_supervised_y_no_nan": NO_WORD_ABOUT_LABELS,
        "check_classifiers_regression_target": NO_WORD_ABOUT_LABELS,
    },
    "number": {
        "check_supervised_y_no_nan": NO_WORD_ABOUT_LABELS,
        "check_regressors_train": "R squared above 0.5 on its 200 rows is beyond what the noise leaves",
    },
    None: {},
}
"""Checks of scikit-learn that privacy does not allow, with the reason; any other must pass, and these must fail."""
WITHOUT_FITTING = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)


# The checks compare fits with each other, which only a seed makes equal: it costs privacy and nothing else.
@pytest.mark.slow
@parametrize_with_checks(
    [OfAnyShape(kind) for kind in NOT_PASSED], expected_failed_checks=lambda asked: NOT_PASSED[asked.kind]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", NOT_PASSED)
def test_scikit_learns_checks_that_fit_nothing(kind):
    checks = {check.func.__name__: check for _, check in estimator_checks_generator(OfAnyShape(kind))}
    assert set(WITHOUT_FITTING) <= set(checks)
    for name in WITHOUT_FITTING:
        checks[name](OfAnyShape(kind))


def test_a_frame_is_fitted_sampled_predicted_and_scored(fitted):
    new = visits(seed=1)
    features, truth = new.drop(columns="ill"), new["ill"]
    assert fitted.score(features, truth) > 0.8
    assert fitted.score(new) == fitted.score(features, truth)
    assert fitted.classes_.tolist() == ["no", "yes"]
    proba = fitted.predict_proba(features)
    assert proba.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(fitted.classes_[proba.argmax(axis=1)], fitted.predict(features))
    assert np.array_equal(proba[:, 1], fitted.release_.predict_proba(features)[:, fitted.release_.classes.index("yes")])
    drawn = fitted.sample(200)
    assert isinstance(drawn, pd.DataFrame)
    assert drawn.dtypes.astype(str).to_dict() == new.dtypes.astype(str).to_dict()
    assert len(fitted.sample()) == fitted.release_.size
    assert fitted.score_samples(features).shape == (1_500,)
    assert fitted.statement_.label == "proven"
    assert list(fitted.feature_names_in_) == ["age", "dose", "ward"]


def test_the_parts_of_3a_are_parameters(tmp_path):
    parts = {"anonymize": "kernel", "adapt": "leaves", "share": 0.3}
    asked = clone(quick(mechanism="3a").set_params(**parts))
    assert asked.get_params().items() >= parts.items()
    released = asked.fit(visits()).release_
    assert released.plan.settings == parts
    assert released.plan.choices == {**parts, "approximate": "mixture"}
    book = sfumato.Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(RequestError, match="for mechanism 3a alone"):
        quick(adapt="leaves", ledger=book).fit(visits())
    assert not book.entries()


def test_random_state_repeats_samples_and_never_the_noise(fitted):
    assert fitted.sample(20).equals(fitted.sample(20))
    other = clone(fitted).fit(visits())
    assert not other.sample(20).equals(fitted.sample(20))
    assert not other.statement_.seeded
    twice = [quick(seed=1, random_state=0).fit(visits(300)) for _ in range(2)]
    assert twice[0].sample(20).equals(twice[1].sample(20))
    assert twice[0].statement_.seeded


@pytest.mark.parametrize("convert", [pa.Table.from_pandas, pl.from_pandas], ids=["arrow", "polars"])
def test_other_frames_come_back_as_they_went_in(convert):
    table = visits(400)
    frame = convert(table.astype({"ward": str}))
    estimator = quick().fit(frame)
    assert type(estimator.sample(5)) is type(frame)
    features = convert(table.drop(columns="ill").astype({"ward": str}))
    assert estimator.predict(features).shape == (400,)
    again = quick().fit(features, table["ill"].to_numpy().tolist())
    assert set(again.sample(50, output="pandas")["ill"]) == {"no", "yes"}


def test_an_array_has_the_features_in_the_order_of_the_schema():
    table = visits()
    array = table.drop(columns="ill").astype(object).to_numpy()
    estimator = quick(types=None).fit(array, table["ill"].to_numpy())
    drawn = estimator.sample(1_000)
    assert drawn.column_names == ["age", "dose", "ward", "ill"]
    assert drawn["dose"].null_count == pytest.approx(100, abs=60)
    assert drawn.to_pandas()["ward"].value_counts()["a"] == pytest.approx(500, abs=100)
    assert estimator.score(array, table["ill"].to_numpy()) > 0.8
    with pytest.raises(ValueError, match="X has 2 features, but PrivateSynthesizer is expecting 3"):
        estimator.predict(array[:, :2])
    with pytest.raises(ValueError, match="has 3 columns besides the target"):
        quick().fit(array[:, :2], table["ill"])


def test_numbers_stand_for_categories_and_dates_need_a_frame():
    schema = {
        "sfumato": 1,
        "name": "codes",
        "target": "y",
        "columns": [
            {"name": "x", "type": "category", "values": [3, 1]},
            {"name": "y", "type": "boolean"},
        ],
    }
    rng = np.random.default_rng(0)
    X = rng.choice([1, 3], (800, 1))
    estimator = quick(schema).fit(X, X[:, 0] == 3)
    assert estimator.classes_.tolist() == [False, True]
    assert estimator.score(X, X[:, 0] == 3) == 1.0
    dated = {
        "sfumato": 1,
        "name": "d",
        "columns": [{"name": "d", "type": "date", "bounds": ["2020-01-01", "2020-12-31"]}],
    }
    with pytest.raises(ValueError, match="column 'd' is of type date, which an array cannot hold; give a frame"):
        quick(dated).fit(X)
    days = np.array([[dt.date(2020, 5, day % 28 + 1)] for day in range(300)], dtype=object)
    for array in (days, days.astype("datetime64[D]")):
        with pytest.raises(ValueError, match="which an array cannot hold"):
            quick(dated).fit(array)


def test_without_a_target_there_is_a_density_and_with_a_number_a_mean():
    table = visits()
    density = quick(DENSITY).fit(table, "ignored")
    assert not hasattr(density, "predict")
    assert not hasattr(density, "classes_")
    assert np.isfinite(density.score(table))
    mean = quick(NUMERIC).fit(table)
    assert is_regressor(mean)
    assert not hasattr(mean, "predict_proba")
    assert 0.1 < mean.score(table.drop(columns="age"), table["age"]) < 1
    assert is_classifier(quick())
    assert not is_classifier(density)


@pytest.mark.parametrize(
    ("error", "estimator", "X", "y", "message"),
    [
        (ValueError, quick(None), visits(5), None, "schema is not given and is never read off the rows"),
        (SchemaError, quick({}), visits(5), None, "is required and not there"),
        (SchemaError, quick(3), visits(5), None, "a int is no schema"),
        (ValueError, quick(), visits(5).drop(columns="ill"), None, "requires y to be passed"),
        (ValueError, quick(), np.zeros((5, 3)), None, "requires y to be passed"),
        (ValueError, quick(), visits(5), visits(5)["ill"], "has the target 'ill' already"),
        (ValueError, quick(), visits(5).drop(columns="ill"), ["no"], "different numbers of rows"),
        (DataError, quick(), visits(5).drop(columns="age"), None, "has no column 'age'"),
        (RequestError, quick(mechanism="magic"), visits(5), None, "mechanism is 'magic'"),
    ],
)
def test_what_nobody_said_is_refused_before_anything_is_spent(error, estimator, X, y, message, tmp_path):
    book = sfumato.Ledger(tmp_path / "ledger")
    with pytest.raises(error, match=message):
        estimator.set_params(ledger=book).fit(X, y)
    assert book.entries() == []
    with pytest.raises(NotFittedError):
        estimator.sample()


def test_persons_are_told_apart_in_a_frame_only():
    schema = {**SCHEMA, "unit": {"column": "who", "records": 2}}
    table = visits(600).assign(who=np.arange(600) // 3)
    estimator = quick(schema).fit(table)
    assert "one person" in estimator.statement_.protects
    assert list(estimator.feature_names_in_) == ["age", "dose", "ward"]
    assert estimator.predict(visits(5).drop(columns="ill")).shape == (5,)
    with pytest.raises(ValueError, match="cannot hold column 'who', which tells persons apart"):
        quick(schema).fit(np.zeros((5, 3)), ["no"] * 5)


def test_every_fold_and_candidate_is_written_down_and_the_limit_holds(tmp_path):
    table = visits(400)
    X, y = table.drop(columns="ill"), table["ill"]
    book = sfumato.Ledger(tmp_path / "ledger")
    asked = quick(epsilon=2.0, ledger=book.place)
    assert len(cross_val_score(asked, X, y, cv=2)) == 2
    (account,) = book.accounts("visits")
    assert (account.releases, account.spent) == (2, 2 * Budget(2.0, 1e-6).units)
    search = GridSearchCV(asked, {"mechanism": ["tables"], "epsilon": [1.0, 2.0]}, cv=2).fit(X, y)
    assert book.accounts("visits")[0].releases == 2 + 2 * 2 + 1
    assert search.predict(X).shape == (400,)
    book.set_limit("visits", Budget(3.0, 1e-6), Adjacency.ADD_REMOVE)
    with pytest.raises(BudgetExceededError):
        asked.fit(X, y)


def test_a_pipeline_with_public_steps():
    table = visits()
    half = FunctionTransformer(lambda frame: frame.assign(age=frame["age"] // 2))  # a public function of each row
    pipeline = make_pipeline(half, quick())
    assert (
        clone(pipeline).fit(table.drop(columns="ill"), table["ill"]).score(table.drop(columns="ill"), table["ill"])
        > 0.8
    )


def test_a_schema_as_file_dictionary_or_object(tmp_path):
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED)
    table = in_pandas(make_table(300))
    for schema in (path, str(path), sfumato.Schema.load(path), sfumato.Schema.load(path).to_dict()):
        assert is_classifier(clone(quick(schema)))
    assert clone(quick(str(path))).fit(table).schema_ == sfumato.Schema.load(path)


def test_a_fitted_estimator_is_short_to_print_and_holds_no_row(fitted):
    secret = visits(60, seed=7)
    secret["dose"] = np.random.default_rng(3).normal(5, 1, 60).astype("float32")
    estimator = quick().fit(secret)
    stored = pickle.dumps(estimator)
    assert not any(value.tobytes() in stored for value in secret["dose"].to_numpy())
    assert pickle.loads(stored).sample(3).shape == (3, 4)
    assert len(repr(fitted)) < 1_000
