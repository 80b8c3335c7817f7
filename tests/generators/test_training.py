"""Training: it learns, repeats itself, goes on after it was stopped, and takes any generator that fits."""

import sys

import numpy as np
import pytest
import torch

from sfumato.errors import RequestError
from sfumato.fitting.generators import GENERATORS, LATENT, train, training
from sfumato.fitting.generators.factory import draw_records
from sfumato.reports.training_curve import Curve
from tests.generators.making import SIZES, evidence
from tests.parameters import mostly_slow


@pytest.fixture(scope="module")
def seen():
    return evidence(np.random.default_rng(0))


def off(seen, trained) -> float:
    """The largest error of a pair table."""
    worst = 0.0
    for c, table in enumerate(seen.pairs.tables):
        own = trained.owner == c
        found = np.einsum("k,ka,kb->ab", trained.weights[own], trained.theta[own], trained.theta[own])
        worst = max(worst, np.abs(np.where(seen.pairs.precision > 0, found - table, 0.0)).max())
    return worst


@pytest.mark.parametrize("name", mostly_slow(["mlp", "residual"], "mlp"))
def test_a_generator_finds_the_tables_behind_a_little_noise(seen, name):
    curve = Curve()
    trained = train(seen, name, 300, 0, curve)
    assert off(seen, trained) < 0.01
    assert curve.epochs[-1].loss < 0.05 * curve.epochs[0].loss
    judged = [epoch.held_back for epoch in curve.epochs if epoch.held_back is not None]
    assert min(judged) < 0.8 * judged[0]
    assert trained.weights.sum() == pytest.approx(1)


def test_the_same_seed_gives_the_same_result_and_another_another(seen):
    one, same, other = (train(seen, "mlp", 30, seed).theta for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_training_leaves_the_randomness_of_torch_alone(seen):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(seen, "mlp", 2, 0)
    assert torch.equal(torch.rand(3), expected)


class Killed(BaseException):
    """What no training catches."""


@pytest.mark.parametrize("epoch", mostly_slow([1, 60, 99], 60))
def test_training_that_was_killed_goes_on_to_the_same_result(seen, tmp_path, epoch, monkeypatch):
    def kill(now):
        if now.number == epoch:
            raise Killed

    path = tmp_path / "kept"
    with pytest.raises(Killed):
        train(seen, "mlp", 110, 1, kill, checkpoint=path)
    whole, curve, asked = Curve(), Curve(), []
    unbroken = train(seen, "mlp", 110, 1, whole)
    monkeypatch.setattr(training, "draw_records", lambda *args: asked.append(1) or draw_records(*args))
    again = train(seen, "mlp", 110, 1, curve, checkpoint=path)
    kept = epoch // 25 * 25
    judged = sum(number % 25 == 0 or number == 110 for number in range(kept + 1, 111))
    assert len(asked) == 110 - kept + judged + 1
    assert np.array_equal(again.theta, unbroken.theta)
    assert curve.epochs == whole.epochs


@pytest.mark.parametrize("change", ["seed", "epochs", "generator", "bytes"])
def test_a_checkpoint_of_other_training_is_refused(seen, tmp_path, change):
    path = tmp_path / "kept"
    train(seen, "mlp", 25, 1, checkpoint=path)
    if change == "bytes":
        path.write_bytes(path.read_bytes()[:-50])
    asked = {"seed": ("mlp", 25, 2), "epochs": ("mlp", 26, 1), "generator": ("residual", 25, 1)}
    with pytest.raises(RequestError, match="give another file"):
        train(seen, *asked.get(change, ("mlp", 25, 1)), checkpoint=path)


def test_a_checkpoint_that_cannot_be_written_says_so(seen, tmp_path):
    with pytest.raises(Exception, match="cannot be written"):
        train(seen, "mlp", 25, 1, checkpoint=tmp_path / "nowhere" / "kept")


@pytest.mark.slow
def test_training_stops_when_what_is_held_back_comes_no_nearer(tmp_path):
    rng = np.random.default_rng(1)
    seen = evidence(rng)
    seen.histograms.shares[:] = rng.dirichlet(np.ones(14), 8).reshape(8, 7, 2)  # nothing to learn for the judge
    curve, again = Curve(), Curve()
    train(seen, "mlp", 600, 0, curve, checkpoint=tmp_path / "kept")
    assert 300 < curve.epochs[-1].number < 600
    train(seen, "mlp", 600, 0, again, checkpoint=tmp_path / "kept")
    assert again.epochs == curve.epochs


class Own:
    """A generator of a user: free numbers for each class, no network at all."""

    def __init__(self, width: int) -> None:
        self.table = torch.nn.Parameter(0.01 * torch.randn(LATENT + 2, width))

    def parameters(self):
        return [self.table]

    def sample(self, z):
        return z @ self.table


def test_anything_that_samples_can_be_trained(seen):
    torch.manual_seed(0)
    trained = train(seen, Own(sum(SIZES)), 200, 0)
    assert off(seen, trained) < off(seen, train(seen, Own(sum(SIZES)), 1, 0))


@pytest.mark.parametrize(
    ("generator", "words"),
    [
        ("gan", "there is no generator 'gan'"),
        (object(), "needs a method sample"),
        (Own(5), r"gives \(2, 5\); the layout asks for \(2, 9\)"),
        ("convolutional", "one image"),
    ],
)
def test_what_does_not_fit_is_refused(seen, generator, words):
    with pytest.raises(RequestError, match=words):
        train(seen, generator, 5, 0)


@pytest.mark.parametrize(
    ("epochs", "seed"), [(0, 0), (5, -1), (10**12, 0), (5, 2**64), (2.5, 0), ("5", 0), (5, None), (True, 0), (5, False)]
)
def test_epochs_and_seeds_that_make_no_sense_are_refused(seen, epochs, seed):
    with pytest.raises(RequestError, match="epochs"):
        train(seen, "mlp", epochs, seed)


def test_a_class_or_a_function_makes_a_generator_for_the_layout(seen):
    class Fitting(Own):
        def __init__(self, layout):
            super().__init__(layout.width)

    for maker in (Fitting, lambda layout: Own(layout.width)):
        assert train(seen, maker, 2, 0).theta.shape[1] == sum(SIZES)


def test_a_checkpoint_of_other_evidence_is_refused(seen, tmp_path):
    train(seen, "mlp", 25, 1, checkpoint=tmp_path / "kept")
    other = evidence(np.random.default_rng(9))
    with pytest.raises(RequestError, match="give another file"):
        train(other, "mlp", 25, 1, checkpoint=tmp_path / "kept")


def test_a_device_that_is_not_there_is_refused(seen):
    with pytest.raises(RequestError, match="no device 'abacus'"):
        train(seen, "mlp", 2, 0, device="abacus")


def test_parameters_that_are_not_used_are_no_fault_and_none_at_all_are(seen, tmp_path):
    class Spare(Own):
        def parameters(self):
            return [self.table, torch.nn.Parameter(torch.zeros(3))]

    train(seen, Spare(sum(SIZES)), 25, 0, checkpoint=tmp_path / "kept")
    none = Own(sum(SIZES))
    none.parameters = list
    with pytest.raises(RequestError, match="nothing to train"):
        train(seen, none, 2, 0)


def test_where_a_network_of_the_library_fails_the_marginals_stay(seen, monkeypatch):
    def broken(layout, shape):
        made = Own(layout.width)
        made.sample = lambda z: z @ made.table + float("nan")
        return made

    monkeypatch.setitem(GENERATORS, "broken", broken)
    theta = train(seen, "broken", 2, 0).theta
    assert theta[0] == pytest.approx(seen.marginals[0], abs=1e-5)


def test_numbers_that_are_not_finite_are_refused(seen):
    class Broken(Own):
        def sample(self, z):
            return super().sample(z) + float("nan")

    with pytest.raises(RequestError, match="not finite"):
        train(seen, Broken(sum(SIZES)), 2, 0)


def test_without_torch_the_message_says_what_to_install(seen, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(RequestError, match=r"sfumato\[generators\]"):
        train(seen, "mlp", 5, 0)


def test_a_curve_is_a_picture(seen, tmp_path):
    curve = Curve()
    train(seen, "mlp", 60, 0, curve)
    curve.save(tmp_path / "loss.svg")
    text = (tmp_path / "loss.svg").read_text()
    assert text.startswith("<svg")
    assert "held back" in text
    assert str(Curve().svg()).startswith("<svg")  # nothing to draw yet
    assert set(GENERATORS) == {"mlp", "residual", "convolutional"}
