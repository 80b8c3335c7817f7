"""What three columns or more tell of the target: found where it is there, and paid for nowhere else."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.bundle import open_release
from sfumato.artefact.verify import verify
from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.tables.growing import Tuning as Growing
from sfumato.fitting.mechanisms.tables.growing import count_leaves, grow_tree
from sfumato.fitting.mechanisms.tables.mending import Counts, Mending
from sfumato.fitting.mechanisms.tables.plan import TablesPlan, plan_tables
from sfumato.fitting.mechanisms.tables.screening import products_of, standing_out, with_products
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import CellTree, Features, Grid, Lookup, Softmax
from sfumato.trusted.feature_maps.features import ONE
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Cells, Gradient, LeafCounts, Products

ROWS = 8_000


def one_ways(columns: int, cells: int = 2, ordered: bool = False) -> OneWays:
    grid, counts = Grid.of_cells(np.arange(cells)), np.full((cells, 2), ROWS / (2 * cells))
    column = OneWay(grid, counts, 1.0, np.arange(cells), cells * ordered)
    names = {f"x{n}": column for n in range(columns)}
    return OneWays(names, Classes(np.arange(2), np.ones(2)), np.full(2, ROWS / 2), 1.0)


def records(columns: int, cells: int = 2, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(ROWS, {f"x{n}": rng.integers(0, cells, ROWS).astype(np.int32) for n in range(columns)})


def labelled(batch: Batch, label: np.ndarray) -> Batch:
    return Batch(batch.rows, {**batch.codes, "y": label.astype(np.int32)})


def undecided() -> Softmax:
    lookup = Lookup(("x0",), (Grid.of_cells(np.arange(2)),), np.zeros((1, 2), dtype=np.int32))
    return Softmax(Features((lookup,), np.zeros((1, 0), dtype=np.int32)), np.zeros((1, 2), dtype=np.int32))


LABEL = Grid.of_cells(np.arange(2))


class TestScreen:
    def test_every_set_of_three_and_more_as_long_as_they_are_few(self):
        assert {len(names) for names in products_of(one_ways(8), undecided(), "y", LABEL).sets} == {3, 4, 5}
        assert len(products_of(one_ways(8), undecided(), "y", LABEL).sets) == 56 + 70 + 56
        assert len(products_of(one_ways(30), undecided(), "y", LABEL).sets) == 4060
        assert len(products_of(one_ways(60), undecided(), "y", LABEL).sets) == 4060

    @pytest.mark.parametrize("which", [(0, 2, 5), (1, 3, 4, 6)])
    def test_a_parity_stands_out_and_nothing_else_does(self, which):
        batch = records(8)
        parity = sum(batch.codes[f"x{n}"] for n in which) % 2
        asked = products_of(one_ways(8), undecided(), "y", LABEL)
        noise = np.random.default_rng(1).normal(0, 30 * asked.sensitivity(Adjacency.ADD_REMOVE), 182)
        answer = asked(labelled(batch, parity)) + noise.astype(np.int64)
        sigma = 30 * asked.sensitivity(Adjacency.ADD_REMOVE)
        (found,) = standing_out(Measurement(asked, 1 / 30, sigma, answer))
        assert found.columns == tuple(f"x{n}" for n in which)
        features = with_products(undecided().features, (found,))
        psi = features(batch)[-1]
        assert set(psi.tolist()) == {-ONE, ONE}
        assert abs(np.mean((psi > 0) == parity) - 0.5) == 0.5
        assert standing_out(Measurement(asked, 1 / 30, sigma, noise.astype(np.int64))) == ()

    def test_columns_have_two_halves(self):
        held = np.array([70.0, 10, 10, 5, 5])[:, None]
        for ordered, halves in ((0, [0, 1, 1, 1, 1]), (5, [0, 1, 1, 1, 1])):
            column = OneWay(Grid.of_cells(np.arange(5)), held, 1.0, np.arange(5), ordered)
            seen = OneWays({f"x{n}": column for n in range(3)}, Classes(np.arange(2), np.ones(2)), np.ones(2), 1.0)
            grid = products_of(seen, undecided(), "y", LABEL).grids["x0"]
            assert grid.cell_of_code.tolist() == halves

    def test_other_answers_are_refused(self):
        counted = Cells((("y",),), {"y": LABEL}, "y")
        with pytest.raises(TypeError, match="products"):
            standing_out(Measurement(counted, 1.0, 1.0, np.zeros(2, dtype=np.int64)))


class TestTree:
    def test_it_finds_the_leaves_that_made_the_classes(self):
        batch = records(4, cells=6)
        x = [batch.codes[f"x{n}"] for n in range(4)]
        truth = np.where(x[1] > 2, np.where(x[3] > 0, 0, 1), np.where(x[0] > 4, 2, 3))
        told = np.eye(2)[truth % 2] * 0.8 + 0.1
        tree = grow_tree(one_ways(4, 6, ordered=True), batch, told, 4)
        assert set(tree.columns) == {"x0", "x1", "x3"}
        leaf = tree.leaf(batch)
        assert all(len(set((truth % 2)[leaf == number])) == 1 for number in range(tree.leaves))

    def test_categories_stand_in_the_order_of_their_classes(self):
        batch = records(1, cells=9)
        odd = batch.codes["x0"] % 2
        tree = grow_tree(one_ways(1, 9), batch, np.eye(2)[odd], 50)
        assert tree.leaves == 2
        assert len({(number, label) for number, label in zip(tree.leaf(batch), odd, strict=True)}) == 2

    def test_where_nothing_differs_there_is_one_leaf(self):
        assert grow_tree(one_ways(2), records(2), np.full((ROWS, 2), 0.5), 10).leaves == 1

    def test_leaves_hold_enough_and_are_not_too_many(self):
        rng = np.random.default_rng(0)
        tree = grow_tree(one_ways(3, 60, ordered=True), records(3, 60), rng.dirichlet([1, 1], ROWS), 40)
        assert tree.leaves == 40
        assert np.bincount(tree.leaf(records(3, 60))).min() >= Growing.least_records
        assert max(grid.size for grid in tree.grids) <= Growing.most_cells
        assert count_leaves(1e9, 1.0) == Growing.most_leaves
        assert count_leaves(1.0, 1.0) == Growing.fewest_leaves


def mended(truth: np.ndarray, sigma: float, seed: int = 0) -> tuple[Mending, Batch]:
    """One tree over two columns, for a model that knows nothing; `truth` is p(y = 1) by leaf."""
    batch, rng = records(2), np.random.default_rng(seed)
    grids, whole = (Grid.of_cells(np.arange(2)),) * 2, lambda *n: np.array(n, dtype=np.int32)
    tree = CellTree(("x0", "x1"), grids, whole(0, 1, 1), whole(0, 0, 0), whole(1, -1, -3), whole(2, -2, -4))
    label = rng.random(ROWS) < truth[tree.leaf(batch)]
    asked = LeafCounts(tree, "y", LABEL)
    values = asked(labelled(batch, label)) + np.rint(rng.normal(0, sigma, 8)).astype(np.int64)
    start = Mending(undecided(), batch, np.full((ROWS, 2), 0.5), float(ROWS))
    return start.after(Measurement(asked, 1 / sigma, sigma, values)), batch


class TestMending:
    def test_a_parity_is_mended(self):
        truth = np.array([0.9, 0.1, 0.1, 0.9])
        mending, batch = mended(truth, 20.0)
        p = mending.mended.probabilities(mending.mended.features(batch))[1]
        assert np.allclose(p, truth[mending.trees[0].tree.leaf(batch)], atol=0.06)
        assert np.allclose(p, mending.told[:, 1], atol=0.01)  # in whole numbers as in floats

    def test_what_is_right_is_left_alone(self):
        mending, _ = mended(np.full(4, 0.5), 20.0)
        assert mending.trees == ()
        assert mending.mended is mending.model

    def test_more_noise_draws_closer_to_the_model(self):
        truth = np.array([0.9, 0.1, 0.1, 0.9])
        far = [np.abs(mended(truth, sigma)[0].told[:, 1] - 0.5).mean() for sigma in (1.0, 300.0)]
        assert far[0] > far[1]

    def test_how_many_records_there_are_is_no_business_of_the_classes(self):
        """Twice the records in every other leaf, of both classes alike: no ratio at all."""
        tree = mended(np.full(4, 0.1), 1.0)[0].trees[0].tree
        expected = np.full((4, 2), [600.0, 200.0])
        counts = Counts.of(tree, expected * np.array([[2.0], [1], [2], [0.5]]), expected, 5.0)
        assert np.abs(counts.ratios(0.5)).max() < 0.01
        assert counts.likeliest()[0] == 0.0

    def test_other_answers_are_refused(self):
        counted = Cells((("y",),), {"y": LABEL}, "y")
        start = Mending(undecided(), records(2), np.full((ROWS, 2), 0.5), float(ROWS))
        with pytest.raises(TypeError, match="leaves"):
            start.after(Measurement(counted, 1.0, 1.0, np.zeros(2, dtype=np.int64)))


def schema_of(columns: int) -> Schema:
    listed = [{"name": f"x{n}", "type": "category", "values": ["0", "1"]} for n in range(columns)]
    target = {"name": "y", "type": "category", "values": ["0", "1"]}
    return Schema.from_dict({"sfumato": 1, "name": "t", "columns": [*listed, target], "target": "y"})


def table_of(label: str) -> pa.Table:
    codes = records(8, seed=3).codes
    y = {
        "parity": (codes["x1"] + codes["x4"] + codes["x6"]) % 2,
        "column": codes["x2"] ^ (np.random.default_rng(0).random(ROWS) < 0.1),
    }[label]
    return pa.table({name: code.astype(str) for name, code in codes.items()} | {"y": y.astype(int).astype(str)})


@cache
def release_of(label: str, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> sfumato.Release:
    return sfumato.release(
        table_of(label), schema_of(8), epsilon=1.0, ledger=None, types="declared", seed=5, adjacency=adjacency
    )


def asked_of(release: sfumato.Release) -> list[type]:
    return [type(item.statistic) for item in release.measurements]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_parity_of_three_columns_is_learnt(adjacency):
    release, table = release_of("parity", adjacency), table_of("parity")
    assert np.mean(np.array(release.predict(table)) == table.column("y").to_numpy(zero_copy_only=False)) > 0.95
    drawn = release.sample(4_000, seed=0, output="pandas").astype(int)
    assert np.mean((drawn["x1"] + drawn["x4"] + drawn["x6"]) % 2 == drawn["y"]) > 0.8


def test_without_structure_all_but_the_screen_and_one_tree_goes_to_gradients():
    plan = plan_tables(schema_of(8), Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
    release = release_of("column")
    assert asked_of(release) == [Cells, Cells, Products, Gradient, Gradient, LeafCounts, *[Gradient] * 3]
    assert [item.mu for item in release.measurements] == [plan.mu_one_way, plan.mu_pairs, *plan.mu_target_left]
    assert release.model.labeller.model.features.trees == ()


@pytest.mark.parametrize("label", ["parity", "column"])
def test_a_bundle_is_verified_and_fitted_anew(label, tmp_path):
    release = release_of(label)
    release.save(tmp_path / "b.sfumato")
    opened = open_release(tmp_path / "b.sfumato")
    failed = [check for check in verify(opened) if not check.holds]
    assert [check.what for check in failed] == ["noise from a cryptographic source"]  # it was seeded
    assert np.allclose(opened.predict_proba(table_of(label)), release.predict_proba(table_of(label)))


def test_a_plan_of_gradients_alone_is_read():
    plan = plan_tables(schema_of(3), Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
    old = {name: part for name, part in plan.to_dict().items() if name not in ("mu_screen", "mu_leaves", "mu_rest")}
    read = TablesPlan.from_dict(old, schema_of(3), Adjacency.ADD_REMOVE)
    assert (read.mu_screen, read.mu_leaves, read.mu_rest) == (None, None, ())
    assert read.mu_target_left == plan.mu_steps
