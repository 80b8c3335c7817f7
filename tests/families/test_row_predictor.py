"""The predictor of a row's target: as a slow fit has it, and blind to what is not known yet."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize

from sfumato.artefact.families.row_predictor import _RIDGE, fit_row_predictor
from tests.families.hospital import tables

CELLS = {"a": np.array([0, 0, 1, 2]), "b": np.array([0, 1])}


def rows(count: int = 400):
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, len(cells), count).astype(np.int32) for name, cells in CELLS.items()}
    told = rng.dirichlet([1.0, 2.0, 3.0], count)
    told[codes["b"] == 1, 0] += 1.0
    return codes, told / told.sum(axis=1, keepdims=True)


def test_it_is_the_ridge_softmax_that_a_slow_search_finds():
    codes, told = rows()
    one_hot = [np.eye(cells.max() + 1)[cells[codes[name]]] for name, cells in CELLS.items()]
    features = np.concatenate([np.ones((len(told), 1)), *one_hot], axis=1)

    def loss(flat):
        weights = flat.reshape(features.shape[1], 3)
        logits = features @ weights
        likelihood = (told * logits).sum() - np.logaddexp.reduce(logits, axis=1).sum()
        return _RIDGE * (weights**2).sum() / 2 - likelihood

    slow = features @ minimize(loss, np.zeros(3 * features.shape[1])).x.reshape(-1, 3)
    expected = np.exp(slow) / np.exp(slow).sum(axis=1, keepdims=True)
    found = fit_row_predictor(codes, told, CELLS)
    np.testing.assert_allclose(found.probabilities(codes, len(told)), expected, atol=2e-3)


def test_cells_are_joined_where_there_are_too_many():
    codes, told = rows()
    many = {f"c{place}": np.arange(500) for place in range(200)}
    wide = {name: np.resize(codes["a"], len(told)) * 100 for name in many}
    found = fit_row_predictor(wide, told, many)
    assert max(int(cells.max()) + 1 for cells in found.cells.values()) <= 5
    assert found.probabilities(wide, len(told)).sum(axis=1) == pytest.approx(1.0)


def test_columns_that_are_not_asked_for_are_not_looked_at():
    codes, told = rows()
    found = fit_row_predictor(codes, told, {"a": CELLS["a"]})
    assert set(found.cells) == {"a"}
    assert np.array_equal(found.probabilities({"a": codes["a"]}, 400), found.probabilities(codes, 400))


def test_rows_that_come_later_change_nothing(hospital):
    """A patient's first stays are told alike whether the later ones are given or not."""
    held = dict(tables(200, 9))
    stays = held["stays"]
    frame = stays.to_pandas()
    mask = (frame.admitted == frame.groupby("patient_id").admitted.transform("min")).to_numpy()
    alone = {**held, "stays": stays.filter(pa.array(mask))}
    both = hospital.predict_proba(held, "stays")[mask]
    np.testing.assert_allclose(hospital.predict_proba(alone, "stays"), both, atol=1e-12)


def test_probabilities_are_calibrated_by_place(hospital):
    drawn = hospital.sample(3_000, seed=3, output="pandas")
    told = hospital.predict_proba(drawn, "stays")[:, 1]
    place = drawn["stays"].groupby("patient_id").cumcount()
    for later in (False, True):
        rows = (place > 0) == later
        assert told[rows].mean() == pytest.approx(drawn["stays"].emergency[rows].mean(), abs=0.03)
