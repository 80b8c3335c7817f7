"""Digits of two hands, 16 x 16 pixels from 0 to 1: those of MNIST made smaller, those of USPS as they are."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray

SIDE = 16
NAMES = ("MNIST", "USPS")


class Digits(NamedTuple):
    """Pixels row by row, with labels; the test rows are those of the set itself."""

    X: NDArray[np.float32]
    y: IntArray
    test_X: NDArray[np.float32]  # noqa: N815
    test_y: IntArray

    def first(self, images: int) -> "Digits":
        """So many for training, and so many for testing."""
        return Digits(self.X[:images], self.y[:images], self.test_X[:images], self.test_y[:images])

    def save(self, path: Path) -> None:
        """In 256 grey levels."""
        pixels = {name: np.rint(255 * part).astype(np.uint8) for name, part in (("X", self.X), ("test_X", self.test_X))}
        np.savez_compressed(path, X=pixels["X"], test_X=pixels["test_X"], y=self.y, test_y=self.test_y)

    @classmethod
    def load(cls, path: Path) -> "Digits":
        """What `save` wrote."""
        with np.load(path) as file:
            parts = [(file[name] / np.float32(255)).astype(np.float32) for name in ("X", "test_X")]
            return cls(parts[0], file["y"], parts[1], file["test_y"])


@cache
def digits(name: str, folder: Path | None = None) -> Digits:
    """A set by its name, from the data at hand or from a folder of arrays."""
    if folder is not None:
        return Digits.load(folder / f"{name}.npz")
    from experiments import subspace_data

    data = {"MNIST": subspace_data.mnist, "USPS": subspace_data.usps}[name]()
    low, high = data.bounds
    parts = [smaller((rows - low) / (high - low)) for rows in (data.numbers, data.test_numbers)]
    return Digits(parts[0], data.label, parts[1], data.test_label)


def smaller(rows: FloatArray) -> NDArray[np.float32]:
    """Each image as 16 x 16 means over the area that a pixel covers."""
    side = round(rows.shape[1] ** 0.5)
    means = _areas(side)
    images = rows.reshape(-1, side, side)
    return (means @ images @ means.T).reshape(len(rows), -1).astype(np.float32)


def _areas(side: int) -> FloatArray:
    """What share each of `side` pixels has in each of 16."""
    ends = np.arange(SIDE + 1) * side / SIDE
    place = np.arange(side)
    shared = np.minimum(ends[1:, None], place + 1) - np.maximum(ends[:-1, None], place)
    shares: FloatArray = shared.clip(0) * SIDE / side
    return shares
