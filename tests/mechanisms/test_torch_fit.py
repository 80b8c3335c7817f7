"""The fit by torch: on the processor it takes the same steps as the one by numpy, and so it does on a GPU."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato
from sfumato.errors import ReleaseWarning, RequestError
from sfumato.fitting import devices
from sfumato.fitting.mechanisms.counts.pairs import PairTables, TripleTable
from sfumato.fitting.mechanisms.tables import fit as fitting
from sfumato.fitting.mechanisms.tables.approximation import approximate, evidence
from sfumato.fitting.mechanisms.tables.product_mixture import ProductMixture
from sfumato.fitting.mechanisms.tables.start import start_anywhere
from sfumato.fitting.mechanisms.tables.torch_fit import _Run, fit_by_torch
from tests.mechanisms.every import every_case
from tests.mechanisms.test_approximation import SIZES, hidden, tables
from tests.support.test_families import mixture_of_families

torch = pytest.importorskip("torch", reason="extra generators is not installed")


def plain(classes: int, rng: np.random.Generator, triples: bool = False):
    """A mixture at a place of no meaning, and tables."""
    truth = hidden(rng, 4, classes)
    one_way, pairs = tables(truth, classes, 500.0, 20.0, rng)
    seen = evidence(one_way, replace(pairs, triples=(three_columns(pairs, rng),)) if triples else pairs)
    owner = np.sort(np.arange(6) % classes)
    marginals = np.concatenate([column.theta for column in one_way.columns.values()], axis=1)[owner].astype(np.float32)
    logits = rng.normal(size=(6, sum(SIZES.values()))).astype(np.float32)
    return ProductMixture(logits, rng.normal(size=6).astype(np.float32), owner, marginals, seen.offsets), seen


def three_columns(pairs: PairTables, rng: np.random.Generator) -> TripleTable:
    return TripleTable(tuple(SIZES), pairs.coarse, rng.normal(8, 2, tuple(SIZES.values())), 20.0)


CASES = {
    "classes": lambda rng: plain(2, rng),
    "no classes": lambda rng: plain(1, rng),
    "three columns": lambda rng: plain(1, rng, triples=True),
    "families": mixture_of_families,
}


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_is_that_of_numpy(case):
    mixture, seen = CASES[case](np.random.default_rng(0))
    by_logits, by_weights = mixture.slope(seen)
    mine, of_weights = _Run(mixture, seen, "cpu").slope()
    np.testing.assert_allclose(mine.T, by_logits, rtol=1e-4, atol=1e-4 * np.abs(by_logits).max())
    np.testing.assert_allclose(of_weights, by_weights, rtol=1e-4, atol=1e-4 * np.abs(by_weights).max())


@pytest.mark.parametrize("case", CASES)
def test_a_few_steps_lead_to_the_same_place(case):
    mixture, seen = CASES[case](np.random.default_rng(1))
    other, _ = CASES[case](np.random.default_rng(1))
    mixture.fit(seen, 5)
    fit_by_torch(other, seen, 5, "cpu")
    np.testing.assert_allclose(other.theta, mixture.theta, atol=1e-4)
    np.testing.assert_allclose(other.pi, mixture.pi, atol=1e-4)


def test_it_comes_as_near_to_the_tables(monkeypatch):
    rng = np.random.default_rng(2)
    one_way, pairs = tables(hidden(rng, 6, 2), 2, 1e5, 20.0, rng)
    seen, start = evidence(one_way, pairs), start_anywhere(one_way, [8, 8])
    errors = []
    monkeypatch.setattr(ProductMixture, "fit", _told(ProductMixture.fit, errors))
    approximate(one_way, seen, start, 300)
    monkeypatch.setattr("sfumato.fitting.mechanisms.tables.approximation.fit_by_torch", _told(fit_by_torch, errors))
    approximate(one_way, seen, start, 300, device="meant for torch's processor")
    assert errors[1] == pytest.approx(errors[0], rel=0.05)


def _told(fit, errors):
    def fit_and_tell(mixture, seen, steps, *_):
        fit(mixture, seen, steps, *(["cpu"] if fit is fit_by_torch else []))
        errors.append(mixture.error(seen))

    return fit_and_tell


@pytest.fixture
def a_gpu(monkeypatch):
    """Torch's processor, in place of a GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    real = fit_by_torch
    by_torch = "sfumato.fitting.mechanisms.tables.approximation.fit_by_torch"
    monkeypatch.setattr(by_torch, lambda mixture, seen, steps, _: real(mixture, seen, steps, "cpu"))
    return by_torch


def released(**options):
    return every_case()["tables"].release(seed=None, **options)


def test_a_release_says_where_it_was_fitted_and_is_checked_there_alone(a_gpu, monkeypatch):
    made = released(device="cuda")
    assert made.fitted.settings["device"] == "cuda"
    assert "device" not in made.refit().fitted.settings
    assert made.refit(device="cuda").fitted.settings == made.fitted.settings
    assert sfumato.verify(made)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    there = sfumato.verify(made)
    assert there.unchecked == ["model follows from the measurements"]
    assert not there.failed


def test_a_gpu_that_gives_up_costs_no_release(a_gpu, monkeypatch):
    def stop(*_):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(a_gpu, stop)
    with pytest.warns(ReleaseWarning, match="OutOfMemoryError.*fitted on the processor"):
        made = released(device="cuda")
    assert "device" not in made.fitted.settings
    assert sfumato.verify(made)


def test_an_error_of_the_processor_is_an_error(monkeypatch):
    def stop(*_):
        raise RuntimeError("no room")

    monkeypatch.setattr(fitting, "average_fits", stop)
    with pytest.raises(RuntimeError, match="no room"):
        released()


@pytest.mark.parametrize(
    ("mechanism", "device", "refused"),
    [("tables", "tpu", "no device 'tpu' here"), ("tables", "cuda", "no device 'cuda' here")],
)
def test_what_is_not_here_is_refused_before_anything_is_spent(mechanism, device, refused, monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    case, ledger = every_case()["tables"], sfumato.Ledger(tmp_path / "ledger")
    with pytest.raises(RequestError, match=refused):
        sfumato.release(case.table, case.schema, epsilon=1.0, mechanism=mechanism, ledger=ledger, device=device)
    assert not ledger.entries()


@pytest.mark.parametrize("mechanism", ["mixture", "subspace", "slices", "3a"])
def test_mechanisms_without_a_use_for_it_refuse_it(mechanism, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    case = every_case()[mechanism]
    with pytest.raises(RequestError, match=f"mechanism {mechanism} has no use for 'cuda'"):
        sfumato.release(case.table, case.schema, epsilon=1.0, mechanism=mechanism, ledger=None, device="cuda")


def test_without_torch_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(RequestError, match=r"pip install 'sfumato\[generators\]'"):
        devices.check_device("cuda")
    devices.check_device("cpu")
