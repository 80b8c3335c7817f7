"""Adapt: the features, their whitening, the posterior, and what the labeller is worth."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import sfumato
from sfumato.fitting.mechanisms.tables.adaptation import indicators, sums
from sfumato.fitting.mechanisms.tables.belief import Belief, _curvature, _ridge
from sfumato.fitting.mechanisms.tables.whitening import whiten_features
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Features, Grid, Lookup
from sfumato.trusted.feature_maps.features import PSI_UNIT, VALUE_UNIT, contrasts
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Cells, Gradient
from sfumato.trusted.statistics.gradient import UNIT

CELLS = 12


def pool(rows: int = 4_000, columns: int = 3) -> Batch:
    rng = np.random.default_rng(0)
    first = rng.integers(0, CELLS, rows)
    codes = {"c0": first} | {f"c{n}": (first + rng.integers(0, 4, rows)) % CELLS for n in range(1, columns)}
    return Batch(rows, {name: code.astype(np.int32) for name, code in codes.items()})


def lookups(contrast: int = 1, columns: int = 3) -> list[Lookup]:
    rng = np.random.default_rng(1)
    grid = Grid.of_cells(np.arange(CELLS))
    return [
        Lookup((f"c{n}",), (grid,), np.rint(rng.uniform(-3, 3, (contrast, CELLS)) / VALUE_UNIT).astype(np.int32))
        for n in range(columns)
    ]


def none(values: int) -> np.ndarray:
    return np.zeros((values, 0))


def test_sums_are_over_one_way_and_over_pair_tables():
    grid = Grid.of_cells(np.arange(2))
    ratios = [Lookup(("a",), (grid,), np.zeros((2, 2), dtype=np.int32))] * 5
    directions = sums(ratios, 3, 12)
    assert directions.shape == (12, 4)
    assert directions[:6, :2].sum() == 6
    assert directions[6:10, 2:].sum() == pytest.approx(2)
    assert not directions[10:].any()
    assert sums(ratios, 5, 10).shape == (10, 2)
    assert indicators(None) == []


@pytest.mark.parametrize(("contrast", "summed"), [(1, False), (3, False), (3, True)])
def test_whitened_features_have_unit_variance_and_no_correlation(contrast, summed):
    records, tables = pool(), lookups(contrast)
    first = sums(tables, 3, 3 * contrast) if summed else none(3 * contrast)
    features = whiten_features(tables, records, np.ones(records.rows), 20, first)
    psi = features(records)[1:] * PSI_UNIT
    assert len(psi) == 3 * contrast  # no more directions than values, even with sums in front
    assert np.allclose(psi.mean(axis=1), 0, atol=0.02)
    assert np.allclose(psi @ psi.T / records.rows, np.eye(len(psi)), atol=0.03)


def test_sums_come_first():
    """The sum over the one-way values is a combination of the first directions alone."""
    records = pool()
    tables = lookups(3)
    features = whiten_features(tables, records, np.ones(records.rows), 2, sums(tables, 3, 9))
    psi = features(records)[1:4]
    values = Features(tuple(tables), np.zeros((9, 0), dtype=np.int32)).values(records)
    for total in values.reshape(3, 3, -1).sum(axis=0):
        centred = total - total.mean()
        left = centred - psi.T @ np.linalg.lstsq(psi.T, centred, rcond=None)[0]
        assert np.abs(left).max() < 0.02 * np.abs(centred).max()


def test_many_values_are_whitened_by_few_directions():
    records = pool(2_000, 130)
    features = whiten_features(lookups(1, 130), records, np.ones(2_000), 10, none(130))
    psi = features(records)[1:] * PSI_UNIT
    assert psi.shape == (10, 2_000)
    assert np.allclose(psi @ psi.T / 2_000, np.eye(10), atol=0.05)


def test_curvature_is_that_of_the_likelihood():
    rng = np.random.default_rng(2)
    psi, weight = rng.normal(size=(4, 300)), rng.random(300)
    basis, start = contrasts(3), rng.normal(size=(4, 2)) / 3

    def loss(flat):
        logits = basis @ flat.reshape(4, 2).T @ psi
        return (weight * np.log(np.exp(logits).sum(axis=0))).sum()

    logits = basis @ start.T @ psi
    p = np.exp(logits) / np.exp(logits).sum(axis=0)
    curve = _curvature(psi, p, weight, 0.0)
    flat, h = start.ravel(), 1e-4
    for i in range(0, 8, 3):
        for j in range(8):
            a, b = np.eye(8)[i] * h, np.eye(8)[j] * h
            second = (loss(flat + a + b) - loss(flat + a - b) - loss(flat - a + b) + loss(flat - a - b)) / (4 * h * h)
            assert curve[i, j] == pytest.approx(second, rel=1e-3, abs=1e-3)


def test_the_start_is_a_ridge_regression():
    rng = np.random.default_rng(3)
    psi = np.vstack([np.ones(5_000), rng.normal(size=(2, 5_000))])
    true = np.array([[0.3], [1.0], [-0.5]])
    logits = contrasts(2) @ true.T @ psi
    told = np.exp(logits) / np.exp(logits).sum(axis=0)
    assert np.allclose(_ridge(psi, told), true, atol=0.02)


def test_exact_gradients_lead_to_the_truth():
    """With hardly any noise the posterior goes to the coefficients that made the labels."""
    records = pool(20_000)
    features = whiten_features(lookups(), records, np.ones(records.rows), 3, none(3))
    psi = features(records) * PSI_UNIT
    truth = np.array([0.2, 0.8, -0.6, 0.4])
    logits = contrasts(2) @ (truth[:, None].T @ psi)
    p = np.exp(logits) / np.exp(logits).sum(axis=0)
    label = (np.random.default_rng(4).random(records.rows) > p[0]).astype(np.int32)
    private = Batch(records.rows, {**records.codes, "y": label})
    grid = Grid.of_cells(np.arange(2))
    belief = Belief.start(features, records, np.full((records.rows, 2), 0.5), float(records.rows), 0.5)
    for _ in range(4):
        asked = Gradient(belief.model, "y", grid)
        belief = belief.after(Measurement(asked, 1.0, 5.0 * UNIT, asked(private)))
    found = belief.model.coefficients * 2.0**-16 @ contrasts(2)
    assert np.allclose(found.ravel(), truth, atol=0.08)
    counted = Measurement(Cells((("y",),), {"y": grid}, "y"), 1.0, 1.0, np.zeros(2, dtype=np.int64))
    with pytest.raises(TypeError, match="gradients"):
        belief.after(counted)


SUMS_OF_TWO = Schema.from_yaml(
    "{sfumato: 1, name: t, target: y, columns: ["
    + ", ".join(f"{{name: x{n}, type: integer, bounds: [0, 9]}}" for n in range(6))
    + ", {name: y, type: boolean}]}"
)


def made(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 10, (rows, 6))
    x[:, 1] = (x[:, 0] + rng.integers(0, 3, rows)) % 10  # copies, which naive Bayes counts twice
    x[:, 2] = (x[:, 0] + rng.integers(0, 3, rows)) % 10
    logit = 0.9 * (x[:, 0] - 4.5) - 1.0 * (x[:, 3] - 4.5)
    frame = pd.DataFrame(x, columns=[f"x{n}" for n in range(6)])
    return frame.assign(y=rng.random(rows) < 1 / (1 + np.exp(-logit)))


def test_the_labeller_beats_the_mixture_and_comes_near_the_truth():
    train, test = made(20_000, 0), made(20_000, 1)
    release = sfumato.release(train, SUMS_OF_TWO, epsilon=1.0, ledger=None, types="declared")
    adapted = roc_auc_score(test["y"], release.predict_proba(test)[:, 1])
    best = roc_auc_score(test["y"], 0.9 * test["x0"] - test["x3"])
    assert adapted > best - 0.01
    # without one feature the labeller does not know, and the mixture answers
    without = release.predict_proba(test.drop(columns="x5"))
    assert adapted >= roc_auc_score(test["y"], without[:, 1])
    synthetic = release.sample(20_000, seed=0, probabilities=True)
    assert synthetic["y"].mean() == pytest.approx(synthetic["p(y=True)"].mean(), abs=0.002)
