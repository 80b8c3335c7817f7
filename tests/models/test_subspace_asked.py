"""What a subspace model tells of its columns: distributions, means, bands, dependence."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sfumato.errors import RequestError
from sfumato.fitting.models.subspace.tables import class_means, mean_of, share_deviations
from tests.models.subspaces import CODES, ROWS, SCALES, D, K, dense, given, make, numbers_of


class TestAsked:
    @pytest.mark.parametrize("name", SCALES)
    def test_cdf_and_quantile_are_those_of_a_large_sample(self, model, name):
        for asked in (model, given(model, kind=["a", "b"], **({} if name == "x_1" else {"x_1": 0.2}))):
            values = numbers_of(asked.sample(ROWS, np.random.default_rng(0)), name)
            shares = np.array([0.02, 0.3, 0.5, 0.9])
            found = asked.quantile(name, shares, CODES[name])
            up_to = asked.cdf(name, found, CODES[name])
            assert np.allclose(up_to, [(values <= value + 1e-5).mean() for value in found], atol=0.012)
            assert (up_to >= shares - 1e-9).all()
            if SCALES[name].whole:
                assert (asked.cdf(name, found - 1, CODES[name]) < shares + 1e-9).all()

    @pytest.mark.parametrize("name", SCALES)
    def test_cdf_ends_at_the_bounds(self, model, name):
        scale = SCALES[name]
        beyond = np.array([-np.inf, scale.low - 1e-9, scale.high, scale.high + 1, np.inf])
        assert model.cdf(name, beyond, scale).tolist() == [0, 0, 1, 1, 1]
        assert model.quantile(name, np.array([0.0, 1.0]), scale) == pytest.approx([scale.low, scale.high])

    def test_whole_numbers_of_a_marginal_are_counted_one_by_one(self):
        model = make(marginals=True)
        p, scale = model.marginals[2], SCALES["age"]
        at_low, before_high = model.cdf("age", np.array([0.0, 98.0]), scale)
        assert (at_low, before_high) == pytest.approx((p[0], 1 - p[-1]))
        assert model.quantile("age", np.array([p[0] - 1e-9, p[0] + 1e-9]), scale).tolist() == [0, 1]

    def test_a_given_value_is_a_step(self, model):
        asked = given(model, age=40)
        assert asked.cdf("age", np.array([39.0, 40.0]), CODES["age"]).tolist() == [0, 1]
        assert asked.quantile("age", np.array([0.1, 0.9]), CODES["age"]).tolist() == [40, 40]
        assert mean_of(asked, "age") == pytest.approx((40, 40, 40))
        asked = given(model, x_1=0.2)
        assert asked.cdf("x_1", np.array([0.2 - 1e-9, 0.2]), CODES["x_1"]) == pytest.approx([0, 1])
        assert asked.quantile("x_1", np.array([0.1, 0.9]), CODES["x_1"]) == pytest.approx([0.2, 0.2])

    @pytest.mark.parametrize("name", ["height", "dose", "age", "x_0"])
    def test_means_are_those_of_a_large_sample(self, model, name):
        for asked in (model, given(model, x_1=0.2)):
            values = numbers_of(asked.sample(ROWS, np.random.default_rng(0)), name)
            mean, low, high = mean_of(asked, name)
            assert low < mean < high
            assert mean == asked.mean(name)
            assert mean == pytest.approx(values.mean(), abs=5 * values.std() / math.sqrt(ROWS) + 0.005 * values.std())

    @pytest.mark.parametrize("name", CODES)
    def test_marginals_add_up_and_hold_their_bands(self, model, name):
        for asked in (model, given(model, x_1=0.2)):
            table = asked.describe(name, CODES[name]).to_pandas()
            assert table["probability"].sum() == pytest.approx(1)
            assert ((table["low"] <= table["probability"]) & (table["probability"] <= table["high"])).all()
            assert table["low"].min() >= 0
            assert table["high"].max() <= 1
            if name == "kind":
                assert np.allclose(table["probability"], asked.class_shares)
            else:
                up_to = asked.cdf(name, table["last"].to_numpy(dtype=float), CODES[name])
                assert np.allclose(np.cumsum(table["probability"]), up_to, atol=1e-3)
            if name != "x_1":
                assert (table["low"] < table["high"]).any()

    def test_the_band_is_that_of_moved_means(self):
        """Against draws of the noise."""
        model = make()
        table = model.describe("height", CODES["height"]).to_pandas()
        rng = np.random.default_rng(0)
        others = [
            replace(model, means=model.means + model.mean_sds * rng.standard_normal((K, D)))
            .describe("height", CODES["height"])
            .column("probability")
            .to_numpy()
            for _ in range(300)
        ]
        spread = np.std(others, axis=0)
        many = table["probability"].to_numpy() > 0.02
        assert np.allclose((table["high"] - table["probability"])[many], 1.96 * spread[many], rtol=0.3, atol=5e-4)

    def test_the_band_of_a_mean_is_that_of_moved_means(self):
        model = make()
        rng = np.random.default_rng(0)
        others = [
            replace(model, means=model.means + model.mean_sds * rng.standard_normal((K, D))).mean("height")
            for _ in range(300)
        ]
        _, low, high = mean_of(model, "height")
        assert (high - low) / 2 == pytest.approx(1.96 * np.std(others), rel=0.15)

    def test_deviations_of_shares_are_those_of_noisy_counts(self):
        counts, height = np.array([200.0, 500.0, 300.0]), np.array([1.0, 0.2, 2.0])
        noisy = (counts + 5 * np.random.default_rng(0).standard_normal((100_000, 3))) * height
        shares = counts * height / (counts @ height)
        slowly = (noisy / noisy.sum(axis=1, keepdims=True)).std(axis=0)
        assert np.allclose(share_deviations(shares, counts, 5.0), slowly, rtol=0.02)

    def test_dependence_is_that_of_the_full_matrix(self, model):
        middles, covs = dense(model)
        away = middles - model.weights @ middles
        between = (model.weights[:, None] * away).T @ away
        cov = np.einsum("k,kij->ij", model.weights, covs) + between
        assert model.dependence("age", "x_1") == pytest.approx(abs(cov[2, 5]) / math.sqrt(cov[2, 2] * cov[5, 5]))
        assert model.dependence("kind", "age") == pytest.approx(math.sqrt(between[2, 2] / cov[2, 2]))
        assert model.dependence("age", "kind") == model.dependence("kind", "age")
        assert model.dependence("age", "age") == model.dependence("kind", "kind") == 1
        assert given(model, age=40).dependence("age", "x_1") == 0

    def test_class_means_are_in_the_units_of_the_columns(self, model):
        table = class_means(model, CODES, 0.9)
        rows = {(row["class"], row["column"]): row for row in table.to_pylist()}
        assert len(rows) == K * D
        middles, _ = dense(model)
        assert rows["b", "height"]["estimate"] == pytest.approx(100 * middles[1, 0])
        assert rows["b", "age"]["estimate"] == pytest.approx(100 * middles[1, 2] - 0.5)
        assert rows["c", "dose"]["estimate"] == pytest.approx(math.log(1000) * middles[2, 1])
        assert rows["a", "x_2"]["high"] - rows["a", "x_2"]["estimate"] == pytest.approx(
            1.6449 * 2 * model.mean_sds[0, 6], rel=1e-4
        )
        with pytest.raises(RequestError, match="without a condition"):
            class_means(given(model, kind="a"), CODES, 0.9)
