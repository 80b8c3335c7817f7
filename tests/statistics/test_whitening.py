"""Whitening is exact: the same as arithmetic on Python's whole numbers, for any matrix that is accepted."""

import json
from fractions import Fraction

import numpy as np
import pytest

from sfumato.trusted.feature_maps import Whitening
from tests.statistics.making import DIMENSIONS, a_whitening

END = 2**21


def by_hand(whitening: Whitening, places: np.ndarray) -> list[list[Fraction]]:
    """z in whole numbers and one power of two."""
    matrix, centre = whitening.matrix.tolist(), whitening.centre.tolist()
    records = places.astype(np.int64).T.tolist()
    return [
        [
            Fraction(sum(m * (x - c) for m, x, c in zip(row, record, centre, strict=True)), 2**whitening.shift)
            for record in records
        ]
        for row in matrix
    ]


def largest(d: int, seed: int = 0) -> Whitening:
    """A matrix whose rows reach as far as they may: the sums come close to 2**53."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], (d, d))
    matrix = signs * ((2**31 - 1) // d - (d == 1) * 2**30)
    return Whitening(np.where(rng.random(d) < 0.5, 0, END).astype(np.int32), matrix.astype(np.int32), 40)


@pytest.mark.parametrize("d", [*DIMENSIONS, 32])
@pytest.mark.parametrize("make", [a_whitening, largest])
def test_it_is_the_product_of_whole_numbers(make, d):
    whitening = make(d)
    rng = np.random.default_rng(d)
    places = rng.integers(0, END + 1, (d, 60)).astype(np.float64)
    places[:, :20] = END * rng.integers(0, 2, (d, 20))
    found = whitening(places)
    assert [[Fraction(z) for z in row] for row in found.tolist()] == by_hand(whitening, places)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 300.0, 2.0**24])
def test_the_nearest_exact_map_is_near(d, scale):
    rng = np.random.default_rng(d)
    matrix, centre = scale * rng.normal(size=(d, d)), rng.uniform(0, 1, d)
    whitening = Whitening.of(matrix, centre)
    assert np.abs(whitening.exact_matrix - matrix).max() <= 2e-9 * np.abs(matrix).sum(axis=1).max()
    assert np.abs(whitening.exact_centre - centre).max() <= 2.0**-22
    x = rng.uniform(0, 1, (d, 50))
    exact = whitening.exact_matrix @ (np.rint(x * END) / END - whitening.exact_centre[:, None])
    assert np.allclose(whitening(np.rint(x * END)), exact, rtol=1e-12, atol=1e-12 * scale)
    assert np.allclose(whitening.inverse @ whitening.exact_matrix, np.eye(d), atol=1e-6)


def test_a_centre_beyond_the_range_is_brought_back():
    whitening = Whitening.of(np.eye(2), np.array([-3.0, 4.0]))
    assert whitening.centre.tolist() == [0, END]


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.diag([1e-40, 1e-40]), np.diag([2.0**24, 1e-6])])
def test_any_matrix_has_an_exact_map(matrix):
    assert np.isfinite(Whitening.of(matrix, np.array([0.5, 0.5]))(np.array([[0.0, END], [END, 0.0]]))).all()


def test_what_could_not_be_summed_exactly_is_refused():
    ones = np.ones((2, 2), dtype=np.int32)
    middle = np.array([1, 1], dtype=np.int32)
    Whitening(middle, 2**29 * ones, 0)
    with pytest.raises(ValueError, match="too large"):
        Whitening(middle, 2**30 * ones, 0)
    with pytest.raises(ValueError, match="too large"):
        Whitening(middle, ones, 201)
    with pytest.raises(ValueError, match="too large"):
        Whitening(middle, ones, -1)
    with pytest.raises(ValueError, match="in its range"):
        Whitening(np.array([1, END + 1], dtype=np.int32), ones, 0)
    with pytest.raises(ValueError, match="square"):
        Whitening(middle, ones[:1], 0)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_it_survives_json(d):
    whitening = a_whitening(d)
    again = Whitening.from_dict(json.loads(json.dumps(whitening.to_dict())))
    assert again.to_dict() == whitening.to_dict()
    places = np.random.default_rng(0).integers(0, END, (d, 9)).astype(np.float64)
    assert np.array_equal(again(places), whitening(places))
