"""The density of a subspace model, and what it tells of a column from the others."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sfumato.errors import RequestError
from sfumato.trusted.encoding import Batch
from tests.models.subspaces import (
    CODES,
    EVERY,
    ROWS,
    SCALES,
    UNLABELLED,
    K,
    chosen,
    dense,
    encoded,
    given,
    log_joint,
    make,
    normalised,
    numbers_of,
    places_of,
)


def spread(name, count=20_001):
    """Values of a number column, and how much of the column each stands for."""
    ends = SCALES[name].number_at(np.linspace(0, 1, count + 1))
    return (ends[1:] + ends[:-1]) / 2, np.diff(ends)


class TestDensity:
    @pytest.mark.parametrize("name", ["height", "dose", "age", "visits", "x_1"])
    def test_adds_up_to_1_in_one_column(self, model, name):
        """But for what lies beyond the bounds, or on them where the bounds have a probability of their own."""
        scale, j = SCALES[name], list(SCALES).index(name)
        if scale.whole:
            total = np.exp(model.log_density(encoded(**{name: np.arange(scale.high + 1)}), CODES)).sum()
            bounds = 0.0
        else:
            values, widths = spread(name)
            total = np.exp(model.log_density(encoded(**{name: values}), CODES)) @ widths
            bounds = np.exp(model.log_density(encoded(**{name: [scale.low, scale.high]}), CODES)).sum()
        if model.marginals is None:
            middles, covs = dense(model)
            ends = [
                weight * np.diff(multivariate_normal(middle[j], cov[j, j]).cdf([0.0, 1.0]))
                for weight, middle, cov in zip(model.weights, middles, covs, strict=True)
            ]
            assert total == pytest.approx(np.sum(ends), abs=6e-3)  # a step counts with its middle
        else:
            assert total + bounds == pytest.approx(1, abs=2e-3)
            p = model.marginals[j]
            first = np.exp(model.log_density(encoded(**{name: [scale.low, scale.high]}), CODES))
            assert first == pytest.approx(p[[0, -1]])

    def test_is_that_of_the_full_matrices(self):
        model = make()
        batch = model.sample(50, np.random.default_rng(1))
        for names in (tuple(SCALES), ("x_1", "height", "visits"), ("age",)):
            ordered = [name for name in SCALES if name in names]
            columns = np.array([list(SCALES).index(name) for name in ordered])
            joint = log_joint(model, places_of(batch, ordered), columns)
            slopes = sum(np.log(SCALES[name].slope(batch.codes[name])) for name in ordered)
            found = model.log_density(chosen(batch, *names), CODES)
            assert np.allclose(found, np.log(np.exp(joint).sum(axis=1)) + slopes)
            known = model.log_density(chosen(batch, *names, "kind"), CODES)
            assert np.allclose(known, joint[np.arange(50), batch.codes["kind"]] + slopes)

    def test_of_two_columns_adds_up(self):
        model = make(marginals=True)
        marginals = model.marginals.copy()
        marginals[:, [0, -1]] = 0  # all of it between the bounds
        model = replace(model, marginals=marginals / marginals.sum(axis=1, keepdims=True))
        side = 300
        values = -1 + (np.arange(side) + 0.5) * 2 / side
        x, y = (grid.ravel() for grid in np.meshgrid(values, values))
        total = np.exp(model.log_density(encoded(x_0=x, x_2=y), CODES)).sum() * (2 / side) ** 2
        assert total == pytest.approx(1, abs=0.01)

    def test_of_two_columns_is_that_of_a_sample(self):
        """With almost no residual, what is drawn has the density that is told; atoms included."""
        model = make(marginals=True, residual=1e-6, directions=5)
        batch = model.sample(ROWS, np.random.default_rng(0))
        x, y = (numbers_of(batch, name) for name in ("x_0", "x_2"))
        ends = np.linspace(-1, 1, 9)
        fine = np.linspace(-1, 1, 161)
        middles = (fine[1:] + fine[:-1]) / 2
        a, b = (grid.ravel() for grid in np.meshgrid(middles, middles, indexing="ij"))
        density = np.exp(model.log_density(encoded(x_0=a, x_2=b), CODES)).reshape(160, 160) * (2 / 160) ** 2
        told = density.reshape(8, 20, 8, 20).sum(axis=(1, 3))
        seen = np.histogram2d(x[(np.abs(x) < 1) & (np.abs(y) < 1)], y[(np.abs(x) < 1) & (np.abs(y) < 1)], [ends, ends])
        assert np.allclose(seen[0] / ROWS, told, atol=0.006)
        assert told.sum() == pytest.approx(((np.abs(x) < 1) & (np.abs(y) < 1)).mean(), abs=0.01)

    def test_a_value_in_an_empty_cell_is_excluded(self):
        model = make(marginals=True)
        marginals = model.marginals.copy()
        marginals[4] = [0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0]
        model = replace(model, marginals=marginals)
        density = model.log_density(encoded(x_0=[-1.0, -0.9, 0.5, 1.0], height=[50.0] * 4), CODES)
        assert np.isfinite(density).tolist() == [True, True, False, False]
        with pytest.raises(RequestError, match="no probability"):
            given(model, x_0=0.5)

    def test_of_nobody(self, model):
        nobody = Batch(0, {name: np.empty(0, np.int32) for name in CODES})
        assert model.log_density(nobody, CODES).shape == (0,)
        assert model.predict(nobody, "kind", CODES["kind"]).shape == (0, K)
        assert model.predict(nobody, "age", CODES["age"]).shape == (0,)


class TestTold:
    def test_some_columns_by_bayes_rule(self, model):
        batch = model.sample(50, np.random.default_rng(3))
        names = ["dose", "visits", "x_2"]
        joint = log_joint(model, places_of(batch, names), np.array([1, 3, 6]))
        assert np.allclose(model.predict(chosen(batch, *names), "kind", CODES["kind"]), normalised(joint))
        nothing = Batch(2, {"kind": np.zeros(2, np.int32)})
        assert np.allclose(model.predict(nothing, "kind", CODES["kind"]), model.weights)

    def test_classes_that_are_left(self, model):
        batch = model.sample(50, np.random.default_rng(3))
        for known in (batch, chosen(batch, "age", "x_0")):
            told = model.predict(known, "kind", CODES["kind"])
            told[:, 1] = 0
            left = given(model, kind=["a", "c"]).predict(known, "kind", CODES["kind"])
            assert np.allclose(left, told / told.sum(axis=1, keepdims=True))

    def test_a_given_value_is_a_known_column(self, model):
        batch = model.sample(50, np.random.default_rng(3))
        whole = {name: codes for name, codes in batch.codes.items() if name != "kind"}
        fixed = {**whole, "age": np.full(50, 40, np.int32)}
        rest = Batch(50, {name: codes for name, codes in whole.items() if name != "age"})
        asked = given(model, age=40)
        told = model.predict(Batch(50, fixed), "kind", CODES["kind"])
        assert np.allclose(asked.predict(rest, "kind", CODES["kind"]), told)
        assert np.allclose(asked.predict(Batch(50, whole), "kind", CODES["kind"]), told)

    def test_a_number_by_regression(self):
        """Against the Schur complement of the full matrix; far from the bounds nothing is clipped."""
        model = make(classes=1, codes=UNLABELLED)
        (middle,), (cov,) = dense(model)
        batch = model.sample(20, np.random.default_rng(0))
        known = EVERY[1:]
        slope = np.linalg.solve(cov[np.ix_(known, known)], cov[known, 0])
        means = middle[0] + (places_of(batch)[:, 1:] - middle[1:]) @ slope
        assert np.allclose(model.predict(batch, "height", UNLABELLED["height"]), 100 * means, atol=0.05)

    @pytest.mark.parametrize("marginals", [False, True])
    @pytest.mark.parametrize("name", ["height", "dose", "age"])
    def test_the_mean_of_a_number_is_that_of_near_records(self, marginals, name):
        model = make(classes=1, codes=UNLABELLED, marginals=marginals, residual=1e-4)
        batch = model.sample(2 * ROWS, np.random.default_rng(0))
        values, x = numbers_of(batch, name), numbers_of(batch, "x_1")
        near = values[np.abs(x - 0.1) < 0.02]
        told = model.predict(encoded(x_1=[0.1]), name, UNLABELLED[name])[0]
        assert told == pytest.approx(near.mean(), abs=5 * near.std() / math.sqrt(len(near)) + 0.03 * near.std())

    def test_a_number_where_the_class_is_known(self, model):
        for c, label in enumerate("abc"):
            alone = given(model, kind=label).predict(encoded(x_1=[0.1]), "age", CODES["age"])
            known = model.predict(encoded(x_1=[0.1], kind=[label]), "age", CODES["age"])
            assert known == pytest.approx(alone)
            other = given(model, kind="abc"[(c + 1) % 3])
            assert np.isfinite(other.predict(encoded(x_1=[0.1], kind=[label]), "age", CODES["age"])).all()

    def test_a_number_that_was_given(self, model):
        assert given(model, age=40).predict(encoded(x_1=[0.1]), "age", CODES["age"]) == pytest.approx([40])
