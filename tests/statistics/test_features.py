"""From a record to psi, against a slow version that looks up one value after the other, and to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Features, Grid, LeafLookup, Lookup, features
from tests.statistics.test_leaf_counts import tree_of

GRIDS = {name: Grid.of_cells(np.arange(size) // wide) for name, size, wide in (("a", 5, 1), ("b", 300, 31))}
COARSE = Grid.of_cells(np.arange(300) // 150)


def features_of(seed: int, steep: float, lookups: int) -> Features:
    """Look-ups of one to three cells in random order, neighbours alike or not; two trees."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(lookups):
        kinds = [("a", GRIDS["a"]), ("b", GRIDS["b"]), ("b", COARSE)]
        some = [kinds[place] for place in rng.permutation(3)[: rng.integers(1, 4)]]
        grids = tuple(grid for _, grid in some)
        values = rng.integers(-3_000, 3_000, (rng.integers(1, 4), *(grid.size for grid in grids)))
        found.append(Lookup(tuple(name for name, _ in some), grids, values.astype(np.int32)))
    trees = [LeafLookup(tree_of(), rng.integers(-9, 9, (2, tree_of().leaves)).astype(np.int32)) for _ in range(2)]
    count = sum(len(one.values) for one in (*found, *trees))
    directions = np.rint(steep * 2**16 * rng.normal(size=(count, 4))).astype(np.int32)
    return Features(tuple(found), directions, tuple(trees))


def batch_of(rows: int, seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(rows, {"a": rng.integers(0, 5, rows, np.int32), "b": rng.integers(0, 300, rows, np.int32)})


def looked_up(one: Features, batch: Batch, row: int) -> list[int]:
    """The values of one record, in whole numbers."""
    values: list[int] = []
    for lookup in one.lookups:
        at = tuple(
            int(grid.cell_of_code[batch.codes[name][row]])
            for name, grid in zip(lookup.columns, lookup.grids, strict=True)
        )
        values += [int(table[at]) for table in lookup.values]
    for by_leaf in one.trees:
        values += by_leaf.values[:, by_leaf.tree.leaf(batch)[row]].tolist()
    return values


def psi_of(one: Features, values: list[int]) -> list[float]:
    """Its psi: the products are whole numbers, then comes one rounding."""
    sums = [sum(value * int(entry) for value, entry in zip(values, column, strict=True)) for column in one.directions.T]
    return [256.0, *(float(np.clip(np.rint(total * 2.0**-18), -(2**15) + 1, 2**15 - 1)) for total in sums)]


@given(st.integers(0, 50), st.integers(1, 9), st.sampled_from([0, 1, 5, 40]), st.sampled_from([0.01, 1.0, 30.0]))
def test_values_and_psi_are_those_of_the_slow_version(seed, lookups, rows, steep):
    one, batch = features_of(seed, steep, lookups), batch_of(rows, seed)
    expected = [looked_up(one, batch, row) for row in range(rows)]
    assert one.values(batch).T.tolist() == expected
    assert one(batch).T.tolist() == [psi_of(one, values) for values in expected]


@pytest.mark.parametrize("at_once", [1, 3, 64])
def test_any_number_at_once_gives_the_same_bits(at_once, monkeypatch):
    one, batch = features_of(1, 1.0, 30), batch_of(200, 1)
    values, psi = one.values(batch), one(batch)
    for name in ("_RECORDS_AT_ONCE", "_FEWEST_AT_ONCE", "_LOOKUPS_AT_ONCE"):
        monkeypatch.setattr(features, name, at_once)
    again = features_of(1, 1.0, 30)
    assert again.records_at_once == at_once
    assert again.values(batch).tobytes() == values.tobytes()
    assert again(batch).tobytes() == psi.tobytes()


def test_a_record_of_very_many_values_is_looked_at_among_fewer(monkeypatch):
    one = features_of(1, 1.0, 30)
    monkeypatch.setattr(features, "_VALUES_AT_ONCE", 1_000 * len(one.directions))
    assert one.records_at_once == 1_000
    monkeypatch.setattr(features, "_VALUES_AT_ONCE", 1)
    assert one.records_at_once == features._FEWEST_AT_ONCE
