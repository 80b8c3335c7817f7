"""What a subspace model draws, of everybody and under conditions."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sfumato.errors import RequestError
from sfumato.fitting.models.subspace.model import CELLS
from tests.models.subspaces import (
    CODES,
    ROWS,
    SCALES,
    UNLABELLED,
    D,
    K,
    R,
    dense,
    encoded,
    given,
    make,
    normalised,
    numbers_of,
    places_of,
)


class TestSample:
    def test_stays_within_the_codes(self, model):
        batch = model.sample(20_000, np.random.default_rng(0))
        assert list(batch.codes) == [*SCALES, "kind"]
        for name, codes in batch.codes.items():
            assert codes.dtype == np.int32
            assert codes.min() >= 0
            assert codes.max() < CODES[name].size

    def test_has_the_moments_of_the_law(self):
        model = make(residual=0.3)
        batch = model.sample(ROWS, np.random.default_rng(0))
        middles, covs = dense(model)
        mean = model.weights @ middles
        away = middles - mean
        cov = np.einsum("k,kij->ij", model.weights, covs) + (model.weights[:, None] * away).T @ away
        places = places_of(batch)
        assert np.allclose(places.mean(axis=0), mean, atol=0.005)
        assert np.allclose(np.cov(places.T), cov, atol=0.05 * cov.diagonal().max())

    def test_the_label_is_the_likeliest_class_of_what_was_drawn(self, model):
        batch = model.sample(5_000, np.random.default_rng(0))
        places = places_of(batch)
        slowly = [
            math.log(weight) + multivariate_normal(centre, cov).logpdf((places - mean) @ model.whitening)
            for weight, mean, centre, cov in zip(model.weights, model.means, model.centres, model.covs, strict=True)
        ]
        assert np.array_equal(batch.codes["kind"], np.argmax(slowly, axis=0))
        told = model.predict(batch, "kind", CODES["kind"])
        assert np.allclose(told, normalised(np.array(slowly).T))
        assert np.array_equal(told.argmax(axis=1), batch.codes["kind"])

    def test_every_column_has_its_marginal(self):
        model = make(marginals=True)
        batch = model.sample(ROWS, np.random.default_rng(0))
        for p, (name, scale) in zip(model.marginals, SCALES.items(), strict=True):
            codes = batch.codes[name]
            low, high = scale.codes_at(np.array([0.0, 1.0]))
            cell = 1 + np.clip(scale.places[codes] * (CELLS - 2), 0, CELLS - 3).astype(int)
            cell[codes == low], cell[codes == high] = 0, CELLS - 1
            assert np.allclose(np.bincount(cell, minlength=CELLS) / ROWS, p, atol=0.01)

    def test_marginals_keep_the_order_of_a_column(self):
        """One draw with and without marginals: no two records change places."""
        model = make(marginals=True, residual=1e-9)
        plain = replace(model, marginals=None, residual=np.full(D, 1e-18))
        bent, straight = (one.sample(3_000, np.random.default_rng(4)) for one in (model, plain))
        for name in ("height", "x_0", "x_1"):
            order = np.argsort(places_of(straight, [name])[:, 0], kind="stable")
            assert (np.diff(places_of(bent, [name])[order, 0]) >= -1e-5).all()  # but for steps

    def test_marginals_take_the_place_of_the_residual(self):
        """Two columns along one direction stay in step, however large the residual is."""
        model = make(classes=1, marginals=True, directions=1, residual=10.0, codes=UNLABELLED)
        places = places_of(model.sample(2_000, np.random.default_rng(0)))
        sign = np.sign(model.basis[4, 0] * model.basis[5, 0])
        ranks = np.argsort(np.argsort(places[:, [4, 5]] + 1e-9 * np.arange(2_000)[:, None], axis=0), axis=0)
        assert sign * np.corrcoef(ranks.T)[0, 1] > 0.8

    def test_a_column_outside_the_subspace_is_drawn_with_its_residual(self):
        model = make(marginals=True)
        basis = model.basis.copy()
        basis[4] = 0
        batch = replace(model, basis=basis).sample(20_000, np.random.default_rng(0))
        place = places_of(batch, ["x_0"])[:, 0]
        ends = np.linspace(0, 1, CELLS - 1)
        below = np.array([(place <= end).mean() for end in ends[:-1]])
        assert np.allclose(below, np.cumsum(model.marginals[4])[:-2], atol=0.02)

    def test_classes_are_in_proportion_before_they_are_told(self):
        far = replace(make(residual=1e-3), covs=np.tile(1e-3 * np.eye(R), (K, 1, 1)))
        share = np.bincount(far.sample(ROWS, np.random.default_rng(0)).codes["kind"], minlength=K) / ROWS
        assert np.allclose(share, far.weights, atol=0.01)

    @pytest.mark.parametrize("rows", [0, 1])
    def test_few_rows(self, model, rows):
        batch = model.sample(rows, np.random.default_rng(0))
        assert {len(codes) for codes in batch.codes.values()} == {rows}

    def test_in_parts_as_in_one(self, model, monkeypatch):
        batch = model.sample(300, np.random.default_rng(0))
        told, density = model.predict(batch, "kind", CODES["kind"]), model.log_density(batch, CODES)
        monkeypatch.setattr("sfumato.fitting.models.subspace.model._NUMBERS_AT_ONCE", 50 * D)
        assert np.allclose(model.predict(batch, "kind", CODES["kind"]), told)
        assert np.allclose(model.log_density(batch, CODES), density)
        assert model.sample(120, np.random.default_rng(0)).codes["age"].shape == (120,)

    def test_without_directions(self):
        model = make(directions=0)
        batch = model.sample(200, np.random.default_rng(0))
        assert (batch.codes["kind"] == model.weights.argmax()).all()
        assert np.isfinite(model.log_density(batch, CODES)).all()
        assert make(directions=0, marginals=True).sample(200, np.random.default_rng(0)).rows == 200


class TestConditions:
    def test_values_are_exact(self, model):
        """Against the density: p(rest | values) = p(rest, values) / p(values)."""
        wanted = {"age": 50, "x_1": 0.25}
        conditioned = given(model, **wanted)
        rest = {"height": [43.0, 50.0], "dose": [5.0, 30.0], "kind": ["a", "b"]}
        values = {name: [value, value] for name, value in wanted.items()}
        joint = model.log_density(encoded(**rest, **values), CODES)
        alone = model.log_density(encoded(**values), CODES)
        assert np.allclose(conditioned.log_density(encoded(**rest), CODES), joint - alone)
        certain = conditioned.log_density(encoded(**rest, age=[50, 51]), CODES)
        assert certain == pytest.approx([joint[0] - alone[0], -np.inf])
        share = np.exp(model.log_density(encoded(age=[50] * 3, x_1=[0.25] * 3, kind=["a", "b", "c"]), CODES) - alone[0])
        assert np.allclose(conditioned.class_shares, share)

    def test_values_hold_in_a_sample(self, model):
        batch = given(model, age=50, x_1=0.25, height=100.0).sample(200, np.random.default_rng(0))
        for name, value in (("age", 50), ("x_1", 0.25), ("height", 100.0)):
            assert set(batch.codes[name]) == {CODES[name].code_of(value)}
        assert len(set(batch.codes["x_0"])) > 50

    @pytest.mark.parametrize("marginals", [False, True])
    def test_a_value_leaves_what_it_leaves_of_a_sample(self, marginals):
        model = make(marginals=marginals, residual=1e-3)
        batch = model.sample(3 * ROWS, np.random.default_rng(0))
        near = np.abs(numbers_of(batch, "x_1") - 0.1) < 0.01
        drawn = given(model, x_1=0.1).sample(ROWS, np.random.default_rng(1))
        for name in ("height", "age", "x_2"):
            left, found = numbers_of(batch, name)[near], numbers_of(drawn, name)
            error = left.std() / math.sqrt(len(left))
            assert found.mean() == pytest.approx(left.mean(), abs=6 * error + 0.02 * left.std())
            assert found.std() == pytest.approx(left.std(), rel=0.03 + 4 / math.sqrt(len(left)))
            assert given(model, x_1=0.1).mean(name) == pytest.approx(left.mean(), abs=6 * error + 0.02 * left.std())

    def test_classes(self, model):
        conditioned = given(model, kind={"a", "c"})
        share = model.weights[[0, 2]].sum()
        assert conditioned.size == pytest.approx(1000 * share)
        assert np.allclose(conditioned.class_shares, model.weights * [1, 0, 1] / share)
        assert set(conditioned.sample(500, np.random.default_rng(0)).codes["kind"]) <= {0, 2}
        known = encoded(age=[30, 30], kind=["a", "b"])
        density = conditioned.log_density(known, CODES)
        assert density == pytest.approx([model.log_density(known, CODES)[0] - math.log(share), -np.inf])

    def test_a_value_leaves_the_size(self, model):
        assert given(model, age=50).size == 1000
        assert given(model, age=50, kind="b").size == pytest.approx(1000 * model.weights[1])

    def test_nothing_asked_is_the_same(self, model):
        assert model.condition(()).distance(model) < 1e-6

    def test_the_order_does_not_matter(self, model):
        wanted = {"kind": {"a", "b"}, "age": 40, "dose": 20.0, "x_0": -1.0}
        together = given(model, **wanted)
        for names in itertools.permutations(wanted):
            conditioned = model
            for name in names:
                conditioned = given(conditioned, **{name: wanted[name]})
            assert conditioned.size == pytest.approx(together.size)
            assert np.allclose(conditioned.class_shares, together.class_shares)
            assert conditioned.mean("height") == pytest.approx(together.mean("height"))

    def test_a_range_of_one_value_is_the_value(self, model):
        assert given(model, height=(40.0, 40.0)).mean("x_0") == given(model, height=40.0).mean("x_0")

    @pytest.mark.parametrize("wanted", [(30, 40), (None, 40), {30, 31}], ids=str)
    def test_ranges_and_several_values_are_refused(self, model, wanted):
        with pytest.raises(RequestError, match=r"column 'age'.*sample, and keep the rows"):
            given(model, age=wanted)

    @pytest.mark.parametrize("wanted", [({"age": 30}, {"age": 31}), ({"kind": "a"}, {"kind": "b"})])
    def test_an_impossible_condition_is_refused(self, model, wanted):
        with pytest.raises(RequestError, match="no probability"):
            given(given(model, **wanted[0]), **wanted[1])

    def test_all_columns_may_be_given(self, model):
        wanted = {"height": 50.0, "dose": 30.0, "age": 50, "visits": 7, "x_0": 0.1, "x_1": 0.0, "x_2": 0.0}
        batch = given(model, **wanted).sample(5, np.random.default_rng(0))
        assert all(set(batch.codes[name]) == {CODES[name].code_of(value)} for name, value in wanted.items())
