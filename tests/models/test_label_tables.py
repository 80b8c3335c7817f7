"""The labeller as few tables, against the model that it stands for, look-up by look-up."""

import numpy as np
import pytest

from sfumato.errors import BundleError
from sfumato.fitting.models.table_mixture import label_tables
from sfumato.fitting.models.table_mixture.label_tables import LabelTables, join_grids
from sfumato.fitting.models.table_mixture.walks import Walk
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import CellTree, Features, Grid, LeafLookup, Lookup, Softmax

CODES = {"a": 30, "b": 5, "c": 2, "d": 9_000, "e": 40}


def some_grid(rng: np.random.Generator, codes: int, cells: int) -> Grid:
    cell = np.sort(np.append(np.arange(cells), rng.integers(0, cells, codes - cells)))
    return Grid.of_cells(rng.permutation(cells)[cell])


def some_tree(rng: np.random.Generator, columns: tuple[str, ...], grids: tuple[Grid, ...], nodes: int) -> CellTree:
    """Each node takes the place of some leaf, which it splits."""
    ends = [(0, 0)] if nodes else []  # where a node may hang: its parent, below or above
    ways = np.zeros((nodes, 2), dtype=np.int32)
    for node in range(nodes):
        parent, side = ends.pop(rng.integers(len(ends)))
        if node:
            ways[parent, side] = node
        ends += [(node, 0), (node, 1)]
    for leaf, (parent, side) in enumerate(ends):
        ways[parent, side] = -1 - leaf
    axes = rng.integers(0, len(columns), nodes).astype(np.int32)
    cuts = np.array([rng.integers(0, grids[axis].size) for axis in axes], dtype=np.int32)
    return CellTree(columns, grids, axes, cuts, ways[:, 0].copy(), ways[:, 1].copy())


def some_model(classes: int, seed: int = 0) -> Softmax:
    """Look-ups of one, two and three columns on several grids of each, values in pairs, and two trees."""
    rng = np.random.default_rng(seed)
    fine = {name: some_grid(rng, codes, min(codes, 20)) for name, codes in CODES.items()}
    coarse = {name: some_grid(rng, codes, min(codes, 6)) for name, codes in CODES.items()}
    sets = [(("a",), fine), (("d",), fine), (("e",), coarse), (("a",), coarse)]
    sets += [((one, other), coarse) for one in "abd" for other in "cea" if one != other]
    sets += [(("e", "d"), fine), (("c", "a", "d"), coarse), (("b", "e", "c"), coarse)]
    lookups = [
        Lookup(
            columns,
            tuple(grids[name] for name in columns),
            rng.integers(-800, 800, (2, *(grids[name].size for name in columns))).astype(np.int32),
        )
        for columns, grids in sets
    ]
    trees = [some_tree(rng, ("b", "d", "a"), (coarse["b"], fine["d"], coarse["a"]), nodes) for nodes in (40, 1)]
    leaves = tuple(LeafLookup(tree, rng.integers(-800, 800, (1, tree.leaves)).astype(np.int32)) for tree in trees)
    values = 2 * len(lookups) + len(leaves)
    directions = rng.integers(-(2**13), 2**13, (values, 6)).astype(np.int32)
    coefficients = (rng.normal(size=(7, classes)) * 2**15).astype(np.int32)
    return Softmax(Features(tuple(lookups), directions, leaves), coefficients)


def some_records(rows: int, seed: int = 1) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(rows, {name: rng.integers(0, codes, rows).astype(np.int32) for name, codes in CODES.items()})


def plain_probabilities(model: Softmax, batch: Batch) -> np.ndarray:
    """Without rounding."""
    psi = model.features.directions.T.astype(float) @ model.features.values(batch) * 2.0**-18
    psi = np.concatenate((np.full((1, batch.rows), 256.0), psi))
    logits = model.coefficients.T.astype(float) @ psi * 2.0**-24
    p = np.exp(logits - logits.max(axis=0))
    return (p / p.sum(axis=0)).T


@pytest.mark.parametrize("classes", [2, 3, 40])
@pytest.mark.parametrize("most", [1, 16, 256])
def test_they_say_what_the_model_says(classes, most, monkeypatch):
    monkeypatch.setattr(label_tables, "_MOST_CELLS", most)
    model, batch = some_model(classes), some_records(500)
    told = LabelTables.of(model).probabilities(batch)
    assert np.allclose(told, plain_probabilities(model, batch), atol=1e-4)
    assert np.allclose(told, model.probabilities(model.features(batch)).T, atol=0.01)
    assert np.allclose(told.sum(axis=1), 1)


def test_a_record_is_told_the_same_in_any_company(monkeypatch):
    tables, batch = LabelTables.of(some_model(3)), some_records(300)
    whole = tables.probabilities(batch)
    monkeypatch.setattr(label_tables, "_AT_ONCE", 7)
    assert np.array_equal(tables.probabilities(batch), whole)
    alone = [tables.probabilities(part) for part in batch.parts(1, batch.codes)]
    assert np.array_equal(np.concatenate(alone), whole)


def test_large_tables_of_pairs_are_split(monkeypatch):
    model, batch = some_model(3), some_records(200)
    whole = LabelTables.of(model)
    monkeypatch.setattr(label_tables, "_MOST_NUMBERS", 5_000)
    label_tables._tables_of.cache_clear()
    split = LabelTables.of(model)
    assert len(split.bundles) > len(whole.bundles)
    assert np.allclose(split.probabilities(batch), whole.probabilities(batch), atol=1e-4)


def test_no_records():
    assert LabelTables.of(some_model(3)).probabilities(some_records(0)).shape == (0, 3)


def test_very_large_logits_do_not_overflow():
    model = some_model(2)
    steep = Softmax(
        model.features, (model.coefficients.astype(np.int64) * 2**12).clip(-(2**30), 2**30).astype(np.int32)
    )
    told = LabelTables.of(steep).probabilities(some_records(500))
    assert np.isfinite(told).all()
    assert np.allclose(told.sum(axis=1), 1)
    assert LabelTables.of(steep).bits < LabelTables.of(model).bits


@pytest.mark.parametrize("nodes", [0, 1, 2, 30, 300])
def test_a_walk_ends_in_the_leaf_of_the_tree(nodes):
    rng = np.random.default_rng(nodes)
    grids = {name: some_grid(rng, codes, min(codes, 9)) for name, codes in CODES.items()}
    tree, batch = some_tree(rng, tuple(grids), tuple(grids.values()), nodes), some_records(2_000)
    codes = [(place, grid.cell_of_code.astype(np.int64)) for place, grid in enumerate(grids.values())]
    found = [batch.codes[name].astype(np.int64) for name in grids]
    assert np.array_equal(Walk.of(tree, codes).leaves(found, batch.rows), tree.leaf(batch))


def test_joined_grids_tell_the_cells_of_each():
    rng = np.random.default_rng(0)
    grids = [some_grid(rng, 500, cells) for cells in (3, 11, 3)]
    joined, cells = join_grids([*grids, grids[0]])
    for grid in grids:
        assert np.array_equal(cells[grid][joined.cell_of_code], grid.cell_of_code)
    assert joined.size == len({tuple(grid.cell_of_code[code] for grid in grids) for code in range(500)})


def look_up(columns: tuple[str, ...], *grids: Grid) -> Lookup:
    return Lookup(columns, grids, np.ones((1, *(grid.size for grid in grids)), dtype=np.int32))


def made_up(lookups: list[Lookup], trees: tuple[LeafLookup, ...] = (), direction: int = 1, by: int = 1) -> Softmax:
    directions = np.full((len(lookups) + len(trees), 1), direction, dtype=np.int32)
    return Softmax(Features(tuple(lookups), directions, trees), np.array([[0, 0], [by, -by]], dtype=np.int32))


class TestMadeUpModels:
    """What no fit makes, and a bundle may hold."""

    def test_look_ups_that_cut_columns_into_very_many_are_refused(self):
        """Each has few cells; together they tell 40,000 codes of each column apart."""
        codes, step = 40_000, 200
        fine = [Grid.of_cells(np.arange(codes) // step), Grid.of_cells(np.arange(codes) % step)]
        one = Grid.of_cells(np.zeros(codes, dtype=np.int64))
        pairs = [look_up(("a", "d"), *grids) for grid in fine for grids in ((grid, one), (one, grid))]
        with pytest.raises(BundleError, match="too large"):
            LabelTables.of(made_up(pairs))

    def test_pairs_of_bundles_too_large_are_refused(self, monkeypatch):
        monkeypatch.setattr(label_tables, "_LARGEST", 800)
        grid = Grid.of_cells(np.arange(4))
        with pytest.raises(BundleError, match="too large"):
            LabelTables.of(made_up([look_up(("a", "b"), grid, grid), look_up(("b", "c"), grid, grid)]))

    def test_numbers_beyond_all_bits_are_told_in_larger_units(self):
        grid = Grid.of_cells(np.arange(5))
        values = np.array([[0, 1, 2, 3, 2**30]], dtype=np.int32)
        model = made_up([Lookup(("b",), (grid,), values)], direction=2**22, by=2**30)
        p = LabelTables.of(model).probabilities(Batch(5, {"b": np.arange(5, dtype=np.int32)}))
        assert np.allclose(p.sum(axis=1), 1)
        assert p[0].tolist() == [0.5, 0.5]
        assert p[4].tolist() == [1.0, 0.0]

    def test_a_tree_without_columns_has_one_leaf(self):
        nothing = np.zeros(0, dtype=np.int32)
        tree = CellTree((), (), nothing, nothing, nothing, nothing)
        model = made_up([], (LeafLookup(tree, np.array([[5]], dtype=np.int32)),))
        assert LabelTables.of(model).probabilities(Batch(3, {})).shape == (3, 2)

    def test_a_look_up_without_columns_is_refused(self):
        with pytest.raises(ValueError, match="needs a column"):
            look_up(())
