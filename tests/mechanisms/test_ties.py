"""Which categories are taken for functions of another, and what becomes of them in a release."""

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.artefact.check import Outcome
from sfumato.artefact.verify import verify
from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.counts.ties import add_ties
from sfumato.fitting.mechanisms.tables.approximation import approximate, evidence
from sfumato.fitting.mechanisms.tables.coarse_map import coarse_map
from sfumato.fitting.mechanisms.tables.start import start_anywhere
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.schema import Schema

SIZE = 20_000
ZIPS = 12


def counted(columns: dict[str, np.ndarray], sigma: float = 30.0, groups: dict | None = None):
    """Noisy tables of records, all without a target."""
    rng = np.random.default_rng(0)
    one_way, names = {}, list(columns)
    for name, codes in columns.items():
        cells = int(codes.max()) + 1
        counts = np.bincount(codes, minlength=cells)[:, None] + sigma / 4 * rng.normal(size=(cells, 1))
        own = np.arange(cells) if groups is None or name not in groups else groups[name]
        one_way[name] = OneWay(Grid.of_cells(np.arange(cells)), counts, sigma / 4, own, 0)
    tables = {}
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            shape = [int(one_way[name].groups.max()) + 1 for name in (one, other)]
            table = np.zeros(shape)
            np.add.at(table, tuple(one_way[name].groups[columns[name]] for name in (one, other)), 1)
            tables[one, other] = (table + sigma * rng.normal(size=shape))[None]
    coarse = {name: np.arange(int(column.groups.max()) + 1) for name, column in one_way.items()}
    grids = {name: column.grid for name, column in one_way.items()}
    size = float(len(columns[names[0]]))
    ways = OneWays(one_way, Classes(np.zeros(1, dtype=np.int64), np.ones(1)), np.array([size]), 1.0)
    return ways, PairTables(coarse, grids, tables, dict.fromkeys(tables, sigma))


def parents(columns: dict[str, np.ndarray], **options) -> dict[str, str]:
    return {child: tie.parent for child, tie in add_ties((), *counted(columns, **options)).ties.items()}


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def zips(rng):
    share = 1 / np.arange(1, ZIPS + 1) ** 0.5
    return rng.choice(ZIPS, SIZE, p=share / share.sum())


def test_functions_of_one_column_make_a_star(zips, rng):
    """A chain is taken for one too: state hangs on zip, as city does."""
    city = np.arange(ZIPS) % 6
    state = np.arange(6) % 3
    found = parents({"state": state[city[zips]], "zip": zips, "city": city[zips], "free": rng.integers(0, 4, SIZE)})
    assert found == {"city": "zip", "state": "zip"}


def test_a_tendency_is_no_function(zips, rng):
    away = rng.random(SIZE) < 0.12
    assert parents({"zip": zips, "city": np.where(away, (zips + 1) % 4, zips % 4)}) == {}


def test_a_child_that_hardly_varies_is_no_function(zips, rng):
    assert parents({"zip": zips, "rare": (rng.random(SIZE) < 0.02).astype(np.int64)}) == {}
    assert parents({"zip": zips, "rare": (rng.random(SIZE) < 0.02).astype(np.int64)}, sigma=150.0) == {}


def test_too_much_noise_shows_nothing(zips):
    assert parents({"zip": zips, "city": zips % 4}, sigma=600.0) == {}


def test_what_is_rare_together_may_differ(zips):
    """Two parents that are one group lead to two children."""
    groups = np.append(np.arange(ZIPS - 2), [ZIPS - 2] * 2)
    ways, pairs = counted({"zip": zips, "city": zips % 6}, groups={"zip": groups})
    table = add_ties((), ways, pairs).ties["city"].table
    assert table.shape == (ZIPS, 6)
    assert np.allclose(table.sum(axis=1), 1)
    assert table[:10].argmax(axis=1).tolist() == (np.arange(10) % 6).tolist()
    assert table[10, 4] > 0.3
    assert table[10, 5] > 0.3


def test_a_table_of_a_tie_holds_what_stands_out(zips, rng):
    """One record of a hundred is elsewhere, in one parent; the rest is a function, and yet no child is excluded."""
    city = np.where((zips == 0) & (rng.random(SIZE) < 0.05), 1, zips % 4)
    table = add_ties((), *counted({"zip": zips, "city": city})).ties["city"].table
    assert table[0, 1] == pytest.approx(0.05, abs=0.03)
    assert (table > 0).all()
    assert table[np.arange(1, ZIPS), np.arange(1, ZIPS) % 4].min() > 0.99


def test_the_tables_of_a_child_are_evidence_on_its_parent(zips, rng):
    other = np.where(rng.random(SIZE) < 0.5, zips % 4 // 2, rng.integers(0, 3, SIZE))
    ways, pairs = counted({"zip": zips, "city": zips % 4, "other": other})
    tied = add_ties((), ways, pairs)
    starts = {"zip": 0, "city": ZIPS, "other": ZIPS + 4}
    seen = coarse_map(ways, tied, starts, ZIPS + 7).matrix
    assert np.array_equal(seen[:ZIPS, :ZIPS], np.eye(ZIPS))
    assert np.allclose(seen[:ZIPS, ZIPS : ZIPS + 4], tied.ties["city"].table)
    assert not seen[ZIPS : ZIPS + 4].any()  # its own theta has no say in any pair
    told = evidence(ways, tied)
    assert not told.pair_precision[:ZIPS, ZIPS : ZIPS + 4].any()
    assert told.pair_precision[ZIPS : ZIPS + 4, ZIPS + 4 :].all()
    weights, thetas = approximate(ways, evidence(ways, tied), start_anywhere(ways, [10]), 600)
    child = thetas[0] @ tied.ties["city"].table
    found = child.T @ (weights[:, None] * thetas[2])
    true = np.histogram2d(zips % 4, other, [range(5), range(4)])[0] / SIZE
    assert np.abs(found - true).sum() / 2 < 0.02


def test_siblings_are_no_product_either(zips):
    ways, pairs = counted({"zip": zips, "city": zips % 6, "state": zips % 3})
    told = evidence(ways, add_ties((), ways, pairs))
    assert not told.pair_precision.any()


def schema_of(frame: pd.DataFrame, target: str | None = None) -> Schema:
    columns = [{"name": name, "type": "category", "values": sorted(frame[name].unique())} for name in frame]
    return Schema.from_dict({"sfumato": 1, "name": "t", "columns": columns} | ({"target": target} if target else {}))


@pytest.mark.parametrize("target", [None, "ill"])
def test_a_released_function_is_kept_and_can_be_fitted_anew(target, zips, rng, tmp_path):
    frame = pd.DataFrame({"zip": zips, "city": zips % 5, "age": rng.integers(0, 4, SIZE)})
    frame["ill"] = ((frame["city"] + frame["age"] + rng.integers(0, 3, SIZE)) > 5).astype(int)
    frame = frame.astype(str)
    release = sfumato.release(
        frame, schema_of(frame, target), epsilon=1.0, delta=1e-5, ledger=None, types="declared", seed=1
    )
    assert {child: tie.parent for child, tie in release.model.ties.items()} == {"city": "zip"}
    sample = release.sample(5_000, seed=0)
    assert (sample["zip"].astype(int) % 5 == sample["city"].astype(int)).mean() > 0.99
    given = release.condition({"city": "3"}).sample(1_000, seed=0)
    assert (given["zip"].astype(int) % 5 == 3).mean() > 0.97
    release.save(tmp_path / "tied.sfumato")
    again = sfumato.open(tmp_path / "tied.sfumato")
    assert again.model.distance(release.model) < 1e-9
    found = {check.what: check.outcome for check in verify(again)}
    assert found["model follows from the measurements"] == Outcome.HOLDS
    assert again.refit(components=5).model.ties.keys() == {"city"}
