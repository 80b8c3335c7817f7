"""Adaptive directions and divergences of the slicing experiment: what is chosen, and what the page says of it."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from experiments.slicing import adaptive, divergences
from experiments.slicing.metrics import METRICS

from sfumato.fitting.generators.evidence import Column, Evidence, Pairs
from sfumato.fitting.retraining.evidence import TrainingData
from sfumato.trusted.feature_maps import Grid


def kept(gain, spread=0.0):
    rng = np.random.default_rng(0)
    return {
        adaptive.key_of(name, seed, method): {
            metric: 0.8 + (gain + spread * rng.standard_normal() if method == "adaptive" else 0.0) for metric in METRICS
        }
        for name in adaptive.TASKS
        for seed in adaptive.SEEDS
        for method in adaptive.METHODS
    }


@pytest.mark.parametrize(
    ("gain", "spread", "words"),
    [(0.02, 0.001, "should ask for them"), (0.0, 0.001, "no clear gain"), (0.01, 0.1, "no clear gain")],
)
def test_the_page_says_whether_a_gain_is_clear(gain, spread, words):
    assert words in adaptive.verdict(kept(gain, spread))
    assert "6 runs" in adaptive.verdict(kept(gain, spread))


def test_nothing_is_said_of_runs_that_are_not_there():
    assert "Not run on enough tables" in adaptive.verdict({})
    assert {cell for row in adaptive.lines({}) for cell in row[1:]} == {"not run"}
    assert divergences.bundles({}).startswith("0 of 4")


def test_the_first_direction_is_where_two_columns_hang_together():
    """Three columns of two values; the model has all of them independent, the release the first two equal."""
    grid, groups = Grid.of_cells(np.arange(2)), np.arange(2)
    columns = {name: Column(grid, groups, np.ones(2), np.ones(2), 2) for name in "abc"}
    table = np.full((1, 6, 6), 0.25)
    table[0, :2, 2:4] = table[0, 2:4, :2] = [[0.5, 0.0], [0.0, 0.5]]
    asked = 1.0 - np.kron(np.eye(3), np.ones((2, 2)))
    seen = Evidence(columns, np.array([1e4]), np.full((1, 6), 0.5), 1.0, pairs=Pairs(np.eye(6), table, asked))
    data = TrainingData(None, None, seen)
    places = adaptive.residual_places(data, (np.ones(1), np.full((1, 6), 0.5)), 1)[0]
    steps = np.diff(places.reshape(3, 2), axis=1)[:, 0]
    assert abs(steps[2]) < 0.01 * abs(steps[0])
    assert abs(abs(steps[0]) - abs(steps[1])) <= 2
