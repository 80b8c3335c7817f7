"""Columns bent to their marginals: cells, scores, and places on scales of every kind."""

import numpy as np
import pytest
from scipy.stats import norm

from sfumato.fitting.models.scale_positions import at_bounds, places_at, slopes_at
from sfumato.fitting.models.subspace.marginals import CELLS, Marginals, Scores, part_ends
from sfumato.fitting.models.subspace.maths import LowRankGaussians
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Schema

SCHEMA = Schema.from_yaml("""
sfumato: 1
name: t
columns:
  - {name: share, type: number, bounds: [-1, 3], atoms: [0.5]}
  - {name: dose, type: number, bounds: [1, 1000], scale: log}
  - {name: pixel, type: integer, bounds: [0, 255]}
  - {name: stars, type: integer, bounds: [1, 5]}
  - {name: coin, type: integer, bounds: [0, 1]}
  - {name: visits, type: integer, bounds: [0, 50], scale: log}
  - {name: income, type: integer, bounds: [0, 10000000]}
  - {name: born, type: date, bounds: [1920-01-01, 2020-12-31]}
""")
SCALES = Encoder(SCHEMA).columns


@pytest.mark.parametrize("name", SCALES)
def test_places_and_slopes_are_those_of_the_scale(name):
    scale = SCALES[name]
    rng = np.random.default_rng(0)
    codes = np.concatenate((rng.integers(0, scale.size, 500), [0, scale.size - 1])).astype(np.int32)
    assert np.allclose(places_at(scale, codes), scale.places[codes], rtol=0, atol=1e-15)
    assert np.allclose(slopes_at(scale, codes), scale.slope(codes), rtol=1e-12)


@pytest.mark.parametrize("name", SCALES)
def test_bounds_are_the_codes_of_the_bounds(name):
    scale = SCALES[name]
    codes = scale.codes_at(np.array([0.0, 0.5, 1.0]))
    lowest, highest = at_bounds(scale, codes)
    assert lowest.tolist() == [True, name == "coin" and codes[1] == codes[0], False]
    assert highest.tolist() == [False, name == "coin" and codes[1] == codes[2], True]


@pytest.mark.parametrize("name", SCALES)
def test_parts_hold_whole_steps(name):
    """Every code between the bounds lies in the part that holds its middle."""
    scale, ends = SCALES[name], part_ends(SCALES[name])
    assert len(ends) == CELLS - 1
    assert (np.diff(ends) >= 0).all()
    low, high = scale.codes_at(np.array([0.0, 1.0]))
    inside = np.setdiff1d(np.unique(np.linspace(0, scale.steps - 1, 3_000).astype(np.int32)), [low, high])
    part = np.clip(scale.places[inside] * (CELLS - 2), 0, CELLS - 3).astype(int)
    left, right = (scale.place_of(scale.ends(step)) for step in (inside, inside + 1))
    assert (ends[part] <= left + 1e-12).all()
    assert (right <= ends[part + 1] + 1e-12).all()


def marginals(seed=0, names=tuple(SCALES)):
    """Random cells; those that a column cannot fill are empty."""
    scales = [SCALES[name] for name in names]
    p = np.random.default_rng(seed).dirichlet(np.ones(CELLS), len(scales))
    empty = np.array([[False, *(np.diff(part_ends(scale)) <= 0), False] for scale in scales])
    p[empty] = 0
    return Marginals.of(p / p.sum(axis=1, keepdims=True), scales)


@pytest.mark.parametrize("column", range(len(SCALES)), ids=list(SCALES))
class TestMarginals:
    def test_shares_become_codes_with_the_probability_of_their_cells(self, column):
        found, scale = marginals(), list(SCALES.values())[column]
        codes = scale.codes_at(found.places(column, (np.arange(200_000) + 0.5) / 200_000))
        lowest, highest = at_bounds(scale, codes)
        cell = 1 + np.clip(scale.places[codes] * (CELLS - 2), 0, CELLS - 3).astype(int)
        cell[lowest], cell[highest] = 0, CELLS - 1
        seen = np.bincount(cell, minlength=CELLS) / len(cell)
        assert np.allclose(seen, found.probabilities[column], atol=1e-4)

    def test_up_to_and_places_undo_each_other(self, column):
        found = marginals()
        shares = np.linspace(0.001, 0.999, 997)
        places = found.places(column, shares)
        assert (np.diff(places) >= 0).all()
        inside = (places > 0) & (places < 1)
        assert np.allclose(found.up_to(column, places)[inside], shares[inside])
        p = found.probabilities[column]
        assert found.up_to(column, np.array([-0.1, 0.0, 1.0, 2.0])) == pytest.approx([0, p[0], 1, 1])
        assert found.up_to(column, np.array([1 - 1e-12])) == pytest.approx([1 - p[-1]])

    def test_the_middle_of_a_mass_stands_for_a_bound(self, column):
        found, p = marginals(), marginals().probabilities[column]
        lowest, highest = np.array([True, False, False]), np.array([False, True, False])
        place = found.places(column, np.array([0.5]))[0]
        shares = found.shares(column, np.array([0.0, 1.0, place]), lowest, highest)
        assert shares == pytest.approx([p[0] / 2, 1 - p[-1] / 2, found.up_to(column, np.array([place]))[0]])

    def test_the_density_adds_up(self, column):
        found, no = marginals(), np.zeros(1, dtype=bool)
        ends = found.ends[column]
        places = np.linspace(ends[0], ends[-1], 40_001)
        middles = (places[1:] + places[:-1]) / 2
        nowhere = np.zeros(len(middles), dtype=bool)
        inside = np.exp(found.log_density(column, middles, nowhere, nowhere)) @ np.diff(places)
        bounds = np.exp([found.log_density(column, np.array([0.5]), *which)[0] for which in ((~no, no), (no, ~no))])
        assert inside + bounds.sum() == pytest.approx(1, abs=1e-3)


def test_an_empty_cell_is_excluded():
    found = Marginals.of(np.array([[0.5, 0, 0, 0, 0.5, 0, 0, 0, 0, 0]]), [SCALES["share"]])
    no = np.zeros(2, dtype=bool)
    assert found.log_density(0, np.array([0.4, 0.6]), no, no) == pytest.approx([np.log(4), -np.inf])
    assert set(found.places(0, np.linspace(0, 0.4999, 50))) == {0.0}
    assert found.places(0, np.array([0.75, 1.0])) == pytest.approx([0.4375, 1.0])
    assert found.up_to(0, np.array([0.5, 0.9])).tolist() == [1, 1]


def columns(classes, seed=0):
    """Laws of three columns, one of them with a class that is much narrower than the others."""
    rng = np.random.default_rng(seed)
    sds = rng.uniform(0.05, 0.2, (classes, 3))
    sds[0, 2] = 0.001
    means = rng.uniform(0.2, 0.8, (classes, 3))
    roots = np.array([np.diag(one) for one in sds])
    weights = rng.dirichlet(np.ones(classes))
    return LowRankGaussians(weights, means, np.eye(3), np.zeros((classes, 3)), roots, np.zeros(3)), sds


@pytest.mark.parametrize("classes", [1, 2, 10, 40])
class TestScores:
    def test_are_the_distribution_function(self, classes):
        law, sds = columns(classes)
        scores = Scores.of(law)
        for j in range(3):
            g = np.linspace(-0.5, 1.5, 4_001)
            exact = norm.cdf(g[:, None], law.means[:, j], sds[:, j]) @ law.weights
            assert np.allclose(scores.shares(j, g), exact, atol=1e-9 if classes == 1 else 0.01)

    def test_there_and_back(self, classes):
        scores = Scores.of(columns(classes)[0])
        shares = np.linspace(1e-6, 1 - 1e-6, 1_001)
        for j in range(3):
            g = scores.places(j, shares)
            assert (np.diff(g) >= 0).all()
            assert np.allclose(scores.shares(j, g), shares, atol=1e-9)
        assert np.isfinite(scores.places(0, np.array([0.0, 1.0]))).all()

    def test_of_one_column(self, classes):
        scores, g = Scores.of(columns(classes)[0]), np.linspace(0, 1, 11)
        assert np.array_equal(scores.of_column(1).shares(0, g), scores.shares(1, g))
