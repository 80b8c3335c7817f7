"""The mixture against its own joint distribution, written out in full."""

import itertools

import numpy as np
import pytest

from sfumato.errors import RequestError
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.trusted.encoding import Batch, CategoricalCodec

SIZES = {"a": 4, "b": 10, "c": 3}
LISTED = {name: CategoricalCodec(tuple(range(size)), False, 0, False) for name, size in SIZES.items()}


def pieces(rng, size, cuts, components):
    starts = np.array([0, *cuts])
    stops = np.array([*cuts, size])
    theta = rng.dirichlet(np.ones(len(starts)), components)
    return Pieces(starts, stops, np.arange(len(starts)) // 2, np.full(len(starts), 0.01), theta)


@pytest.fixture
def model():
    rng = np.random.default_rng(5)
    columns = {"a": pieces(rng, 4, [1, 2, 3], 3), "b": pieces(rng, 10, [2, 7], 3), "c": pieces(rng, 3, [1, 2], 3)}
    return TableMixture(np.array([0.5, 0.3, 0.2]), columns, 1000.0)


def joint(model) -> np.ndarray:
    """The probability of every combination of codes, by the definition."""
    table = np.zeros(tuple(SIZES.values()))
    for k, weight in enumerate(model.weights):
        for codes in itertools.product(*(range(size) for size in SIZES.values())):
            p = weight
            for name, code in zip(SIZES, codes, strict=True):
                part = model.columns[name]
                place = [i for i in range(len(part.starts)) if part.starts[i] <= code < part.stops[i]]
                p *= part.theta[k, place[0]] / (part.stops[place[0]] - part.starts[place[0]]) if place else 0
            table[codes] += p
    return table


def everything() -> Batch:
    codes = np.array(list(itertools.product(*(range(size) for size in SIZES.values()))), dtype=np.int32)
    return Batch(len(codes), {name: codes[:, place] for place, name in enumerate(SIZES)})


def test_log_prob_is_the_joint(model):
    assert np.allclose(np.exp(model.log_prob(everything())), joint(model).ravel())
    assert joint(model).sum() == pytest.approx(1)


def test_columns_not_given_are_summed_out(model):
    batch = Batch(10, {"b": np.arange(10, dtype=np.int32)})
    assert np.allclose(np.exp(model.log_prob(batch)), joint(model).sum(axis=(0, 2)))


def test_a_code_outside_the_pieces_has_no_probability(model):
    given = model.restrict([("b", [(3, 5)])])
    assert given.log_prob(Batch(1, {"b": np.array([9], np.int32)}))[0] == -np.inf
    assert given.log_prob(Batch(1, {"b": np.array([0], np.int32)}))[0] == -np.inf


@pytest.mark.parametrize("rows", [1, 2, 5, 3_000])
def test_a_log_density_is_that_of_each_record_by_itself(model, rows):
    """Of fewer records than pieces, and of more."""
    given = model.restrict([("b", [(1, 5)])]).columns["b"]
    codes = np.random.default_rng(0).integers(0, 10, rows).astype(np.int32)
    total = np.ones((rows, 3))
    with np.errstate(divide="ignore"):
        given.add_log_density(codes, total)
        expected = [1 + np.log(given.density(codes[place : place + 1])[0]) for place in range(rows)]
    assert np.allclose(total, expected)


def test_conditions_are_exact(model):
    table = joint(model)
    given = model.restrict([("b", [(1, 4), (8, 9)]), ("c", [(2, 3)])])
    kept = np.zeros_like(table)
    kept[:, [1, 2, 3, 8], 2] = table[:, [1, 2, 3, 8], 2]
    assert np.allclose(joint(given), kept / kept.sum())
    assert given.size == pytest.approx(1000 * kept.sum())
    again = model.restrict([("c", [(2, 3)])]).restrict([("b", [(1, 4), (8, 9)])])
    assert np.allclose(joint(again), joint(given))


def test_an_impossible_condition_is_refused(model):
    with pytest.raises(RequestError, match="no probability"):
        model.restrict([("a", [(2, 3)])]).restrict([("a", [(0, 1)])])
    certain = TableMixture(
        np.array([1.0]),
        {"a": Pieces(np.array([0, 1]), np.array([1, 2]), np.arange(2), np.zeros(2), np.array([[1.0, 0.0]]))},
        5.0,
    )
    with pytest.raises(RequestError, match="no probability"):
        certain.restrict([("a", [(1, 2)])])


def test_a_component_without_the_condition_drops_out():
    theta = np.array([[1.0, 0.0], [0.5, 0.5]])
    both = TableMixture(
        np.array([0.5, 0.5]), {"a": Pieces(np.array([0, 1]), np.array([1, 2]), np.arange(2), np.zeros(2), theta)}, 5.0
    )
    assert both.restrict([("a", [(1, 2)])]).weights.tolist() == [0.0, 1.0]


def test_conditional_is_bayes_rule(model):
    table = joint(model)
    batch = everything()
    expected = table / table.sum(axis=2, keepdims=True)
    rows = np.arange(batch.rows)
    predicted = model.conditional(batch, "c")
    assert np.allclose(predicted.sum(axis=1), 1)
    assert np.allclose(predicted[rows, batch.codes["c"]], expected.ravel())


def test_a_record_that_the_model_excludes_is_predicted_by_the_marginal(model):
    given = model.restrict([("b", [(3, 5)])])
    outside = Batch(1, {"b": np.array([9], np.int32)})
    assert np.allclose(given.conditional(outside, "c")[0], given.marginal("c"))


def test_marginals_and_pairs_add_up(model):
    table = joint(model)
    assert np.allclose(model.marginal("a"), table.sum(axis=(1, 2)))
    pair = model.pair("a", "c")
    assert pair.shape == (2, 2)  # pieces 0 and 1 are one group, 2 and 3 another
    full = table.sum(axis=1)
    assert np.allclose(pair, [[full[i][:, j].sum() for j in ([0, 1], [2])] for i in ([0, 1], [2, 3])])


def test_a_sample_follows_the_joint(model):
    rng = np.random.default_rng(0)
    batch = model.sample(200_000, rng)
    seen = np.zeros(tuple(SIZES.values()))
    np.add.at(seen, tuple(batch.codes.values()), 1)
    expected = 200_000 * joint(model)
    chi = ((seen - expected) ** 2 / expected).sum()
    assert chi < 119 + 5 * np.sqrt(2 * 119)
    assert batch.codes["a"].dtype == np.int32
    assert abs(np.corrcoef(batch.codes["a"][:-1], batch.codes["a"][1:])[0, 1]) < 0.01  # rows come in no order


@pytest.mark.parametrize("rows", [0, 1])
def test_small_samples(model, rows):
    assert model.sample(rows, np.random.default_rng(0)).codes["b"].shape == (rows,)


def test_parts_go_out_and_come_back(model):
    again = TableMixture.from_parts(*model.to_parts(), LISTED)
    assert np.array_equal(joint(again), joint(model))
    assert again.size == model.size
    assert np.array_equal(again.columns["b"].noise, model.columns["b"].noise)


def test_unsound_parts_are_refused(model):
    content, table = model.to_parts()
    for bad in ({"kind": "oracle"}, {"weights": [0.5, 0.3, 0.3]}, {"weights": [float("nan"), 1.0, 0.0]}):
        with pytest.raises(ValueError, match=r"weights|kind"):
            TableMixture.from_parts({**content, **bad}, table, LISTED)
    backwards = table.take(list(range(len(table)))[::-1])
    with pytest.raises(ValueError, match="different columns"):
        TableMixture.from_parts(content, table, {"a": LISTED["a"]})
    with pytest.raises(ValueError, match="does not have"):
        TableMixture.from_parts(content, table, {**LISTED, "b": LISTED["a"]})
    with pytest.raises(ValueError, match="overlap"):
        TableMixture.from_parts(content, backwards, LISTED)
    with pytest.raises(ValueError, match="distribution"):
        Pieces(np.array([0]), np.array([1]), np.zeros(1), np.zeros(1), np.array([[0.5]]))
    with pytest.raises(ValueError, match="every component"):
        TableMixture(
            np.array([0.5, 0.5]),
            {"a": Pieces(np.array([0]), np.array([1]), np.zeros(1), np.zeros(1), np.array([[1.0]]))},
            1.0,
        )
