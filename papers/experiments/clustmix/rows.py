"""A table of the paper as plain arrays: what every method of its table 1 starts from. Needs numpy alone."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray


class Split(NamedTuple):
    """Training and test rows: numbers from 0 to 1 by public bounds, categories as their place in a list."""

    X: FloatArray
    y: IntArray
    test_X: FloatArray  # noqa: N815
    test_y: IntArray

    def filled(self) -> "Split":
        """Missing numbers as the median of the training rows, for methods that cannot do without them."""
        with np.errstate(all="ignore"):
            middle = np.nan_to_num(np.nanmedian(self.X, axis=0), nan=0.5)
        train, test = (np.where(np.isnan(rows), middle, rows) for rows in (self.X, self.test_X))
        return Split(train, self.y, test, self.test_y)


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows, or those of training where the test rows are fixed; `kinds`: 0 for a number, else how many values."""

    X: NDArray[np.float32]
    y: IntArray
    kinds: tuple[int, ...]
    classes: int
    test: tuple[NDArray[np.float32], IntArray] | None = None

    def split(self, seed: int) -> Split:
        """A quarter of each class for testing, unless the test rows are fixed."""
        if self.test is not None:
            rows, test_rows = self.X.astype(np.float64), self.test[0].astype(np.float64)
            return Split(rows, self.y, test_rows, self.test[1])
        rng, held = np.random.RandomState(1000 + seed), np.zeros(len(self.y), dtype=bool)
        for label in range(self.classes):
            places = rng.permutation(np.flatnonzero(self.y == label))
            held[places[: round(0.25 * len(places))]] = True
        numbers = self.X.astype(np.float64)
        return Split(numbers[~held], self.y[~held], numbers[held], self.y[held])

    def some(self, rows: int) -> "Rows":
        """So many of them drawn at random, or all where there are fewer."""
        chosen = np.random.RandomState(0).permutation(len(self.y))[:rows]
        return replace(self, X=self.X[chosen], y=self.y[chosen])

    def save(self, path: Path) -> None:
        """One compressed file, for a machine that has no other form of the data."""
        arrays: dict[str, Any] = {"X": self.X, "y": self.y, "kinds": self.kinds, "classes": self.classes}
        if self.test is not None:
            arrays |= {"test_X": self.test[0], "test_y": self.test[1]}
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Rows":
        """What `save` wrote."""
        with np.load(path) as file:
            test = (file["test_X"], file["test_y"]) if "test_X" in file else None
            return cls(file["X"], file["y"], tuple(file["kinds"].tolist()), int(file["classes"]), test)
