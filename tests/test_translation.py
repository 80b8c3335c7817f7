"""Translation: public rows get the released histograms of private ones, whatever else they hold stays."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

import sfumato
from sfumato.errors import RequestError
from sfumato.fitting.generators.evidence import Column, Evidence
from sfumato.fitting.translation.soft_rows import Middles, SoftRows
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.feature_maps import Grid
from tests.mechanisms.every import every_case, short_training
from tests.test_cli import flat, run

PLANE = """{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [-10, 10]},
{name: y, type: integer, bounds: [0, 100], missing: true}, {name: kind, type: category, values: [a, b]}]}"""
PICTURE = '{sfumato: 1, name: t, columns: [{name: "p_{0..35}", type: integer, bounds: [0, 15], image: [6, 6]}]}'


def plane(rows: int, seed: int, shift: float = 0.0, scale: float = 1.0) -> pa.Table:
    """Two clouds whose numbers depend on each other, a tenth of one number missing."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, rows)
    x = 2 * kind - 1 + 0.5 * rng.standard_normal(rows)
    y = np.rint(50 + 8 * x + 4 * rng.standard_normal(rows))
    return pa.table(
        {
            "x": shift + scale * x,
            "label": kind,
            "y": pa.array(y + 10 * shift, mask=rng.random(rows) < 0.1),
            "kind": np.array(["a", "b"])[rng.integers(0, 2, rows)],
        }
    )


def bars(rows: int, seed: int, place: int) -> np.ndarray:
    """Pictures with a long bar, or less often a short one beside its place, moved by so many pixels."""
    rng = np.random.default_rng(seed)
    pictures, short = np.zeros((rows, 6, 6), dtype=np.int64), rng.random(rows) < 0.3
    pictures[np.arange(rows), :, place + 3 * short] = rng.integers(8, 16, rows)[:, None]
    pictures[short, 3:] = 0
    return pictures


def pictures(rows: int, seed: int, place: int) -> pa.Table:
    return pa.table({f"p_{j}": column for j, column in enumerate(bars(rows, seed, place).reshape(rows, -1).T)})


def released(table, text: str, **more) -> sfumato.Release:
    schema = sfumato.Schema.from_yaml(text)
    with short_training():
        return sfumato.release(table, schema, epsilon=4.0, ledger=None, types="declared", seed=1, **more)


@pytest.fixture(scope="module")
def private() -> sfumato.Release:
    return released(plane(5_000, 1).drop_columns(["label"]), PLANE, mechanism="slices")


@pytest.fixture(scope="module")
def moved(private) -> pa.Table:
    return private.translate(plane(2_000, 2, shift=3.0, scale=1.5), steps=40)


def test_translated_numbers_are_spread_as_the_private_ones(moved):
    there = plane(20_000, 3).to_pandas()
    here = moved.to_pandas()
    for name in ("x", "y"):
        assert here[name].mean() == pytest.approx(there[name].mean(), abs=0.1 * there[name].std())
        assert here[name].std() == pytest.approx(there[name].std(), rel=0.1)
    assert here["x"].corr(here["y"]) == pytest.approx(there["x"].corr(there["y"]), abs=0.05)
    side = here["x"] > 0
    assert (side == (here["label"] == 1)).mean() > 0.95  # labels keep their meaning


def test_what_the_schema_does_not_move_stays(moved):
    source = plane(2_000, 2, shift=3.0, scale=1.5)
    assert moved.column_names == source.column_names
    for name in ("label", "kind"):
        assert moved[name].to_pylist() == source[name].to_pylist()
    assert moved["y"].is_null().equals(source["y"].is_null())
    assert moved["y"].type == pa.int64()
    assert np.abs(moved["x"].to_numpy()).max() <= 10


def test_slices_held_back_come_nearer_and_the_best_state_counts(private):
    told = []
    private.translate(plane(2_000, 2, shift=3.0), steps=30, progress=told.append)
    judged = [step.held_back for step in told if step.held_back is not None]
    assert [step.number for step in told] == list(range(31))
    assert min(judged) < 0.5 * judged[0]


def test_rows_of_the_same_table_are_at_the_noise(private):
    told = []
    private.translate(plane(5_000, 1), steps=1, progress=told.append)
    assert told[0].held_back < 2


def test_a_picture_is_moved_as_a_whole():
    private = released(pictures(2_000, 1, 2), PICTURE, mechanism="tables")
    source = bars(500, 2, 1).reshape(500, -1)
    table = pd.DataFrame(source, columns=[f"p_{j}" for j in range(36)]).assign(long=source[:, 1] > 0)
    found = private.translate(table, steps=50)
    assert isinstance(found, pd.DataFrame)
    grey = found.drop(columns="long").to_numpy().reshape(-1, 6, 6).mean(axis=1)
    assert (grey[:, [2, 5]].sum(axis=1) > grey[:, [1, 4]].sum(axis=1)).mean() > 0.9  # they had all of it at first
    assert ((grey[:, 2] > grey[:, 5]) == found["long"]).mean() > 0.9


def test_the_same_seed_gives_the_same_rows_in_any_frame(private):
    source = plane(500, 2, shift=1.0)
    one, same, other = (private.translate(source, steps=3, seed=seed) for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)
    frame = private.translate(pl.from_arrow(source), steps=3, seed=1)
    assert isinstance(frame, pl.DataFrame)
    assert frame["x"].to_list() == one["x"].to_pylist()


def test_what_cannot_be_translated_is_refused(private):
    source = plane(50, 2)
    with pytest.raises(RequestError, match="has no column y; it needs every column"):
        private.translate(source.drop_columns(["y"]))
    with pytest.raises(RequestError, match="has no rows"):
        private.translate(source[:0])
    with pytest.raises(RequestError, match="is not a table"):
        private.translate([1, 2])
    with pytest.raises(RequestError, match="conditioned"):
        private.condition({"kind": "a"}).translate(source)
    with pytest.raises(RequestError, match="divergence is 'hinge'"):
        private.translate(source, divergence="hinge")
    labelled = every_case()["slices"].release()
    with pytest.raises(RequestError, match="knows the target"):
        labelled.translate(labelled.sample(10, seed=1))
    with pytest.raises(RequestError, match="use a release by slices, tables or mixture"):
        released(pictures(500, 1, 2), PICTURE, mechanism="subspace").translate(pictures(50, 2, 1))


def test_distributions_follow_a_number_from_group_to_group():
    """Against a slow version: linear between the middles of groups, whole beyond the outer ones."""
    schema = sfumato.Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: integer, bounds: [0, 9]}]}")
    codec = Encoder(schema).columns["x"]
    column = Column(Grid.of_cells(np.array([0, 0, 0, 0, 1, 1, 2, 2, 2, 2])), np.arange(3), np.ones(3), np.ones(3), 3)
    middles = Middles.of(column, codec, np.array([0.4, 0.2, 0.4]))
    assert middles.places == pytest.approx([0.2, 0.5, 0.8])
    assert (middles.mean, middles.spread) == pytest.approx((0.5, 0.3 * np.sqrt(0.8)))
    seen = Evidence({"x": column}, np.array([100.0]), np.array([[0.4, 0.2, 0.4]]), 1.0)
    rows = SoftRows(seen, {"x": codec}, "cpu")
    at = np.linspace(-0.5, 1.5, 41)
    found = rows.theta(torch.tensor(at[:, None], dtype=torch.float32), torch.full((41, 1), -1)).numpy()
    slow = np.stack([np.interp(at, [0.2, 0.5, 0.8], row) for row in np.eye(3)], axis=1)
    assert found == pytest.approx(slow, abs=1e-5)


def test_the_command_translates_files_and_spends_nothing(private, tmp_path):
    private.save(tmp_path / "b.sfumato")
    pyarrow.parquet.write_table(plane(300, 2, shift=2.0), tmp_path / "public.parquet")
    words = ("translate", tmp_path / "b.sfumato", tmp_path / "public.parquet", "--steps", "5")
    done = run(*words, "--out", tmp_path / "moved.parquet")
    assert done.exit_code == 0, done.output
    assert "holds 300 translated rows" in flat(done.output)
    assert "nothing was spent" in flat(done.output)
    moved = pyarrow.parquet.read_table(tmp_path / "moved.parquet")
    assert moved.column_names == ["x", "label", "y", "kind"]
    assert run(*words, "--out", tmp_path / "moved.parquet").exit_code == 2
    assert "must end in" in flat(run(*words, "--out", tmp_path / "moved.txt").output)
    lost = run("translate", tmp_path / "b.sfumato", tmp_path / "none.csv", "--out", tmp_path / "m.csv")
    assert lost.exit_code == 2
    assert "cannot be read" in flat(lost.output)


def test_the_command_reads_pictures_as_arrays(tmp_path):
    np.savez(tmp_path / "private.npz", p=bars(500, 1, 2))
    np.savez(tmp_path / "public.npz", p=bars(100, 2, 1), label=np.arange(100) % 2)
    released(tmp_path / "private.npz", PICTURE, mechanism="slices").save(tmp_path / "b.sfumato")
    words = ("translate", tmp_path / "b.sfumato", tmp_path / "public.npz", "--steps", "2")
    done = run(*words, "--out", tmp_path / "moved.csv")
    assert done.exit_code == 0, done.output
    moved = pd.read_csv(tmp_path / "moved.csv")
    assert list(moved) == [*(f"p_{j}" for j in range(36)), "label"]
    assert moved["label"].tolist() == (np.arange(100) % 2).tolist()
