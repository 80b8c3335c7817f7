"""Questions about the target on a share of the records: when, how many, and that little is lost."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

import sfumato
from sfumato.artefact.bundle import open_release
from sfumato.artefact.verify import verify
from sfumato.auditing.transcript import mu_between
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.fitting.mechanisms.tables.belief import Belief
from sfumato.fitting.mechanisms.tables.mending import Mending
from sfumato.fitting.mechanisms.tables.sampling import Tuning, asked_of, asking, count_needed, likeness, share_of
from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.feature_maps.hashed_share import HashedShare
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Cells, Gradient, LeafCounts, Products, Sampled

ROWS = 24_000
COLUMNS = 6
SCHEMA = Schema.from_dict(
    {
        "sfumato": 1,
        "name": "t",
        "target": "y",
        "columns": [
            *({"name": f"x{n}", "type": "number", "bounds": [-4, 4]} for n in range(COLUMNS)),
            {"name": "y", "type": "boolean"},
        ],
    }
)


def table_of(rows: int = ROWS, seed: int = 0, distinct: int | None = None) -> pa.Table:
    """Six numbers, and a target that follows from them; of `distinct` kinds of rows, if so many are asked for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(distinct or rows, COLUMNS))
    X = X[rng.integers(0, len(X), rows)] if distinct else X
    odds = X @ np.array([1.5, -1.0, 0.5, 0.0, 0.0, 0.0]) + X[:, 3] * X[:, 4]
    y = rng.random(rows) < 1 / (1 + np.exp(-odds))
    return pa.table({f"x{n}": X[:, n] for n in range(COLUMNS)} | {"y": y})


def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 4,000 records were enough, or as many as the noise of epsilon 10 asks for."""
    monkeypatch.setattr(Tuning, "enough", 4_000)


def released(table: pa.Table, **more) -> sfumato.Release:
    return sfumato.release(table, SCHEMA, epsilon=10.0, mechanism="tables", ledger=None, types="declared", **more)


@cache
def of_all() -> sfumato.Release:
    return released(table_of())


def asked(release: sfumato.Release) -> list:
    counts = (Gradient, LeafCounts, Products)
    return [item for item in release.measurements if isinstance(asked_of(item)[0], counts)]


def grid() -> dict:
    return {name: fine_grid(codes) for name, codes in Encoder(SCHEMA).columns.items() if name != "y"}


class OneWays:
    """What the rule looks at."""

    def __init__(self, size: float, columns: int = COLUMNS) -> None:
        self.size = size
        self.columns = {name: type("Column", (), {"grid": one}) for name, one in list(grid().items())[:columns]}


def pool(table: pa.Table) -> Batch:
    return Encoder(SCHEMA).encode(table.to_batches()[0])


def test_noise_or_chance_decides_how_many_are_needed():
    assert count_needed(1.0) == Tuning.enough
    assert count_needed(0.01) == Tuning.per_square * 1e4 > Tuning.enough


def test_likeness_counts_pairs_of_alike_records():
    batch = pool(table_of(300, distinct=20))
    share = HashedShare(bytes(16), 1, grid())
    cells = np.stack([one.cells_of(batch.codes[name]) for name, one in share.grids.items()]).T.tolist()
    alike = sum(cells[a] == cells[b] for a in range(300) for b in range(a))
    assert alike > 0
    assert likeness(share, batch) == pytest.approx((alike + 1) / (300 * 299 / 2))


def test_of_a_table_that_is_not_large_all_records_are_asked():
    assert share_of(OneWays(2.0 * Tuning.enough), pool(table_of()), 1.0) is None
    assert share_of(OneWays(1e9, columns=0), pool(table_of()), 1.0) is None
    assert share_of(OneWays(1e7), pool(table_of()), 0.01) is None  # noise asks for all of them
    assert not any(isinstance(item.statistic, Sampled) for item in of_all().measurements)


def test_of_a_large_one_as_many_as_are_needed():
    found = share_of(OneWays(1e8), pool(table_of()), 1.0)
    expected = Tuning.enough * (1e-8 + likeness(found, pool(table_of())))
    assert found.share == pytest.approx(expected)
    assert found.columns == tuple(f"x{n}" for n in range(COLUMNS))
    assert found.key != share_of(OneWays(1e8), pool(table_of()), 1.0).key


def test_where_records_repeat_each_other_all_are_asked():
    """A share by hash would have some kinds of them whole, and others not at all."""
    assert share_of(OneWays(1e8), pool(table_of(distinct=1_000)), 1.0) is None


def test_more_are_asked_where_some_are_alike():
    shares = [share_of(OneWays(1e8), pool(table_of(distinct=kinds)), 1.0).share for kinds in (None, 10**7)]
    assert shares[0] <= shares[1]


def test_what_is_asked_is_told_apart():
    class Curator:
        def measure(self, statistic, mu):
            return Measurement(statistic, mu, 1.0, np.zeros(1, dtype=np.int64))

    cells, half = Cells((("x0",),), grid(), "y"), HashedShare(bytes(16), 1 << 31, grid())
    assert asked_of(asking(Curator(), None)(cells, 1.0)) == (cells, 1.0)
    assert asked_of(asking(Curator(), half)(cells, 1.0)) == (cells, 0.5)


def test_a_release_of_a_share(monkeypatch, tmp_path):
    """It predicts as well but for chance, is verified and fitted anew, and tells what was asked."""
    whole = of_all()
    fewer(monkeypatch)
    table, fresh = table_of(), table_of(8_000, seed=1)
    release = released(table)
    assert {type(item.statistic) for item in asked(release)} == {Sampled}
    assert 0.15 < asked(release)[0].statistic.of.share < 0.5
    label = fresh.column("y").to_numpy(zero_copy_only=False)
    auc = [roc_auc_score(label, one.predict_proba(fresh)[:, 1]) for one in (whole, release)]
    assert auc[0] - auc[1] < 0.01

    release.save(tmp_path / "b.sfumato")
    opened = open_release(tmp_path / "b.sfumato")
    assert all(check.holds for check in verify(opened))
    assert np.allclose(opened.predict_proba(fresh), release.predict_proba(fresh))
    assert "of the records" in asked(opened)[0].statistic.title


@pytest.mark.parametrize("adjacency", ["add-remove", "replace", "label"])
def test_all_answers_together_spend_no_more_than_the_claim(monkeypatch, adjacency):
    fewer(monkeypatch)
    here = table_of()
    release = released(here, adjacency=adjacency)
    assert {type(item.statistic) for item in asked(release)} == {Sampled}
    places = asked(release)[0].statistic.of.places(pool(here))
    some = here.take(pa.array(np.roll(np.arange(ROWS), -int(places[0]))))  # one that is in stands first
    other = some.column("y").to_numpy(zero_copy_only=False).copy()
    other[0] = not other[0]
    there = {
        "add-remove": some.slice(1),
        "replace": pa.concat_tables([table_of(1, seed=9), some.slice(1)]),
        "label": some.set_column(COLUMNS, "y", pa.array(other)),
    }[adjacency]
    spent = mu_between(release.measurements, *(open_source(one, SCHEMA, declared=True) for one in (some, there)))
    assert 0.5 * release.statement.mu < spent <= release.statement.mu


def test_answers_are_held_against_so_many_records_as_were_asked(monkeypatch):
    sizes: list[float] = []
    for kind in (Belief, Mending):
        real = kind.after

        def after(self, answer, real=real):
            sizes.append(asked_of(answer)[1] * self.size)
            return real(self, answer)

        monkeypatch.setattr(kind, "after", after)
    fewer(monkeypatch)
    release = released(table_of())
    share = asked(release)[0].statistic.of.share
    assert all(size == pytest.approx(share * ROWS, rel=0.01) for size in sizes)
    assert len(sizes) >= len(asked(release)) - 1  # the screen is not among them
