"""Gaussians against textbook formulas, other people's code, and brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm, truncnorm

from sfumato.errors import RequestError
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians, gaussian_kl, over_normal

ALL = np.arange(3)


def random_cov(rng, size, scale=0.1):
    """A covariance with correlations of every strength."""
    root = rng.standard_normal((size, size)) * scale
    return root @ root.T + 1e-4 * np.eye(size)


def make(seed=0, owner=(0, 1, 0), columns=3):
    rng = np.random.default_rng(seed)
    count = len(owner)
    covs = np.array([random_cov(rng, columns) for _ in owner])
    return Gaussians(np.array(owner), rng.dirichlet(np.ones(count)), rng.uniform(0.3, 0.7, (count, columns)), covs)


@pytest.fixture
def three():
    return make()


def one(mean, sd):
    """One Gaussian in one column."""
    return Gaussians(np.array([0]), np.ones(1), np.array([[float(mean)]]), np.array([[[float(sd) ** 2]]]))


def density(mixture, places, columns=ALL):
    """Weight times density in every component, by scipy."""
    return np.column_stack(
        [
            weight * multivariate_normal(mean[columns], cov[np.ix_(columns, columns)]).pdf(places)
            for weight, mean, cov in zip(mixture.weights, mixture.means, mixture.covs, strict=True)
        ]
    )


class TestDensity:
    @pytest.mark.parametrize("columns", [[0, 1, 2], [1], [2, 0]])
    def test_log_joint_is_the_normal_density(self, three, columns):
        columns = np.array(columns)
        places = np.random.default_rng(1).uniform(0, 1, (50, len(columns)))
        assert np.allclose(np.exp(three.log_joint(places, columns)), density(three, places, columns))

    def test_no_column_leaves_the_weights(self, three):
        nothing = three.log_joint(np.empty((2, 0)), np.array([], dtype=np.int64))
        assert np.allclose(np.exp(nothing), [three.weights] * 2)

    def test_far_away_stays_finite(self, three):
        assert np.isfinite(three.log_joint(np.array([[1e3, -1e3, 0.0]]), ALL)).all()

    def test_log_density_is_of_a_record_and_its_class(self, three):
        places = np.random.default_rng(1).uniform(0, 1, (50, 3))
        for label in (0, 1):
            slowly = density(three, places)[:, three.owner == label].sum(axis=1)
            assert np.allclose(np.exp(three.log_density(places, np.full(50, label))), slowly)


class TestPoints:
    def textbook(self, mean, cov, column, point):
        """Mean and covariance of a Gaussian whose column is known: m + C c^-1 (x - m), S - C c^-1 C'."""
        slope = cov[:, column] / cov[column, column]
        return mean + slope * (point - mean[column]), cov - np.outer(slope, cov[column])

    def test_a_value_leaves_the_textbook_conditional(self, three):
        given, log_share = three.given_points(1, np.array([0.45]), np.array([0.01]))
        here = density(three, np.array([[0.45]]), np.array([1]))[0]
        assert np.allclose(given.weights, here / here.sum())
        assert math.exp(log_share) == pytest.approx(0.01 * here.sum())
        for k in range(3):
            mean, cov = self.textbook(three.means[k], three.covs[k], 1, 0.45)
            assert np.allclose(given.means[k], mean)
            assert np.allclose(given.covs[k], cov, atol=1e-12)

    def test_any_of_several_values_each_by_its_width(self, three):
        points, widths = np.array([0.4, 0.6]), np.array([0.01, 0.03])
        given, log_share = three.given_points(2, points, widths)
        here = np.array([density(three, np.array([[point]]), np.array([2]))[0] for point in points]) * widths[:, None]
        assert np.allclose(given.weights, here.ravel() / here.sum())
        assert math.exp(log_share) == pytest.approx(here.sum())
        assert given.owner.tolist() == [0, 1, 0, 0, 1, 0]
        assert np.allclose(given.means[:, 2], [0.4] * 3 + [0.6] * 3)

    def test_the_order_of_values_does_not_matter(self, three):
        width = np.array([0.01])
        first, one_way = three.given_points(0, np.array([0.4]), width)
        first, then = first.given_points(2, np.array([0.6]), width)
        second, other_way = three.given_points(2, np.array([0.6]), width)
        second, at_last = second.given_points(0, np.array([0.4]), width)
        assert np.allclose(first.weights, second.weights)
        assert np.allclose(first.means, second.means)
        assert np.allclose(first.covs, second.covs, atol=1e-12)
        assert one_way + then == pytest.approx(other_way + at_last)

    def test_a_fixed_column_has_its_value_and_no_other(self, three):
        fixed, _ = three.given_points(1, np.array([0.45]), np.array([0.01]))
        assert (fixed.sds[:, 1] == 0).all()
        same, log_share = fixed.given_points(1, np.array([0.45]), np.array([0.01]))
        assert log_share == pytest.approx(0)
        assert np.allclose(same.means, fixed.means)
        with pytest.raises(RequestError, match="no probability"):
            fixed.given_points(1, np.array([0.46]), np.array([0.01]))
        places = np.array([[0.4, 0.45, 0.5], [0.4, 0.46, 0.5]])
        here, elsewhere = fixed.log_joint(places, ALL)
        assert (elsewhere == -np.inf).all()
        assert np.allclose(here, fixed.log_joint(places[:1][:, [0, 2]], np.array([0, 2])))


def truncated(a, b):
    """Mean and variance of a standard normal variable between two ends, by adding up the density."""
    top = min(max(a, 0.0), b)  # where the density is largest
    low, high = max(a, top - 40 / (1 + abs(top))), min(b, top + 40 / (1 + abs(top)))
    away = low - top + (np.arange(200_000) + 0.5) / 200_000 * (high - low)
    share = np.exp(-away * (top + 0.5 * away))
    share /= share.sum()
    mean = share @ away
    return top + mean, share @ (away - mean) ** 2


RANGES = {
    "wide": (-1.0, 2.0),
    "everything": (-math.inf, math.inf),
    "from the middle": (0.0, math.inf),
    "up to": (-math.inf, -0.5),
    "upper tail": (4.0, math.inf),
    "far upper tail": (30.0, math.inf),
    "far lower tail": (-math.inf, -30.0),
    "piece of a far tail": (30.0, 30.1),
    "long piece of a far tail": (-34.0, -30.0),
    "almost everything": (-30.0, 30.0),
    "tiny": (0.3, 0.3 + 1e-7),
    "tiny in a tail": (-8.0 - 1e-6, -8.0),
    "tiny across 0": (-1e-8, 1e-8),
    "short": (1.0, 1.02),
}


class TestRanges:
    @pytest.mark.parametrize("ends", RANGES.values(), ids=RANGES)
    @pytest.mark.parametrize("slices", [1, 5, 32])
    def test_the_moments_in_one_column_are_exact(self, ends, slices):
        mean, sd = 0.4, 0.05
        low, high = (mean + sd * end for end in ends)
        found, cov = one(mean, sd).given_range(0, low, high, slices).moments()
        a, b = (low - mean) / sd, (high - mean) / sd
        wanted, variance = truncated(a, b)
        unit = math.sqrt(variance)  # what the range leaves of the spread
        assert (found[0] - mean) / sd == pytest.approx(wanted, abs=1e-6 * unit)
        assert cov[0, 0] / sd**2 == pytest.approx(variance, rel=1e-5, abs=0)

    @pytest.mark.parametrize("ends", [(-1.0, 2.0), (0.5, math.inf), (-math.inf, -3.0), (2.0, 2.5), (-0.1, 0.1)])
    def test_scipy_says_the_same(self, ends):
        found, cov = one(0.4, 0.05).given_range(0, *(0.4 + 0.05 * end for end in ends)).moments()
        law = truncnorm(*ends, loc=0.4, scale=0.05)
        assert found[0] == pytest.approx(law.mean(), rel=1e-6)
        assert cov[0, 0] == pytest.approx(law.var(), rel=1e-6, abs=0)

    @given(st.floats(-12, 12), st.floats(1e-6, 12), st.sampled_from([1, 32]))
    def test_moments_of_any_range(self, start, width, slices):
        found, cov = one(0, 1).given_range(0, start, start + width, slices).moments()
        wanted, variance = truncated(start, start + width)
        assert found[0] == pytest.approx(wanted, abs=1e-6 * math.sqrt(variance))
        assert cov[0, 0] == pytest.approx(variance, rel=1e-5, abs=0)

    def test_mass_is_the_probability(self, three):
        for low, high in ((0.4, 0.6), (-math.inf, 0.5), (0.9, math.inf)):
            mean, sd = three.means[:, 1], three.sds[:, 1]
            assert np.allclose(three.mass(1, low, high), norm.cdf(high, mean, sd) - norm.cdf(low, mean, sd))
        assert one(0, 1).mass(0, 10, math.inf)[0] == pytest.approx(norm.sf(10), rel=1e-9, abs=0)

    def kept(self, mixture, ranges, rows):
        """What is left of a large sample: places and classes."""
        places, label = mixture.sample(rows, np.random.default_rng(5))
        inside = np.ones(rows, dtype=bool)
        for column, low, high in ranges:
            inside &= (places[:, column] >= low) & (places[:, column] <= high)
        return places[inside], label[inside]

    @pytest.mark.parametrize(
        "ranges",
        [
            [(0, 0.4, 0.5)],
            [(1, 0.7, math.inf)],
            [(0, 0.45, 0.6), (2, -math.inf, 0.5)],
            [(0, 0.3, 0.6), (1, 0.4, 0.7), (2, 0.45, math.inf)],
        ],
        ids=["one", "one-sided", "two", "three"],
    )
    def test_what_is_left_of_a_sample_has_the_same_moments(self, three, ranges):
        places, label = self.kept(three, ranges, 400_000)
        left = three
        for column, low, high in ranges:
            left = left.given_range(column, low, high, 16)
        mean, cov = left.moments()
        n = len(places)
        assert n > 5_000
        error = places.std(axis=0) / math.sqrt(n)
        blur = (len(ranges) > 1) * 2e-3 * places.std(axis=0)  # a slice is taken for a Gaussian by the next range
        assert (np.abs(mean - places.mean(axis=0)) < 5 * error + blur).all()
        spread = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
        assert (np.abs(cov - np.cov(places.T)) < (8 / math.sqrt(n) + (len(ranges) > 1) * 0.01) * spread).all()
        assert left.by_class(2)[1] == pytest.approx(label.mean(), abs=4 * math.sqrt(0.25 / n))

    def test_a_fixed_column_is_in_a_range_or_not(self, three):
        fixed, _ = three.given_points(1, np.array([0.45]), np.array([0.01]))
        inside = fixed.given_range(1, 0.4, 0.5)
        assert len(inside.weights) == 3
        assert np.allclose(inside.means, fixed.means)
        assert np.allclose(inside.covs, fixed.covs)
        with pytest.raises(RequestError, match="no probability"):
            fixed.given_range(1, 0.5, 0.6)

    def test_a_range_without_probability_is_refused(self):
        for low, high in ((50.0, math.inf), (-math.inf, -38.4), (2.0, 1.0)):
            with pytest.raises(RequestError, match="no probability"):
                one(0, 1).given_range(0, low, high)

    def test_a_component_outside_the_range_drops_out(self):
        both = Gaussians(
            np.array([0, 1]), np.array([0.5, 0.5]), np.array([[0.2], [0.8]]), np.array([[[1e-4]], [[1e-4]]])
        )
        assert set(both.given_range(0, 0.7, 0.9).owner) == {1}


class TestCumulative:
    def test_cdf_is_the_weighted_normal_law(self, three):
        at = np.linspace(-0.5, 1.5, 30)
        slowly = norm.cdf(at[:, None], three.means[:, 2], three.sds[:, 2]) @ three.weights
        assert np.allclose(three.cdf(2, at), slowly)

    def test_cdf_and_quantile_are_inverse(self, three):
        shares = np.linspace(0.01, 0.99, 50)
        shares = shares[(three.cdf(0, np.zeros(1)) < shares) & (shares < three.cdf(0, np.ones(1)))]
        assert len(shares) > 20
        assert np.allclose(three.cdf(0, three.quantile(0, shares)), shares, atol=1e-12)

    def test_the_ends(self, three):
        low, high = three.quantile(0, np.array([0.0, 1.0]))
        assert (low, three.cdf(0, np.array([high]))[0]) == (pytest.approx(0, abs=1e-12), pytest.approx(1, abs=1e-2))

    def test_both_agree_with_a_large_sample(self, three):
        places = three.sample(200_000, np.random.default_rng(0))[0][:, 1].clip(0, 1)
        for share in (0.1, 0.5, 0.9):
            at = three.quantile(1, np.array([share]))
            assert (places <= at).mean() == pytest.approx(share, abs=0.005)
            assert three.cdf(1, np.quantile(places, [share]))[0] == pytest.approx(share, abs=0.005)

    def test_a_fixed_column_steps_at_its_value(self, three):
        fixed, _ = three.given_points(1, np.array([0.45]), np.array([0.01]))
        assert fixed.cdf(1, np.array([0.44, 0.45, 0.46])).tolist() == pytest.approx([0, 1, 1])
        assert fixed.quantile(1, np.array([0.3])) == pytest.approx(0.45)


class TestTold:
    @pytest.mark.parametrize("columns", [[0, 1, 2], [1], []])
    def test_class_probabilities_are_bayes_rule(self, three, columns):
        columns = np.array(columns, dtype=np.int64)
        places = np.random.default_rng(2).uniform(0.2, 0.8, (40, len(columns)))
        here = density(three, places, columns) if len(columns) else np.tile(three.weights, (40, 1))
        slowly = np.stack([here[:, three.owner == label].sum(axis=1) for label in range(2)], axis=1)
        found = three.class_probabilities(places, columns, 2)
        assert np.allclose(found, slowly / slowly.sum(axis=1, keepdims=True))

    def test_a_class_without_components_has_no_probability(self, three):
        assert (three.class_probabilities(np.full((3, 3), 0.5), ALL, 4)[:, 2:] == 0).all()

    def test_a_record_that_is_excluded_tells_nothing(self, three):
        fixed, _ = three.given_points(1, np.array([0.45]), np.array([0.01]))
        told = fixed.class_probabilities(np.array([[0.4, 0.9, 0.5]]), ALL, 2)
        assert np.allclose(told[0], fixed.by_class(2))

    def test_the_mean_of_a_column_is_by_regression(self, three):
        columns = np.array([2, 0])
        places = np.random.default_rng(3).uniform(0.2, 0.8, (40, 2))
        share, means, sds = three.conditionals(places, columns, 1)
        here = density(three, places, columns)
        assert np.allclose(share, here / here.sum(axis=1, keepdims=True))
        for k in range(3):
            mean, cov = three.means[k], three.covs[k]
            slope = np.linalg.inv(cov[np.ix_(columns, columns)]) @ cov[columns, 1]
            assert np.allclose(means[:, k], mean[1] + (places - mean[columns]) @ slope)
            assert sds[k] == pytest.approx(math.sqrt(cov[1, 1] - cov[1, columns] @ slope))

    def test_without_other_columns_the_mean_stays(self, three):
        share, means, sds = three.conditionals(np.empty((2, 0)), np.array([], dtype=np.int64), 1)
        assert np.allclose(share, three.weights)
        assert np.allclose(means, three.means[:, 1])
        assert np.allclose(sds, three.sds[:, 1])

    def test_columns_that_say_the_same_are_no_harm(self):
        """Two columns that are one and the same, and a third that follows them."""
        cov = np.outer([1, 1, 2], [1, 1, 2]) * 0.01 + 1e-15 * np.eye(3)
        twin = Gaussians(np.array([0]), np.ones(1), np.full((1, 3), 0.5), cov[None])
        _, means, sds = twin.conditionals(np.array([[0.6, 0.6]]), np.array([0, 1]), 2)
        assert means[0, 0] == pytest.approx(0.7)
        assert sds[0] < 1e-6


class TestKL:
    def formula(self, m, s, n, t):
        inverse = np.linalg.inv(t)
        log_det = math.log(np.linalg.det(t) / np.linalg.det(s))
        return 0.5 * (np.trace(inverse @ s) + (n - m) @ inverse @ (n - m) - len(m) + log_det)

    def test_of_two_gaussians_is_the_formula(self):
        rng = np.random.default_rng(0)
        m, n, s, t = rng.random(4), rng.random(4), random_cov(rng, 4), random_cov(rng, 4)
        assert gaussian_kl(m, s, n, t) == pytest.approx(self.formula(m, s, n, t))
        assert gaussian_kl(m, s, m, s) == pytest.approx(0, abs=1e-12)

    def test_with_one_component_for_each_class_is_exact(self):
        this, other = make(1, (0, 1, 2)), make(2, (2, 0, 1))
        slowly = 0.0
        for k in range(3):
            j = other.owner.tolist().index(k)
            apart = self.formula(this.means[k], this.covs[k], other.means[j], other.covs[j])
            slowly += this.weights[k] * (math.log(this.weights[k] / other.weights[j]) + apart)
        rng = np.random.default_rng(0)
        assert this.kl(other, rng) == pytest.approx(slowly)
        assert this.kl(this, rng) == pytest.approx(0, abs=1e-12)

    def test_the_mean_over_draws_agrees(self):
        this, other = make(1, (0, 1)), make(2, (0, 1))
        halves = Gaussians(
            np.tile(this.owner, 2),
            np.tile(this.weights, 2) / 2,
            np.tile(this.means, (2, 1)),
            np.tile(this.covs, (2, 1, 1)),
        )  # the same mixture in twice as many components
        exact = this.kl(other, np.random.default_rng(0))
        assert halves.kl(other, np.random.default_rng(0)) == pytest.approx(exact, rel=0.05)
        assert halves.kl(this, np.random.default_rng(0)) == pytest.approx(0, abs=1e-9)

    def test_what_the_other_excludes_is_infinitely_far(self):
        this = make(1, (0, 1))
        alone = this.chosen(np.array([1.0, 0.0]))
        assert this.kl(alone, np.random.default_rng(0)) == math.inf
        assert alone.kl(this, np.random.default_rng(0)) == pytest.approx(-math.log(this.weights[0]))

    def test_fixed_columns(self):
        this, other = make(1, (0, 1)), make(2, (0, 1))
        width = np.array([0.01])
        mine, _ = this.given_points(1, np.array([0.5]), width)
        theirs, _ = other.given_points(1, np.array([0.5]), width)
        elsewhere, _ = other.given_points(1, np.array([0.6]), width)
        rest = np.array([0, 2])

        def without(one):
            return Gaussians(one.owner, one.weights, one.means[:, rest], one.covs[:, rest][:, :, rest])

        rng = np.random.default_rng(0)
        assert mine.kl(theirs, rng) == pytest.approx(without(mine).kl(without(theirs), rng))
        assert mine.kl(elsewhere, rng) == mine.kl(other, rng) == other.kl(mine, rng) == math.inf

    def test_a_flat_gaussian_has_no_density(self):
        flat = np.ones((2, 2)) * 0.01
        assert gaussian_kl(np.zeros(2), np.eye(2), np.zeros(2), flat) == math.inf


class TestSample:
    def test_moments_and_classes(self, three):
        places, label = three.sample(200_000, np.random.default_rng(0))
        mean, cov = three.moments()
        assert np.allclose(places.mean(axis=0), mean, atol=4 * places.std(axis=0).max() / math.sqrt(200_000))
        assert np.allclose(np.cov(places.T), cov, atol=0.02 * np.diag(cov).max())
        for label_, share in enumerate(three.by_class(2)):
            assert (label == label_).mean() == pytest.approx(share, abs=1e-4)  # evenly spread over the components
        assert abs(np.corrcoef(label[:-1], label[1:])[0, 1]) < 0.01  # in no order

    def test_moments_are_those_of_all_components(self, three):
        mean = sum(w * m for w, m in zip(three.weights, three.means, strict=True))
        second = sum(w * (c + np.outer(m, m)) for w, m, c in zip(three.weights, three.means, three.covs, strict=True))
        found = three.moments()
        assert np.allclose(found[0], mean)
        assert np.allclose(found[1], second - np.outer(mean, mean))

    def test_fixed_columns_have_their_value(self, three):
        fixed, _ = three.given_points(1, np.array([0.45]), np.array([0.01]))
        assert np.allclose(fixed.sample(100, np.random.default_rng(0))[0][:, 1], 0.45, atol=1e-8)

    @pytest.mark.parametrize("rows", [0, 1])
    def test_few_rows(self, three, rows):
        places, label = three.sample(rows, np.random.default_rng(0))
        assert places.shape == (rows, 3)
        assert label.shape == (rows,)

    def test_the_mean_of_a_function(self):
        means, sds = np.array([0.2, 0.5]), np.array([0.1, 0.3])
        assert np.allclose(over_normal(np.exp, means, sds), np.exp(means + sds**2 / 2), rtol=1e-9)
        assert np.allclose(over_normal(lambda x: x, means, sds), means)


@pytest.mark.parametrize(
    "change",
    [
        {"owner": np.array([0, 1])},
        {"owner": np.array([0, 1, -1])},
        {"weights": np.array([0.5, 0.5, 0.5])},
        {"weights": np.array([1.5, -0.5, 0.0])},
        {"weights": np.array([np.nan, 0.5, 0.5])},
        {"means": np.full((3, 3), np.inf)},
        {"means": np.zeros((3, 2))},
        {"covs": np.zeros((3, 3, 2))},
        {"covs": np.full((3, 3, 3), np.nan)},
        {"covs": np.tile(np.triu(np.ones((3, 3))), (3, 1, 1))},
        {"covs": np.tile(-np.eye(3), (3, 1, 1))},
    ],
)
def test_unsound_gaussians_are_refused(three, change):
    parts = {"owner": three.owner, "weights": three.weights, "means": three.means, "covs": three.covs}
    with pytest.raises(ValueError, match=r"every component|distribution|symmetric|negative"):
        Gaussians(**{**parts, **change})


def test_no_weight_at_all_is_no_choice(three):
    with pytest.raises(RequestError, match="no probability"):
        three.chosen(np.zeros(3))
