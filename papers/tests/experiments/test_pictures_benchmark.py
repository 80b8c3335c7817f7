"""The benchmark of synthetic images: the network learns, images are moved a little, files lead back to figures."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("lightgbm")
pytest.importorskip("pandas")

import torch
from experiments import pictures_benchmark
from experiments.pictures_benchmark import file_of, held_back, learnt_elsewhere
from experiments.pictures_network import FOUND, LABELS, REAL, Training, _moved, accuracy, learn, network, train
from experiments.subspace_data import Wide

SIDE = 28


def bars(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Upright or lying, somewhere near the middle."""
    rng = np.random.default_rng(seed)
    label, at = rng.integers(0, 2, rows), rng.integers(10, 18, rows)
    images = rng.integers(0, 30, (rows, SIDE, SIDE)).astype(np.uint8)
    for image, lies, place in zip(images, label, at, strict=True):
        image[(slice(place, place + 2), slice(6, 22)) if lies else (slice(6, 22), slice(place, place + 2))] = 255
    return images, label


def test_a_network_learns_from_probabilities():
    x, y = bars(512, 0)
    shares = np.where(np.eye(2)[y] > 0, 0.9, 0.1)
    net = train(x, shares, Training(epochs=4, batch=32, moved=1.5, turned=0.1, stretched=0.1), seed=0)
    real, label = bars(200, 1)
    assert accuracy(net, real, label) > 0.95
    assert accuracy(net, real, 1 - label) < 0.05


def test_the_network_is_as_large_as_it_says():
    weights = sum(part.numel() for part in network(10, 32).parameters())
    assert weights == pytest.approx(152_000, rel=0.01)


def test_images_are_moved_no_farther_than_asked():
    x = torch.as_tensor(bars(50, 2)[0])[:, None].float()
    still = Training(moved=0.0, turned=0.0, stretched=0.0)
    assert torch.allclose(_moved(x, still), x, atol=0.02)
    torch.manual_seed(0)
    moved = _moved(x, Training(moved=1.5, turned=0.1, stretched=0.1))
    places = torch.arange(SIDE).float()
    for axis in (2, 3):  # where the ink has its middle
        one, other = ((z.sum(dim=5 - axis)[:, 0] @ places) / z.sum(dim=(1, 2, 3)) for z in (x, moved))
        assert 0.1 < float((one - other).abs().max()) < 1.5 + 0.1 * SIDE / 2 + 1


def test_files_lead_back_to_figures(tmp_path):
    x, y = bars(128, 0)
    real, label = bars(50, 1)
    np.savez_compressed(tmp_path / REAL, x=real, y=label)
    np.savez_compressed(tmp_path / file_of(0.2, 1), x=x, y=y, p=np.eye(2)[1 - y], seed=1)
    how = Training(epochs=8, batch=32, moved=1.5, turned=0.1, stretched=0.1)
    found = {labels: learn(tmp_path, file_of(0.2, 1), labels, how, "cpu") for labels in LABELS}
    assert found["drawn"]["accuracy"] > 0.9
    assert found["posterior"]["accuracy"] < 0.1  # which were turned round
    (tmp_path / FOUND).write_text(json.dumps({f"0.2_1, {labels}, still": one for labels, one in found.items()}))
    (tmp_path / "drawn.json").write_text(json.dumps({file_of(0.2, 1): {"the release itself": 0.5}}))
    figures = learnt_elsewhere(tmp_path, 0.2, 1)
    assert figures["drawn labels, still"] == found["drawn"]["accuracy"]
    assert figures["posterior labels, still"] == found["posterior"]["accuracy"]
    assert "drawn labels, moved" not in figures
    assert figures["the release itself"] == 0.5


def test_choosing_never_sees_a_test_image():
    rows = np.arange(60_000)
    data = Wide("d", rows[:, None], rows % 10, np.full((5, 1), -1), np.zeros(5, dtype=int), (0, 255), 1e-5)
    held = held_back(data)
    assert np.array_equal(np.sort(np.concatenate((held.numbers, held.test_numbers))[:, 0]), rows)
    assert len(held.test_label) == 10_000
    assert np.array_equal(held.numbers[:, 0] % 10, held.label)


def test_images_and_probabilities_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures_benchmark, "SIDES", (8, 8))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = (rng.integers(0, 200, (400, 64)) * (np.arange(64) // 32 == y[:, None])).astype(np.uint8)
    data = Wide("d", x, y, x[:20], y[:20], (0, 255), 1e-5, (8, 8))
    found = pictures_benchmark.draw(data, 5.0, 30, tmp_path, 3)
    assert found["the release itself"] > 0.9
    with np.load(tmp_path / file_of(5.0, 3)) as file:
        assert file["x"].shape == (30, 8, 8)
        assert np.allclose(file["p"].astype(float).sum(axis=1), 1, atol=2e-3)
        assert (file["p"].argmax(axis=1) == file["y"]).mean() > 0.9
