"""The experiment on wide tables: its data, its score, its intervals, its pictures."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")
pytest.importorskip("sklearn")
pytest.importorskip("pandas")

from experiments import subspace_coverage
from experiments.cells import Results
from experiments.subspace import TABLES, cells, measure, score
from experiments.subspace_coverage import REAL, inside
from experiments.subspace_data import Wide
from experiments.subspace_pictures import write_filled, write_grid

import sfumato
from sfumato.fitting.mechanisms.subspace.plan import is_wide
from sfumato.reports.images import png

DATA = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[4] / "shared" / "data"))


def test_a_score_is_accuracy_or_the_area_under_the_curve():
    three = np.array([[0.8, 0.1, 0.1], [0.2, 0.3, 0.5], [0.4, 0.5, 0.1]])
    assert score(three, np.array([0, 2, 0])) == pytest.approx(2 / 3)
    two = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
    assert score(two, np.array([0, 1, 0, 1])) == 1.0
    assert score(two, np.array([1, 0, 1, 0])) == 0.0


def decoded(path: Path) -> np.ndarray:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    start = content.index(b"IDAT")
    (length,) = struct.unpack(">I", content[start - 4 : start])
    lines = np.frombuffer(zlib.decompress(content[start + 4 : start + 4 + length]), dtype=np.uint8)
    return lines.reshape(height, width + 1)[:, 1:]


def test_a_png_holds_its_pixels(tmp_path):
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    (tmp_path / "a.png").write_bytes(png(grey))
    assert np.array_equal(decoded(tmp_path / "a.png"), grey)


def test_images_of_a_release_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    x = np.clip(rng.normal(60 + 100 * y[:, None], 20, (600, 16)), 0, 255).astype(np.uint8)
    columns = [
        {"name": "p_{0..15}", "type": "integer", "bounds": [0, 255], "image": [4, 4]},
        {"name": "y", "type": "category", "values": [0, 1]},
    ]
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "i", "columns": columns, "target": "y"})
    table = {f"p_{j}": x[:, j] for j in range(16)} | {"y": y}
    import pandas as pd

    release = sfumato.release(
        pd.DataFrame(table), schema, epsilon=5, delta=1e-5, mechanism="subspace", ledger=None, seed=0, types="declared"
    )
    write_grid(release, tmp_path / "grid.png")
    grid = decoded(tmp_path / "grid.png")
    half = len(grid) // 2
    assert grid[:half].mean() > grid[half:].mean()  # the darker class is the second
    write_filled(release, x[:3], (4, 4), tmp_path / "filled.png")
    assert decoded(tmp_path / "filled.png").shape == (2 * (3 * 6 + 2), 2 * (7 * 6 + 2))


def some_digits() -> Wide:
    """Blank in the first two of six columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    x = np.clip(rng.normal(60 + 100 * y[:, None], 20, (800, 6)), 0, 255).astype(np.uint8)
    x[:, :2] = 0
    return Wide("d", x, y, x[:9], y[:9], (0, 255), 1e-5)


def test_intervals_are_held_against_the_means_of_the_classes(monkeypatch):
    data = some_digits()
    release = sfumato.release(
        data.table(), data.schema(), epsilon=5, delta=1e-5, mechanism="subspace", ledger=None, seed=0, types="declared"
    )
    found = release.parameters(level=0.9, output="arrow").to_pylist()
    own = [data.numbers[data.label == row["class"], int(row["column"][2:])].mean() for row in found]
    slowly = [row["low"] <= mean <= row["high"] for row, mean in zip(found, own, strict=True)]
    held = inside(release, data.numbers, data.label)
    assert held.ravel().tolist() == slowly
    monkeypatch.setattr(subspace_coverage, "REAL", {"MNIST, epsilon 1": lambda: data})
    monkeypatch.setattr(sfumato, "release", lambda *_, **__: release)
    measured = subspace_coverage.held_in_real("MNIST, epsilon 1", 0)
    assert measured == {"held": held[:, 2:].mean(), "held, constant": held[:, :2].mean()}


def test_real_tables_are_covered_in_full_runs_alone():
    assert [cell.case for cell in subspace_coverage.cells(quick=True)] == [
        subspace_coverage.case_of(*case) for case in subspace_coverage.CASES
    ]
    full = list(subspace_coverage.cells(quick=False))
    assert [cell.case for cell in full][-2:] == list(REAL)
    assert "MNIST" not in subspace_coverage.show(Results(None))


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no real data at {DATA}; set SFUMATO_DATA")
@pytest.mark.parametrize("name", TABLES)
def test_the_tables_lie_within_their_bounds_and_are_wide(name):
    data = TABLES[name]()
    low, high = data.bounds
    for numbers in (data.numbers, data.test_numbers):
        assert low <= numbers.min()
        assert numbers.max() <= high
    assert len(data.numbers) == len(data.label)
    assert is_wide(data.schema())


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no real data at {DATA}; set SFUMATO_DATA")
def test_digits_are_told_and_drawn_as_well_as_ever():
    found = measure("MNIST", 1.0, 5_000, 0)
    print(f"\nMNIST, epsilon 1, 5,000 rows: {found}")
    assert found["posterior"] > 0.965
    assert found["rows"] > 0.88


def test_pictures_are_measured_as_pixels_too():
    parts = [(cell.part, cell.case) for cell in cells(quick=False)]
    assert ("as pixels", "USPS, epsilon 1") in parts
    assert ("as pixels", "isolet, epsilon 1") not in parts
    assert {part for part, _ in [(cell.part, cell.case) for cell in cells(quick=True)]} == {"subspace"}
