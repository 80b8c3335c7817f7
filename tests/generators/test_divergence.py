"""The family of divergences: each by its formula against its definition, and what training makes of it."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.artefact.verify import verify
from sfumato.errors import RequestError
from sfumato.fitting.generators import DIVERGENCES, train
from sfumato.fitting.generators.divergence import Tuning, cost_of
from sfumato.fitting.generators.loss import Loss
from tests.conftest import MIXED, make_table
from tests.generators.making import evidence
from tests.generators.test_training import off
from tests.mechanisms.every import every_case

SIZE = 1e4


def by_definition(name: str, p: float, q: float) -> float:
    """The divergence of two positive shares, as textbooks have it for densities that need not add up to 1."""
    mean = (p + q) / 2
    return {
        "chi-squared": (p - q) ** 2 / p,
        "kl": p * np.log(p / q) - p + q,
        "reverse-kl": q * np.log(q / p) - q + p,
        "jensen-shannon": (p * np.log(p / mean) + q * np.log(q / mean)) / 2,
        "total-variation": p * (np.hypot((q - p) / p, Tuning.corner) - Tuning.corner),
    }[name]


def curvature(name: str) -> float:
    """The second derivative of the definition by q at p = q = 1, by differences."""
    h = 1e-3
    return (by_definition(name, 1, 1 + h) + by_definition(name, 1, 1 - h)) / h**2


def cost(name: str, measured, made, variance) -> float:
    parts = (torch.tensor(part, dtype=torch.float32) for part in (made - measured, measured, 1 / variance))
    return float(cost_of(name, SIZE)(*parts))


def cells(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measured shares, of which some are below zero, those of a generator, and variances."""
    rng = np.random.default_rng(seed)
    made, variance = rng.dirichlet(np.full(20, 0.3)), 10.0 ** rng.uniform(-7, -3, 20)
    return rng.dirichlet(np.full(20, 0.3)) + np.sqrt(variance) * rng.standard_normal(20), made, variance


@pytest.mark.parametrize("name", DIVERGENCES)
@given(st.integers(0, 1_000))
def test_the_cost_is_the_divergence_of_raised_shares(name, seed):
    measured, made, variance = cells(seed)
    slow = 0.0
    for p, q, v in zip(measured, made, variance, strict=True):
        raised = max(p, 0) + SIZE * v
        slow += raised / v * by_definition(name, raised, raised + q - p) / curvature(name)
    assert cost(name, measured, made, variance) == pytest.approx(slow, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_near_the_measured_shares_all_divergences_are_one(name):
    measured, made, variance = cells(0)
    near = measured + 1e-3 * (made - measured) * variance * SIZE
    assert cost(name, measured, near, variance) == pytest.approx(
        cost("chi-squared", measured, near, variance), rel=0.02
    )
    assert cost(name, measured, measured, variance) == 0
    assert cost(name, measured, made, variance) > 0


@pytest.mark.parametrize("name", DIVERGENCES)
def test_what_was_not_measured_costs_nothing_and_pulls_at_nothing(name):
    off_by = torch.tensor([0.3, -0.2], requires_grad=True)
    found = cost_of(name, SIZE)(off_by, torch.tensor([0.0, -0.5]), torch.zeros(2))
    found.backward()
    assert float(found.detach()) == 0
    assert off_by.grad.tolist() == [0, 0]


def test_divergences_differ_in_cells_that_are_far_off():
    variance = np.array([1e-6])
    missed, invented = (cost_of_all(p, q, variance) for p, q in ((0.2, 0.0), (0.0, 0.2)))
    # where the generator has nothing, and where it has too much
    assert missed["kl"] > missed["reverse-kl"] > missed["chi-squared"] > missed["total-variation"]
    assert invented["chi-squared"] > invented["reverse-kl"] > invented["kl"] > invented["total-variation"]


def cost_of_all(p: float, q: float, variance: np.ndarray) -> dict[str, float]:
    return {name: cost(name, np.array([p]), np.array([q]), variance) for name in DIVERGENCES}


@pytest.fixture(scope="module")
def seen():
    made = evidence(np.random.default_rng(0))
    return dataclasses.replace(made, linear=(dataclasses.replace(made.linear[0], features=None),))


@pytest.mark.parametrize("name", [name for name in DIVERGENCES if name != "chi-squared"])
def test_every_divergence_finds_the_tables_behind_a_little_noise(seen, name):
    assert off(seen, train(seen, "mlp", 150, 0, divergence=name)) < 0.02


def test_waves_have_no_other_divergence_than_chi_squared():
    with pytest.raises(RequestError, match="averages of waves; use chi-squared"):
        Loss(evidence(np.random.default_rng(0)), "cpu", "kl")
    mixture = every_case()["mixture"].release()
    assert mixture.retrain(epochs=2).fitted.settings["divergence"] == "chi-squared"
    with pytest.raises(RequestError, match="averages of waves"):
        mixture.retrain(epochs=2, divergence="kl")


def test_a_bundle_keeps_its_divergence_and_verify_follows(tmp_path):
    made = sfumato.release(make_table(400), sfumato.Schema.from_yaml(MIXED), epsilon=1.0, ledger=None, types="declared")
    with pytest.raises(RequestError, match="divergence is 'hinge'; use one of chi-squared, kl"):
        made.retrain(epochs=2, divergence="hinge")
    made.retrain(epochs=20, divergence="jensen-shannon").save(tmp_path / "b.sfumato")
    opened = sfumato.open(tmp_path / "b.sfumato")
    assert opened.fitted.settings["divergence"] == "jensen-shannon"
    assert all(check.holds for check in verify(opened))
    model = dataclasses.replace(opened.fitted, settings=opened.fitted.settings | {"divergence": "kl"})
    wrong = dataclasses.replace(opened, fitted=model)
    assert [check.what for check in verify(wrong) if not check.holds] == ["model follows from the measurements"]


def test_another_divergence_does_not_go_on_from_a_checkpoint(seen, tmp_path):
    train(seen, "mlp", 3, 0, checkpoint=tmp_path / "kept")
    with pytest.raises(RequestError, match="not from this training"):
        train(seen, "mlp", 3, 0, checkpoint=tmp_path / "kept", divergence="kl")
