"""The gradient against a slow, obvious version; order and split do not matter; the norm is never above its bound."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.artefact.bundle import restore, share
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Features, Grid, Lookup, Softmax
from sfumato.trusted.feature_maps.features import COEFFICIENT_UNIT, DIRECTION_UNIT, PSI_UNIT, VALUE_UNIT, contrasts
from sfumato.trusted.statistics import Gradient, statistic_from_dict
from sfumato.trusted.statistics.gradient import UNIT
from tests.statistics.hunting import holds, hunt

CODES = {"a": 5, "b": 300, "label": 4}
GRIDS = {"a": Grid.of_cells(np.arange(5)), "b": Grid.of_cells(np.arange(300) // 31)}


def gradient(classes: int, rank: int = 6, steep: float = 1.0, seed: int = 0) -> Gradient:
    rng = np.random.default_rng(seed)
    q = classes - 1
    shapes = {("a",): (5,), ("b",): (10,), ("a", "b"): (5, 10)}
    lookups = tuple(
        Lookup(
            names,
            tuple(GRIDS[name] for name in names),
            np.rint(rng.uniform(-3, 3, (q, *shape)) / VALUE_UNIT).astype(np.int32),
        )
        for names, shape in shapes.items()
    )
    directions = np.rint(rng.normal(size=(3 * q, rank)) / DIRECTION_UNIT).astype(np.int32)
    coefficients = np.rint(steep * rng.normal(size=(rank + 1, classes)) / COEFFICIENT_UNIT).astype(np.int32)
    label = Grid.of_cells(np.arange(4) * classes // 4)
    return Gradient(Softmax(Features(lookups, directions), coefficients), "label", label)


def batch_of(rows: np.ndarray) -> Batch:
    return Batch(len(rows), {name: rows[:, place].astype(np.int32) for place, name in enumerate(CODES)})


def slow(statistic: Gradient, row: np.ndarray) -> np.ndarray:
    """One record's vector by the formula, in floats."""
    codes = dict(zip(CODES, row, strict=True))
    values = []
    for lookup in statistic.model.features.lookups:
        cell = tuple(grid.cell_of_code[codes[name]] for name, grid in zip(lookup.columns, lookup.grids, strict=True))
        values += [table[cell] * VALUE_UNIT for table in lookup.values]
    psi = np.append(1.0, np.array(values) @ statistic.model.features.directions * DIRECTION_UNIT)
    psi = np.rint(psi / PSI_UNIT) * PSI_UNIT
    logits = psi @ statistic.model.coefficients * COEFFICIENT_UNIT
    p = np.exp(logits - logits.max())
    p /= p.sum()
    label = np.eye(len(p))[statistic.grid.cell_of_code[codes["label"]]]
    rho = max(np.linalg.norm(e - p) for e in np.eye(len(p)))
    return np.outer(psi, (label - p) @ contrasts(len(p))).ravel() / (np.linalg.norm(psi) * rho)


rows = st.lists(st.tuples(*(st.integers(0, size - 1) for size in CODES.values())), max_size=40).map(
    lambda records: np.array(records, dtype=np.int64).reshape(-1, len(CODES))
)


@given(rows, st.sampled_from([2, 3, 4]))
def test_it_is_the_formula(records, classes):
    statistic = gradient(classes)
    expected = sum((slow(statistic, row) for row in records), np.zeros(7 * (classes - 1)))
    assert np.allclose(statistic(batch_of(records)) / UNIT, expected, atol=2e-3 * max(1, len(records)))


@given(rows, st.lists(st.integers(0, 40), max_size=4), st.randoms(), st.sampled_from([2, 3, 4]))
def test_any_order_and_any_split_give_the_same_sum(records, cuts, random, classes):
    statistic = gradient(classes, rank=40)
    whole = statistic(batch_of(records))
    shuffled = records[random.sample(range(len(records)), len(records))]
    parts = np.split(shuffled, sorted(min(cut, len(records)) for cut in cuts))
    assert np.array_equal(sum(statistic(batch_of(part)) for part in parts), whole)
    assert whole.dtype == np.int64


def test_more_records_than_fit_at_once_are_summed_exactly():
    rng = np.random.default_rng(1)
    records = np.column_stack([rng.integers(0, size, 9_000) for size in CODES.values()])
    statistic = gradient(3, rank=50)
    singles = sum(statistic(batch_of(part)) for part in np.array_split(records, 700))
    assert np.array_equal(statistic(batch_of(records)), singles)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("steep", [0.0, 0.3, 30.0])
def test_no_neighbour_moves_the_sum_further_than_claimed(adjacency, classes, steep):
    statistic = gradient(classes, steep=steep)
    assert hunt(statistic, adjacency, CODES, "label", tries=600) <= statistic.sensitivity(adjacency)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_claim_is_reached(adjacency):
    never_further, attained = holds(gradient(2, steep=0.0), adjacency, CODES, "label")
    assert never_further
    assert attained


def test_a_weight_without_the_largest_distance_is_caught():
    """The mutant that weighs by the distance to the likeliest class alone: an unlikely label moves it too far."""

    class Lax(Gradient):
        def _pull(self, psi, label):
            p = self.model.probabilities(psi)
            rho = np.sqrt(1 - 2 * p.max(axis=0) + (p * p).sum(axis=0))
            off = (label == np.arange(len(p))[:, None]) - p
            return np.trunc(contrasts(len(p)).T @ off * UNIT / (np.sqrt((psi * psi).sum(axis=0)) * rho))

    honest = gradient(3, steep=0.3)
    lax = Lax(honest.model, honest.target, honest.grid)
    assert hunt(lax, Adjacency.ADD_REMOVE, CODES, "label", tries=300) > lax.sensitivity(Adjacency.ADD_REMOVE)


def test_a_vector_that_is_too_long_counts_for_nothing(monkeypatch):
    """Should floats err, the comparison in integers holds the bound."""
    monkeypatch.setattr("sfumato.trusted.statistics.gradient.A_HAIR_LESS", 1.01)
    assert hunt(gradient(2), Adjacency.ADD_REMOVE, CODES, "label", tries=300) <= UNIT


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_contrasts_are_orthonormal_and_add_up_to_zero(classes):
    basis = contrasts(classes)
    assert np.allclose(basis.T @ basis, np.eye(classes - 1))
    assert np.allclose(basis.sum(axis=0), 0)


def test_a_gradient_survives_json():
    statistic = gradient(3)
    again = statistic_from_dict(json.loads(json.dumps(statistic.to_dict())))
    assert again.to_dict() == statistic.to_dict()
    assert again.columns == ("a", "b", "label")
    assert "label" in again.title
    records = np.column_stack([np.arange(50) % size for size in CODES.values()])
    assert np.array_equal(again(batch_of(records)), statistic(batch_of(records)))


def test_content_that_is_shared_comes_back():
    statistic = gradient(3).to_dict()
    parts: dict = {}
    content = {"all": [statistic, {"again": statistic}], "none": 1}
    small = share(content, parts)
    assert len(parts) == 1
    assert len(json.dumps(small)) < len(json.dumps(content)) / 2
    assert restore(small, parts) == content


def test_what_could_not_be_summed_exactly_is_refused():
    good = gradient(2)
    features = good.model.features
    with pytest.raises(ValueError, match="too large"):
        Features(
            tuple(
                Lookup(lookup.columns, lookup.grids, np.full_like(lookup.values, 2**30)) for lookup in features.lookups
            ),
            np.full((3, 2), 2**30, dtype=np.int32),
        )
    with pytest.raises(ValueError, match="too large"):
        Softmax(
            Features(features.lookups, np.zeros((3, 300), dtype=np.int32)), np.full((301, 2), 2**31 - 1, dtype=np.int32)
        )
    with pytest.raises(ValueError, match="row for every looked-up value"):
        Features(features.lookups, features.directions[:2])
    with pytest.raises(ValueError, match="row for every entry"):
        Softmax(features, good.model.coefficients[:3])
    with pytest.raises(ValueError, match="every class"):
        Gradient(good.model, "label", Grid.of_cells(np.arange(4)))
    with pytest.raises(ValueError, match="every cell"):
        Lookup(("a",), (GRIDS["a"],), np.zeros((1, 4), dtype=np.int32))
