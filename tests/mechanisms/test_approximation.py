"""The fit of the mixture: its gradient against differences, and what it finds."""

import itertools

import numpy as np
import pytest

from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables, TripleTable
from sfumato.fitting.mechanisms.tables import coarse_map
from sfumato.fitting.mechanisms.tables.approximation import approximate, evidence
from sfumato.fitting.mechanisms.tables.averaging import average_fits
from sfumato.fitting.mechanisms.tables.product_mixture import ProductMixture
from sfumato.fitting.mechanisms.tables.start import start_anywhere
from sfumato.trusted.feature_maps import Grid

SIZES = {"a": 3, "b": 4, "c": 5}


def hidden(rng: np.random.Generator, components: int, classes: int):
    """A mixture of products over three columns: weights, class of each component, theta by column."""
    weights = rng.dirichlet(np.ones(components))
    return (
        weights,
        np.arange(components) % classes,
        {n: rng.dirichlet(np.ones(s), components) for n, s in SIZES.items()},
    )


def tables(truth, classes: int, size: float, sigma: float, rng: np.random.Generator) -> tuple[OneWays, PairTables]:
    """Its noisy one-way and pair tables, every cell a group and a coarse cell."""
    weights, owner, theta = truth
    member = weights[:, None] * (owner[:, None] == np.arange(classes))
    columns = {}
    for name, cells in SIZES.items():
        counts = size * theta[name].T @ member + sigma * rng.normal(size=(cells, classes))
        columns[name] = OneWay(Grid.of_cells(np.arange(cells)), counts, sigma, np.arange(cells), 0)
    totals = size * member.sum(axis=0)
    one_way = OneWays(columns, Classes(np.arange(classes), np.ones(classes)), totals, sigma)
    pairs = {
        (x, y): size * np.einsum("kc,ka,kb->cab", member, theta[x], theta[y])
        + sigma * rng.normal(size=(classes, SIZES[x], SIZES[y]))
        for x, y in itertools.combinations(SIZES, 2)
    }
    coarse = {name: np.arange(cells) for name, cells in SIZES.items()}
    grids = {name: column.grid for name, column in columns.items()}
    return one_way, PairTables(coarse, grids, pairs, dict.fromkeys(pairs, sigma))


def test_the_gradient_agrees_with_differences():
    rng = np.random.default_rng(0)
    one_way, pairs = tables(hidden(rng, 4, 2), 2, 500.0, 20.0, rng)
    seen = evidence(one_way, pairs)
    marginals = np.concatenate([column.theta for column in one_way.columns.values()], axis=1)[[0, 0, 1, 1, 1]]
    mixture = ProductMixture(
        rng.normal(size=(5, 12)).astype(np.float64),
        rng.normal(size=5).astype(np.float64),
        np.array([0, 0, 1, 1, 1]),
        marginals,
        seen.offsets,
    )
    by_logits, by_weights = mixture.slope(seen)
    for parameter, gradient in ((mixture.logits, by_logits), (mixture.weight_logits, by_weights)):
        for place in itertools.islice(np.ndindex(parameter.shape), 0, None, 7):
            kept = parameter[place]
            ends = []
            for step in (-0.05, 0.05):
                parameter[place] = kept + step
                ends.append(mixture.error(seen))
            parameter[place] = kept
            slope = (ends[1] - ends[0]) / 0.1
            assert slope == pytest.approx(gradient[place], rel=0.05, abs=0.05 + 1e-3 * np.abs(gradient).max())


@pytest.mark.parametrize("classes", [1, 2])
def test_it_finds_the_tables_behind_a_little_noise(classes):
    rng = np.random.default_rng(1)
    truth = hidden(rng, 6, classes)
    one_way, pairs = tables(truth, classes, 1e5, 20.0, rng)
    start = start_anywhere(one_way, [8] * classes)
    owner = start.owner
    weights, thetas = approximate(one_way, evidence(one_way, pairs), start, 800)
    theta = dict(zip(SIZES, thetas, strict=True))
    assert np.isclose(weights.sum(), 1)
    for x, y in itertools.combinations(SIZES, 2):
        found, true = (
            np.einsum("k,kc,ka,kb->cab", w, o[:, None] == np.arange(classes), t[x], t[y])
            for w, o, t in ((weights, owner, theta), truth)
        )
        assert np.abs(found - true).sum() / 2 < 0.01
    assert np.allclose(np.bincount(owner, weights=weights), one_way.totals / one_way.size)


def test_noise_alone_makes_no_columns_depend():
    """The Dirichlet prior: where columns are independent, a rich mixture stays near the product."""
    rng = np.random.default_rng(2)
    truth = (np.ones(1), np.zeros(1, dtype=int), {name: rng.dirichlet(np.ones(s), 1) for name, s in SIZES.items()})
    one_way, pairs = tables(truth, 1, 5_000.0, 60.0, rng)
    weights, thetas = approximate(one_way, evidence(one_way, pairs), start_anywhere(one_way, [20]), 800)
    a, b = thetas[0], thetas[1]
    joint = np.einsum("k,ka,kb->ab", weights, a, b)
    apart = np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum() / 2
    measured = pairs.tables["a", "b"][0] / 5_000
    noise = np.abs(measured - np.outer(measured.sum(axis=1), measured.sum(axis=0))).sum() / 2
    assert apart < 0.6 * noise


def test_without_pairs_the_marginals_are_kept():
    rng = np.random.default_rng(3)
    one_way, _ = tables(hidden(rng, 3, 2), 2, 1e5, 10.0, rng)
    start = start_anywhere(one_way, [1, 1])
    owner = start.owner
    _, thetas = approximate(one_way, evidence(one_way, None), start, 300)
    for column, theta in zip(one_way.columns.values(), thetas, strict=True):
        assert np.allclose(theta, column.theta[owner], atol=0.01)


def test_columns_that_are_in_no_pair_have_no_cells_and_change_nothing():
    rng = np.random.default_rng(2)
    one_way, pairs = tables(hidden(rng, 4, 2), 2, 500.0, 20.0, rng)
    kept = {pair: table for pair, table in pairs.tables.items() if "c" not in pair}
    fewer = PairTables(pairs.coarse, pairs.grids, kept, dict.fromkeys(kept, 20.0))
    seen, whole = evidence(one_way, fewer), evidence(one_way, pairs)
    assert seen.coarse.shape == (12, SIZES["a"] + SIZES["b"])
    assert not seen.coarse.matrix[SIZES["a"] + SIZES["b"] :].any()
    assert np.array_equal(seen.pairs, whole.pairs[:, :7, :7])
    whole.pair_precision[7:] = whole.pair_precision[:, 7:] = 0
    marginals = np.concatenate([column.theta for column in one_way.columns.values()], axis=1)[[0, 0, 1]]
    mixture = ProductMixture(rng.normal(size=(3, 12)), rng.normal(size=3), np.array([0, 0, 1]), marginals, seen.offsets)
    assert mixture.error(seen) == pytest.approx(mixture.error(whole), rel=1e-5)
    for one, other in zip(mixture.slope(seen), mixture.slope(whole), strict=True):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-4)


def test_columns_that_are_in_no_pair_can_be_left_out_and_keep_their_marginals():
    rng = np.random.default_rng(2)
    one_way, pairs = tables(hidden(rng, 4, 2), 2, 5_000.0, 20.0, rng)
    kept = {pair: table for pair, table in pairs.tables.items() if "b" not in pair}
    fewer = PairTables(pairs.coarse, pairs.grids, kept, dict.fromkeys(kept, 20.0))
    start = start_anywhere(one_way, [3, 3])
    seen = evidence(one_way, fewer, paired_only=True)
    assert seen.one_way.shape == (SIZES["a"] + SIZES["c"], 2)
    _, (a, b, c) = approximate(one_way, seen, start, 300)
    _, (all_a, all_b, all_c) = approximate(one_way, evidence(one_way, fewer), start, 300)
    assert np.allclose(b, one_way.columns["b"].theta[start.owner])
    for one, other in ((a, all_a), (b, all_b), (c, all_c)):
        assert np.abs(one - other).max() < 0.03


def test_a_column_that_is_in_a_table_of_three_alone_is_not_left_out():
    rng = np.random.default_rng(2)
    one_way, pairs = tables(hidden(rng, 4, 1), 1, 5_000.0, 20.0, rng)
    kept = {("a", "b"): pairs.tables["a", "b"]}
    three = TripleTable(("a", "b", "c"), pairs.coarse, rng.normal(80, 20, tuple(SIZES.values())), 20.0)
    fewer = PairTables(pairs.coarse, pairs.grids, kept, {("a", "b"): 20.0}, triples=(three,))
    seen = evidence(one_way, fewer, paired_only=True)
    assert seen.held.all()
    assert seen.triples[0].groups == (slice(0, 3), slice(3, 7), slice(7, 12))


@pytest.mark.parametrize("rows_at_once", [1, 7, 1_000])
def test_the_coarse_map_multiplies_as_its_matrix_does(rows_at_once, monkeypatch):
    monkeypatch.setattr(coarse_map, "_ROWS_AT_ONCE", rows_at_once)
    rng = np.random.default_rng(5)
    spans = [slice(0, 4), slice(4, 5), slice(5, 11)]
    cells = [np.array([5, 6]), np.array([0]), np.array([1, 2, 4])]
    seen = [(at, own, rng.random((at.stop - at.start, len(own)))) for at, own in zip(spans, cells, strict=True)]
    seen.append((spans[0], np.array([3]), rng.random((4, 1))))  # as of a column that is tied to the first
    one = coarse_map.CoarseMap.of((12, 7), seen)
    matrix = np.zeros((12, 7))
    for rows, own, values in seen:
        matrix[rows, own] += values
    groups, back = rng.random((3, 12)), rng.random((3, 7))
    added = np.ones((3, 12))
    one.add_groups_of(back, added)
    assert np.allclose(one.matrix, matrix)
    assert np.allclose(one.cells_of(groups), groups @ matrix)
    assert np.allclose(added, 1 + back @ matrix.T)


def test_the_average_of_fits_is_nearer_than_they_are_in_the_mean():
    """By Jensen's inequality for each pair, and other starts lead to other fits."""
    rng = np.random.default_rng(4)
    truth = hidden(rng, 6, 1)
    one_way, pairs = tables(truth, 1, 2_000.0, 40.0, rng)

    def off(fitted) -> float:
        joints = [
            [
                np.einsum("k,ka,kb->ab", weights, *(dict(zip(SIZES, thetas, strict=True))[name] for name in pair))
                for pair in itertools.combinations(SIZES, 2)
            ]
            for weights, thetas in (fitted[:2], (truth[0], list(truth[2].values())))
        ]
        return sum(float(((found - true) ** 2).sum()) for found, true in zip(*joints, strict=True))

    start = start_anywhere(one_way, [10])
    fits = [approximate(one_way, evidence(one_way, pairs), start, 200, number) for number in range(3)]
    averaged = average_fits(one_way, evidence(one_way, pairs), start, 200, 3)
    assert len(averaged[0]) == 30
    assert averaged[0].sum() == pytest.approx(1)
    assert not np.allclose(fits[0][0], fits[1][0])
    assert off(averaged) <= np.mean([off(fit) for fit in fits])
