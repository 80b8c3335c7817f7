"""The tables as plain arrays that know which numbers are whole. Needs numpy alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.clustmix import rows
from experiments.slicing.metrics import Coded


@dataclass(frozen=True, eq=False)
class Rows(rows.Rows):
    """All rows; `steps` has for each column how many whole steps lie between its bounds, 0 where there are no steps."""

    steps: tuple[int, ...] = ()

    def snapped(self, made: Coded) -> Coded:
        """Made-up rows as the real ones are written: whole where those are, and rounded as those are."""
        X = made.X.copy()
        for place, steps in enumerate(self.steps):
            if steps:
                X[:, place] = np.rint(X[:, place] * steps) / steps
        return Coded(X.astype(np.float32).astype(np.float64), made.y)

    def save(self, path: Path) -> None:
        """One compressed file, for a machine that has no other form of the data."""
        kept: dict[str, Any] = {"X": self.X, "y": self.y, "kinds": self.kinds}
        kept |= {"classes": self.classes, "steps": self.steps}
        np.savez_compressed(path, **kept)

    @classmethod
    def load(cls, path: Path) -> "Rows":
        """What `save` wrote."""
        with np.load(path) as file:
            kinds, steps = (tuple(file[name].tolist()) for name in ("kinds", "steps"))
            return cls(file["X"], file["y"], kinds, int(file["classes"]), None, steps)
