"""ClustMix as published: its formulas against slow, obvious versions, and its parts exchanged."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sfumato_papers.clustmix import (
    KNOWN_FAULTS,
    OTHER_FACTOR,
    ClusterMixing,
    KernelInducingPoints,
    Scaled,
    Setting,
    Synthetic,
    ThreeA,
    actual_mu,
    clustmix,
    constrained_kmeans,
    delta,
    factor_of,
    gmm_constrained,
    moved,
    no_adaptation,
    noise,
    random_groups,
    searched,
    smallest_mixture,
    told_apart,
)
from sfumato_papers.clustmix.clustering import assigned
from sfumato_papers.clustmix.kernel import BIASES, HIDDEN, WEIGHTS, tangent_kernel
from sfumato_papers.clustmix.slicing import regions

from sfumato.errors import DataError, RequestError
from sfumato.trusted.budget import delta_of, epsilon_of, mu_of

torch = pytest.importorskip("torch", reason="kernel inducing points need torch")


def two_clouds(records=300, seed=0, features=3):
    rng = np.random.default_rng(seed)
    y = np.arange(records) % 2
    return (0.3 + 0.4 * y[:, None] + 0.08 * rng.standard_normal((records, features))).clip(0, 1), y


class TestNoise:
    @given(st.floats(0.05, 10), st.floats(1e-7, 0.1), st.integers(1, 10), st.integers(1, 800), st.integers(1, 5_000))
    def test_the_simplex_finds_the_closed_form(self, epsilon, target, classes, features, size):
        found = noise(epsilon, target, size, classes, features)
        assert found == pytest.approx(math.sqrt(classes * features) / (size * mu_of(epsilon, target)), rel=1e-4)

    @given(st.floats(0.1, 5), st.floats(0.01, 2), st.integers(1, 10), st.integers(1, 100))
    def test_the_smallest_mixture_needs_no_more_noise_than_allowed(self, epsilon, sigma_max, classes, features):
        size = smallest_mixture(epsilon, 1e-4, sigma_max, classes, features)
        assert noise(epsilon, 1e-4, size, classes, features) <= sigma_max * (1 + 1e-9)
        assert size == 1 or noise(epsilon, 1e-4, size - 1, classes, features) > sigma_max * (1 - 1e-9)

    def test_equation_8(self):
        mu = math.sqrt(2 * 14) / (181 * 0.1)
        assert delta(1.0, 0.1, 181, 2, 14) == delta_of(1.0, mu)

    def test_adult_has_the_sizes_of_the_study(self):
        assert smallest_mixture(1.0, 1 / 24_421, 0.1, 2, 14) == 181


def slow_factor(reading, classes, features):
    """The length of a move by 1 along every value that the reading counts, one by one."""
    points = {"printed": classes, "per feature": classes, "none": 1}[reading]
    values = {"printed": features, "per feature": 1, "none": 1}[reading]
    return math.sqrt(sum(1.0 for _ in range(points) for _ in range(values)))


def slow_size(sigma_max, epsilon, target, factor):
    """Larger and larger mixtures, until (8) with this factor is no more than delta."""
    size = 1
    while delta_of(epsilon, factor / (size * sigma_max)) > target:
        size += 1
    return size


class TestFactor:
    """What (8) is read to count: all values, those of one feature, or one value."""

    every_reading = pytest.mark.parametrize("reading", ["printed", "per feature", "none"])

    @every_reading
    @given(st.integers(1, 10), st.integers(1, 800))
    def test_it_counts_the_values_of_its_reading(self, reading, classes, features):
        assert factor_of(reading, classes, features) == pytest.approx(slow_factor(reading, classes, features))

    @every_reading
    @settings(max_examples=20)
    @given(st.floats(0.1, 3), st.floats(0.05, 1), st.integers(1, 10), st.integers(1, 50))
    def test_sizes_and_noise_are_the_slow_ones(self, reading, epsilon, sigma_max, classes, features):
        slow = slow_factor(reading, classes, features)
        size = smallest_mixture(epsilon, 1e-3, sigma_max, classes, features, reading)
        assert abs(size - slow_size(sigma_max, epsilon, 1e-3, slow)) <= 1  # where it is almost whole
        sigma = noise(epsilon, 1e-3, size, classes, features, reading)
        assert delta(epsilon, sigma, size, classes, features, reading) == pytest.approx(1e-3, rel=1e-3)
        assert delta_of(epsilon, slow / (size * sigma)) == pytest.approx(1e-3, rel=1e-3)

    @every_reading
    def test_what_it_costs_by_theorem_2(self, reading):
        """Two points of a table apart by the whole length of theorem 2, in units of the noise of the reading."""
        classes, features, size = 3, 5, 40
        sigma = noise(1.0, 1e-4, size, classes, features, reading)
        apart = np.full((classes, features), 1 / size)
        assert actual_mu(reading, 1.0, 1e-4, classes, features) == pytest.approx(
            np.linalg.norm(apart) / sigma, rel=1e-4
        )

    def test_only_the_printed_one_keeps_its_claim(self):
        costs = {
            reading: epsilon_of(actual_mu(reading, 1.0, 1e-5, 10, 784), 1e-5)
            for reading in ("printed", "per feature", "none")
        }
        assert costs["printed"] == pytest.approx(1.0)
        assert 1.0 < costs["per feature"] < costs["none"]

    def test_one_feature_and_one_class_make_no_difference(self):
        found = {noise(1.0, 1e-4, 50, 1, 1, reading) for reading in ("printed", "per feature", "none")}
        assert len(found) == 1

    def test_the_digits_of_figure_3_have_a_round_noise_per_feature(self):
        assert smallest_mixture(1.0, 1e-5, 0.1, 10, 784, "per feature") == 118

    @every_reading
    def test_a_release_has_the_noise_of_its_reading_and_says_so(self, reading):
        X, y = two_clouds(1_000)
        found = clustmix(np.random.default_rng(0), X, y, 2, 1.0, 1e-3, Setting(0.2, factor=reading))
        made, slow = found.synthetic, slow_factor(reading, 2, 3)
        assert made.sizes.min() >= smallest_mixture(1.0, 1e-3, 0.2, 2, 3, reading)
        assert made.sigmas == pytest.approx(slow / (mu_of(1.0, 1e-3) * made.sizes), rel=1e-4)
        assert ("factor of (8) read as" in found.guarantee) == (reading != "printed")
        assert found.faults == (KNOWN_FAULTS if reading == "printed" else (*KNOWN_FAULTS, OTHER_FACTOR))
        assert "does not hold" in found.guarantee


class TestClusters:
    @pytest.mark.parametrize("cluster", [gmm_constrained, constrained_kmeans, random_groups])
    @pytest.mark.parametrize(("count", "smallest"), [(1, 60), (4, 15), (7, 5)])
    def test_none_is_too_small_and_centres_are_means(self, cluster, count, smallest):
        X = np.random.default_rng(1).random((60, 2))
        found = cluster(np.random.default_rng(0), X, count, smallest)
        assert np.bincount(found.member, minlength=count).min() >= smallest
        for k in range(count):
            assert found.centres[k] == pytest.approx(X[found.member == k].mean(axis=0))

    def test_records_that_are_all_alike_have_clusters_too(self):
        found = gmm_constrained(np.random.default_rng(0), np.full((40, 2), 0.5), 4, 10)
        assert np.bincount(found.member).tolist() == [10, 10, 10, 10]

    @settings(max_examples=8)
    @given(st.integers(0, 10**6))
    def test_the_assignment_is_near_the_best_of_all(self, seed):
        """Nine records, three clusters of two or more: every assignment is tried."""
        likelihood = -(np.random.default_rng(seed).random((9, 3)) ** 2)
        everyone = np.arange(9)
        best = max(
            likelihood[everyone, list(one)].sum()
            for one in itertools.product(range(3), repeat=9)
            if min(np.bincount(one, minlength=3)) >= 2
        )
        member = assigned(likelihood, 2)
        assert np.bincount(member, minlength=3).min() >= 2
        assert best - 0.8 < likelihood[everyone, member].sum() <= best + 1e-12

    def test_without_a_bound_that_binds_everybody_goes_where_they_are_likeliest(self):
        likelihood = np.random.default_rng(3).random((50, 4))
        assert np.array_equal(assigned(likelihood, 1), likelihood.argmax(axis=1))

    def test_too_many_clusters_are_refused(self):
        with pytest.raises(ValueError, match="too few"):
            assigned(np.zeros((5, 3)), 2)

    @given(st.integers(0, 5), st.integers(0, 100))
    def test_every_record_is_in_one_region(self, slices, seed):
        X = np.random.default_rng(seed).random((30, 3))
        parts = np.array(list(regions(np.random.default_rng(seed), X, slices)))
        assert (parts.sum(axis=0) == 1).all()
        assert len(parts) <= slices + 1


class TestKernel:
    def test_it_is_the_kernel_of_wide_networks(self):
        """Gradients of random networks of one width, averaged, against the limit."""
        rng = np.random.default_rng(0)
        A, width = rng.standard_normal((4, 3)), 300

        def of_one_network():
            sizes = [A.shape[1], *[width] * HIDDEN, 1]
            layers = [(rng.standard_normal((n, m)), rng.standard_normal(n)) for m, n in itertools.pairwise(sizes)]
            parameters = [torch.tensor(p, requires_grad=True) for layer in layers for p in layer]
            rows = []
            for x in A:
                h = torch.tensor(x)
                for at, (w, b) in enumerate(zip(parameters[::2], parameters[1::2], strict=True)):
                    h = math.sqrt(WEIGHTS / len(h)) * (w @ h) + math.sqrt(BIASES) * b
                    h = torch.relu(h) if at < HIDDEN else h
                rows.append(torch.cat([g.ravel() for g in torch.autograd.grad(h.sum(), parameters)]))
            stacked = torch.stack(rows)
            return (stacked @ stacked.T).numpy()

        seen = np.mean([of_one_network() for _ in range(30)], axis=0)
        limit = tangent_kernel(torch.tensor(A), torch.tensor(A)).numpy()
        assert seen == pytest.approx(limit, rel=0.15)

    def test_it_is_symmetric_and_positive(self):
        A = torch.tensor(np.random.default_rng(1).standard_normal((20, 5)))
        kernel = tangent_kernel(A, A).numpy()
        assert kernel == pytest.approx(kernel.T)
        assert np.linalg.eigvalsh(kernel).min() > 0


class TestAdaptation:
    def test_alpha_1_keeps_the_centres_and_less_lets_them_go(self):
        X, y = two_clouds()
        centres, labels = X[:6].copy(), y[:6]
        kept = KernelInducingPoints(1.0)(np.random.default_rng(0), centres, labels, X, y)
        free = KernelInducingPoints(0.0)(np.random.default_rng(0), centres, labels, X, y)
        assert kept == pytest.approx(centres, abs=1e-6)
        assert np.abs(free - centres).max() > 0.01

    def test_it_learns(self):
        """Kernel ridge regression on the adapted centres is nearer to the records' labels."""
        rng = np.random.default_rng(2)
        X = rng.random((400, 2))
        y = (np.linalg.norm(X - 0.5, axis=1) < 0.35).astype(int)
        centres = rng.random((12, 2))
        labels = np.arange(12) % 2
        adapt = KernelInducingPoints(0.0, steps=80)
        middle, spread = X.mean(axis=0), X.std(axis=0)

        def error(points):
            support, records = (torch.tensor((one - middle) / spread) for one in (points, X))
            told, truth = (torch.tensor(np.eye(2)[one] - 0.5) for one in (labels, y))
            return float(adapt._error(support, told, records, truth))

        assert error(adapt(rng, centres, labels, X, y)) < 0.7 * error(centres)

    def test_one_class_stays(self):
        X, y = two_clouds()
        centres = X[:3]
        assert KernelInducingPoints(0.5)(np.random.default_rng(0), centres, np.zeros(3, int), X, y) is centres


class TestRelease:
    @pytest.mark.parametrize("setting", [Setting(0.1), Setting(0.1, 0.5, 2), Setting(0.1, scaling="normal quantiles")])
    def test_points_tell_the_classes_apart(self, setting):
        X, y = two_clouds(2_000)
        found = clustmix(np.random.default_rng(0), X, y, 2, 5.0, 1e-3, setting)
        made = found.synthetic
        assert made.X.shape == made.means.shape == (len(made.y), 3)
        centres = [made.X[made.y == c].mean(axis=0) for c in (0, 1)]
        scaled = found.scale(X)
        nearer = np.linalg.norm(scaled - centres[1], axis=1) < np.linalg.norm(scaled - centres[0], axis=1)
        assert (nearer == y).mean() > 0.95

    def test_it_says_what_it_is(self):
        X, y = two_clouds()
        found = clustmix(np.random.default_rng(0), X, y, 2, 5.0, 1e-3, Setting(0.2))
        assert "as claimed by the paper, (5, 0.001)" in found.guarantee
        assert "does not hold" in found.guarantee
        assert found.faults == found.synthetic.faults == KNOWN_FAULTS

    @pytest.mark.parametrize(
        ("wrong", "named"),
        [
            ({"sigma_max": 0.0}, "sigma_max"),
            ({"sigma_max": -1.0}, "sigma_max"),
            ({"sigma_max": math.nan}, "sigma_max"),
            ({"sigma_max": 0.1, "alpha": 1.5}, "alpha"),
            ({"sigma_max": 0.1, "slices": 1.5}, "slices"),
            ({"sigma_max": 0.1, "scaling": "none"}, "scaling"),
            ({"sigma_max": 0.1, "factor": "sqrt(D)"}, "factor"),
        ],
    )
    def test_settings_that_mean_nothing_are_refused(self, wrong, named):
        with pytest.raises(RequestError, match=named):
            Setting(**wrong)

    @pytest.mark.parametrize("label", [0.5, 2, -1])
    def test_labels_that_are_no_class_are_refused(self, label):
        X, y = two_clouds()
        with pytest.raises(DataError, match="whole numbers from 0 to 1"):
            clustmix(np.random.default_rng(0), X, np.where(y == 1, label, 0), 2, 5.0, 1e-3, Setting(0.2))

    def test_noise_goes_by_size(self):
        X, y = two_clouds(1_000)
        made = clustmix(np.random.default_rng(0), X, y, 2, 1.0, 1e-3, Setting(0.2)).synthetic
        smallest = smallest_mixture(1.0, 1e-3, 0.2, 2, 3)
        assert made.sizes.min() >= smallest
        assert made.sizes.sum() == 1_000
        assert made.sigmas == pytest.approx(math.sqrt(6) / (mu_of(1.0, 1e-3) * made.sizes), rel=1e-4)
        assert ((made.X - made.means) / made.sigmas[:, None]).std() == pytest.approx(1.0, abs=0.4)

    def test_parts_can_be_exchanged(self):
        """Random mixing in place of clusters: points of both classes lie at the mean of their class."""
        X, y = two_clouds(2_000)
        mixing = ClusterMixing(5.0, 1e-3, 2)
        made = ThreeA(random_groups, no_adaptation, mixing, 100)(np.random.default_rng(0), X, y, 2)
        clusters = ThreeA(gmm_constrained, no_adaptation, mixing, 100)(np.random.default_rng(0), X, y, 2)
        assert "as claimed by the paper, (5, 0.001)" in made.guarantee
        assert made.means[made.y == 0].std(axis=0).max() < 0.5 * clusters.means[clusters.y == 0].std(axis=0).max()

    def test_the_search_keeps_the_best_and_passes_over_what_cannot_be(self):
        X, y = two_clouds()
        tried = []

        def score(found):
            tried.append(found.setting.sigma_max)
            return -abs(found.setting.sigma_max - 0.3)

        sigmas = (0.001, 0.2, 0.3, 0.5)
        best = searched(np.random.default_rng(0), X, y, 2, 3.0, 1e-3, [Setting(one) for one in sigmas], score)
        assert tried == [0.2, 0.3, 0.5]
        assert best.setting.sigma_max == 0.3
        with pytest.raises(DataError, match="no setting"):
            searched(np.random.default_rng(0), X, y, 2, 3.0, 1e-3, [Setting(0.001)], score)

    def test_bad_rows_are_refused_and_not_quoted(self):
        X, y = two_clouds()
        X[3, 1] = math.nan
        with pytest.raises(DataError, match="finite"):
            clustmix(np.random.default_rng(0), X, y, 2, 1.0, 1e-3, Setting(0.2))
        with pytest.raises(DataError, match="finite"):
            searched(np.random.default_rng(0), X, y, 2, 1.0, 1e-3, [Setting(0.2)], lambda _: 0.0)

    @given(st.sampled_from(["min-max", "normal quantiles"]), st.integers(0, 50))
    def test_scales_lead_into_the_unit_cube(self, scaling, seed):
        rng = np.random.default_rng(seed)
        X = np.column_stack((rng.standard_normal(50), rng.integers(0, 3, 50), np.ones(50)))
        scaled = Scaled.to(X, scaling)
        for rows in (X, 10 * X):
            assert ((scaled(rows) >= 0) & (scaled(rows) <= 1)).all()
        assert np.ptp(scaled(X)[:, 0]) == pytest.approx(1.0)


class TestAttack:
    def synthetic(self, means, y, sigma=0.1):
        y = np.array(y)
        return Synthetic(np.array(means), y, np.array(means), np.full(len(y), 9), np.full(len(y), sigma), "none", ())

    def test_another_order_is_no_move(self):
        here = self.synthetic([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]], [0, 0, 1])
        there = self.synthetic([[1.0, 1.0], [0.0, 0.0], [0.5, 0.5]], [0, 0, 1])
        assert moved(here, there)[:2] == (0, 3)

    def test_mu_is_the_distance_in_noise(self):
        here = self.synthetic([[0.0, 0.0], [1.0, 1.0]], [0, 1])
        there = self.synthetic([[0.3, 0.0], [1.0, 0.6]], [0, 1])
        found = moved(here, there)
        assert found.points == 2
        assert found.mu == pytest.approx(5.0)

    def test_another_number_of_points_is_certainty(self):
        here, there = self.synthetic([[0.0, 0.0]], [0]), self.synthetic([[0.0, 0.0]], [1])
        assert math.isinf(moved(here, there).mu)
        assert math.isinf(moved(here, there).epsilon(0.01))

    def test_a_mechanism_that_is_private_is_not_told_apart(self):
        rng = np.random.default_rng(0)
        found = told_apart(lambda _run, _other: float(rng.standard_normal()), 400, 1e-3)
        assert found.epsilon < 0.5

    def test_one_that_is_not_is(self):
        rng = np.random.default_rng(0)
        found = told_apart(lambda _run, other: float(rng.standard_normal() + 6 * other), 400, 1e-3)
        assert 3.0 < found.epsilon < 6.5
