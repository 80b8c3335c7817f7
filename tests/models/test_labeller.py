"""The labeller inside the mixture: what it says, what conditions leave of it, how it draws."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.fitting.models.table_mixture.ties import Tie
from sfumato.trusted.encoding import Batch, CategoricalCodec
from sfumato.trusted.feature_maps import Features, Grid, Lookup, Softmax

CLASSES = 3
CODES = {"a": 4, "y": 9}
LISTED = {name: CategoricalCodec(tuple(range(size)), False, 0, False) for name, size in CODES.items()}


@pytest.fixture
def model() -> TableMixture:
    """One feature, and a target of nine codes in three classes."""
    rng = np.random.default_rng(0)
    lookup = Lookup(("a",), (Grid.of_cells(np.arange(4)),), rng.integers(-2000, 2000, (2, 4)).astype(np.int32))
    features = Features((lookup,), (np.eye(2) * 2**16).astype(np.int32))
    softmax = Softmax(features, (rng.normal(size=(3, CLASSES)) * 2**16).astype(np.int32))
    inside = np.array([0.2, 0.3, 0.5, 0.1, 0.9, 0.4, 0.6])
    groups = np.array([0, 0, 0, 1, 1, 2, 2])
    theta = np.where(groups == np.array([0, 1, 2])[:, None], inside, 0.0)
    target = Pieces(np.arange(7), np.array([1, 2, 3, 4, 5, 6, 9]), groups, np.full(7, 0.01), theta)
    a = Pieces(np.arange(4), np.arange(1, 5), np.arange(4), np.full(4, 0.01), rng.dirichlet(np.ones(4), 3))
    labeller = Labeller(softmax, "y", np.ones(CLASSES))
    return TableMixture(np.array([0.5, 0.3, 0.2]), {"a": a, "y": target}, 100.0, labeller)


def everything() -> Batch:
    codes = np.array(list(itertools.product(range(4), range(9))), dtype=np.int32)
    return Batch(len(codes), {"a": codes[:, 0], "y": codes[:, 1]})


def features_only() -> Batch:
    return Batch(4, {"a": np.arange(4, dtype=np.int32)})


def test_its_probabilities_are_the_softmax(model):
    p = model.labeller.probabilities(features_only())
    psi = model.labeller.model.features(features_only())
    logits = model.labeller.model.coefficients.T.astype(float) @ psi * 2.0**-24
    expected = np.exp(logits) / np.exp(logits).sum(axis=0)
    assert np.allclose(p, expected.T, atol=2e-3)
    assert np.allclose(p.sum(axis=1), 1)
    assert np.allclose(model.class_probabilities(features_only(), "y"), p)


def test_inside_a_class_the_mixture_says_where(model):
    p = model.labeller.probabilities(features_only())
    pieces = model.conditional(features_only(), "y")
    assert np.allclose(pieces[:, :3], p[:, :1] * [0.2, 0.3, 0.5])
    assert np.allclose(pieces[:, 5:], p[:, 2:] * [0.4, 0.6])


def test_without_the_features_the_mixture_answers(model):
    nothing = Batch(2, {})
    assert not model.labeller.knows(nothing)
    assert np.allclose(model.conditional(nothing, "y"), model.marginal("y"))


def test_a_condition_on_the_target_leaves_its_share_of_every_class(model):
    given = model.restrict([("y", [(1, 3), (7, 9)])])  # 0.8 of class 0, none of 1, two thirds of the last piece of 2
    p = model.labeller.probabilities(features_only()) * [0.8, 0.0, 0.4]
    assert np.allclose(given.labeller.probabilities(features_only()), p / p.sum(axis=1, keepdims=True))
    codes = given.sample(2_000, np.random.default_rng(0)).codes["y"]
    assert set(codes.tolist()) == {1, 2, 7, 8}
    again = model.restrict([("y", [(1, 3)])]).restrict([("y", [(2, 3)])])
    assert set(again.sample(50, np.random.default_rng(0)).codes["y"].tolist()) == {2}


def test_a_condition_on_a_feature_leaves_the_labeller_as_it_is(model):
    given = model.restrict([("a", [(0, 2)])])
    assert np.allclose(given.labeller.share, 1)


def test_samples_follow_the_labeller(model):
    rows = 160_000
    batch = model.sample(rows, np.random.default_rng(1))
    told = model.conditional(batch, "y")
    for a in range(4):
        here = batch.codes["a"] == a
        pieces = np.searchsorted(model.columns["y"].starts, batch.codes["y"][here], side="right") - 1
        shares = np.bincount(pieces, minlength=7) / here.sum()
        assert np.allclose(shares, told[here].mean(axis=0), atol=0.01)


def test_draws_hardly_vary(model):
    """Sums over like records are nearer to their expectation than independent draws would be."""
    p = np.full((5_000, 3), [0.2, 0.3, 0.5])
    kind = np.repeat([0, 1], 2_500)
    for seed in range(20):
        label = model.labeller.draw(p, kind, np.random.default_rng(seed))
        for k in range(2):
            counts = np.bincount(label[kind == k], minlength=3)
            assert np.abs(counts - [500, 750, 1250]).max() <= 5


def test_it_survives_the_way_through_json(model):
    content, table = model.to_parts()
    again = TableMixture.from_parts(content, table, LISTED)
    assert np.array_equal(again.conditional(everything(), "y"), model.conditional(everything(), "y"))
    with pytest.raises(ValueError, match="nothing else"):
        Labeller.from_dict({**content["labeller"], "more": 1})


def test_records_keep_their_class_where_it_is_for_predictions_only(model):
    content, table = replace(model, labeller=replace(model.labeller, of_samples=False)).to_parts()
    again = TableMixture.from_parts(content, table, LISTED)
    drawn, plain = (one.sample(500, np.random.default_rng(3)) for one in (again, replace(model, labeller=None)))
    assert np.array_equal(drawn.codes["y"], plain.codes["y"])
    assert np.array_equal(again.conditional(everything(), "y"), model.conditional(everything(), "y"))
    with pytest.raises(ValueError, match="word on samples"):
        Labeller.from_dict({**content["labeller"], "of_samples": 1})


def test_what_does_not_fit_is_refused(model):
    with pytest.raises(ValueError, match="share"):
        Labeller(model.labeller.model, "y", np.ones(2))
    with pytest.raises(ValueError, match="share"):
        Labeller(model.labeller.model, "y", np.zeros(3))
    lookup = Lookup(("a",), (Grid.of_cells(np.arange(4)),), np.ones((1, 4), dtype=np.int32))
    two = Softmax(Features((lookup,), np.ones((1, 1), dtype=np.int32)), np.zeros((2, 2), dtype=np.int32))
    with pytest.raises(ValueError, match="lacks a class"):
        TableMixture(model.weights, model.columns, 1.0, Labeller(two, "y", np.ones(2)))


def test_the_target_of_a_labeller_is_not_tied(model):
    with pytest.raises(ValueError, match="cannot be tied"):
        replace(model, ties={"y": Tie("a", np.full((4, 7), 1 / 7))})
