"""The slicing experiment: digits of two hands, and toys."""

import math

import numpy as np
import pytest

pytest.importorskip("sklearn")

from experiments.clustmix.runs import Run
from experiments.slicing import adaptation, images, slices_of_images, toys, translator

from sfumato.fitting.retraining import fit as fitting
from tests.experiments.real_data import needs_data


def blobs(shift, records=400):
    """One round blob in each image, to the left for label 0 and to the right for label 1."""
    rng = np.random.default_rng(round(10 * shift))
    y = rng.integers(2, size=records)
    x, height = 3.5 + 4 * y + shift + rng.normal(0, 0.7, records), 8 + rng.normal(0, 1, records)
    across = (np.arange(16) - x[:, None])[:, None, :] ** 2 + (np.arange(16) - height[:, None])[:, :, None] ** 2
    X = np.exp(-across / 4).reshape(records, -1).astype(np.float32)
    return images.Digits(X, y, X, y)


class TestDigits:
    def test_a_smaller_image_has_the_same_mean(self):
        rows = np.random.default_rng(0).random((3, 784))
        assert images.smaller(rows).mean(axis=1) == pytest.approx(rows.mean(axis=1), abs=1e-6)
        same = rows[:, :256]
        assert images.smaller(same) == pytest.approx(same, abs=1e-6)

    def test_counts_become_quantiles(self):
        levels = slices_of_images.quantiles_of(np.array([[0.0], [10.0], [10.0], [-3.0]]), np.zeros(1), np.full(1, 4.0))
        assert np.median(levels) == pytest.approx(2, abs=0.05)
        assert levels.min() > 0.95
        assert levels.max() < 3.05
        assert (np.diff(levels, axis=0) >= 0).all()

    def test_our_slices_come_near_to_the_truth_with_epsilon(self):
        rng = np.random.default_rng(0)
        source = rng.random((2_000, 256)) * np.linspace(0.1, 1, 256)
        target = source[:1_000] * 0.9
        public = slices_of_images.Public.of(source)
        truth, near, far = (slices_of_images.ours(target, source, public, e, 0) for e in (math.inf, 50.0, 0.5))
        away = [np.abs(one.quantiles - truth.quantiles).mean() for one in (near, far)]
        assert away[0] < 0.2 * away[1]
        exact = np.quantile(public.scaled(target) @ truth.directions, 0.5, axis=0)
        middle = truth.quantiles[[255, 256]].mean(axis=0)
        assert middle == pytest.approx(exact, abs=0.02)

    def test_releases_come_back_from_a_file(self, tmp_path):
        one = slices_of_images.Released(np.eye(3), np.ones((4, 3)), 0.5)
        one.save(tmp_path / "a.npz")
        again = slices_of_images.Released.load(tmp_path / "a.npz")
        assert np.array_equal(again.quantiles, one.quantiles)
        assert again.noise == 0.5

    def test_images_are_at_no_distance_from_their_own_slices(self):
        torch = pytest.importorskip("torch", reason="translators are networks")
        here, there = (blobs(shift, adaptation.BATCH).X for shift in (0, 3))
        public = slices_of_images.Public.of(here.astype(float))
        axes = public.axes[:, :4]
        found = slices_of_images.Released(axes, np.sort(public.scaled(there) @ axes, axis=0), 0.0)
        apart = adaptation.matching(found, public, adaptation.wasserstein)
        assert apart(torch.from_numpy(there)) == pytest.approx(0, abs=1e-6)
        assert apart(torch.from_numpy(here)) > 0.1

    def test_the_published_divergence_pulls_images_towards_the_released_slices(self):
        torch = pytest.importorskip("torch", reason="translators are networks")
        wanted = torch.linspace(-2, 2, adaptation.BATCH)[:, None].repeat(1, 3)
        shift = torch.tensor(0.7, requires_grad=True)
        adaptation.smoothed_divergence(wanted + shift, wanted).backward()
        assert shift.grad > 0

    def test_a_classifier_learns_from_images_that_are_not_moved(self):
        pytest.importorskip("torch", reason="classifiers are networks")
        public = slices_of_images.Public.of(blobs(0).X.astype(float))
        assert adaptation.adapted(blobs(0), blobs(0), public, None, 0, 15) > 0.8

    @pytest.mark.slow
    @needs_data
    def test_a_translator_learns_what_the_other_digits_look_like(self, monkeypatch):
        pytest.importorskip("torch", reason="translators are networks")
        monkeypatch.setattr(adaptation, "STEPS", 200)
        task = adaptation.task_of("MNIST", "USPS", None)
        alone = adaptation.measured(Run(task, "source only", 0), quick=False, folder=None)
        moved = adaptation.measured(Run(f"{task}, inf", "slices", 0), quick=False, folder=None)
        assert moved > alone + 0.1

    def test_every_pair_and_epsilon_has_a_run(self):
        runs = adaptation.runs(adaptation.METHODS, 3, quick=False)
        assert len(runs) == len(set(runs)) == 2 * 3 * (1 + 4 * 4)
        assert len({adaptation.file_of(run) for run in runs}) == len(runs)


class TestToys:
    @pytest.mark.parametrize("name", toys.TOYS)
    def test_they_lie_within_their_bounds(self, name):
        points, label = toys.TOYS[name](np.random.default_rng(0), 500)
        assert np.abs(points).max() <= 1
        assert set(label) == {0, 1}

    def test_clouds_are_found_where_they_are(self):
        points, _ = toys.eight_gaussians(np.random.default_rng(0), 2_000)
        assert toys.clouds_found(points) == 8
        assert toys.near(points) > 0.99
        assert toys.clouds_found(points[points[:, 0] > 0]) in (3, 4, 5)
        assert toys.clouds_found(np.zeros((10, 2))) == 0

    def test_the_distance_of_a_moved_set_is_that_of_its_mean_step(self):
        points, _ = toys.moons(np.random.default_rng(0), 300)
        assert toys.sliced_distance(points, points) == 0
        assert toys.sliced_distance(points, points + np.array([0.1, 0])) == pytest.approx(0.1 * 2 / np.pi, rel=0.01)

    def test_a_release_of_the_library_finds_the_clouds(self):
        points, label = toys.eight_gaussians(np.random.default_rng(0), 3_000)
        made = toys.of_release(points, label, 5.0, "tables")
        assert made.shape == points.shape
        assert np.abs(made).max() <= 1
        assert toys.near(made) > 0.3


@pytest.mark.slow
@needs_data
def test_the_translator_of_users_runs_from_bundle_to_accuracy(monkeypatch):
    pytest.importorskip("torch", reason="translators are networks")
    monkeypatch.setattr(translator, "QUICK_STEPS", 2)
    monkeypatch.setattr(translator, "QUICK_IMAGES", 200)
    monkeypatch.setattr(fitting, "SETTINGS", {**fitting.SETTINGS, "epochs": 2})
    found = translator.measured("slices", 1.0, 0, quick=True)
    assert found["before"] > found["after"]
    assert 0 <= found["accuracy"] <= 1
    kept = {translator.key_of("slices", 1.0, seed): found for seed in range(2)}
    assert translator.lines(kept)[0][0] == "slices, epsilon 1"
    assert translator.lines(kept)[1] == ["not translated", "not run", "not run", "not run"]
