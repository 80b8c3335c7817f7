"""What every rival takes and gives: a table with labels, and a made-up table that says what is claimed of it."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sfumato.errors import DataError
from sfumato.trusted.arrays import FloatArray, IntArray

Tensor = Any
"""Of torch, which is loaded only where a network is trained."""
BOUNDS = "Numbers are taken to lie in [0, 1] by public bounds. Bounds that come from the records are not paid for."
"""A fault that all private rivals share."""


@dataclass(frozen=True, eq=False)
class Table:
    """Records with labels.

    X         one row for each record; numbers lie in [0, 1], categories are whole numbers from 0
    y         labels from 0 to classes - 1
    kinds     one for each column of X: 0 for a number, k for a category of k values
    classes   how many labels there are

    Edge cases
        Anything that is not as above, or a class without a record: `DataError`, which quotes no value.
    """

    X: FloatArray
    y: IntArray
    kinds: tuple[int, ...]
    classes: int

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape != (len(self.y), len(self.kinds)) or not self.X.size:
            raise DataError("a table needs a row for each label, a column for each kind, and at least one of each")
        if self.classes < 2 or any(kind < 0 or kind == 1 for kind in self.kinds):
            raise DataError("labels and categories need two values at least; the kind of a number is 0")
        if not np.isfinite(self.X).all():
            raise DataError("an entry is missing or infinite: fill the gaps, or make a category of them")
        for place, kind in enumerate(self.kinds):
            _check_column(place, kind, self.X[:, place])
        if not np.issubdtype(self.y.dtype, np.integer) or self.y.min() < 0 or self.y.max() >= self.classes:
            raise DataError(f"labels must be whole numbers from 0 to {self.classes - 1}")
        if np.bincount(self.y, minlength=self.classes).min() == 0:
            raise DataError("a class has no record: leave it out, and number the others anew")

    def __len__(self) -> int:
        return len(self.y)


def _check_column(place: int, kind: int, values: FloatArray) -> None:
    if kind == 0 and (values.min() < 0 or values.max() > 1):
        raise DataError(f"column {place} is a number and leaves [0, 1]: scale it by public bounds")
    if kind and (values.min() < 0 or values.max() >= kind or (values != np.rint(values)).any()):
        raise DataError(f"column {place} is a category: its codes must be whole numbers from 0 to {kind - 1}")


@dataclass(frozen=True, eq=False)
class Generated:
    """Rows made up by a rival, in the format of the table that it saw.

    guarantee   what its authors claim
    faults      what is known to be wrong with the claim, or is not paid for
    """

    X: FloatArray
    y: IntArray
    guarantee: str
    faults: tuple[str, ...]


class Rival(Protocol):
    """A published way to make up a table. Its fields are its settings; they are public."""

    @property
    def name(self) -> str:
        """As papers call it."""

    @property
    def paper(self) -> str:
        """Authors, title and year."""

    @property
    def accounting(self) -> str:
        """How its privacy is counted, in one sentence."""

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """A made-up table. `rng` may be seeded: nothing here keeps a secret."""


def claim(name: str, epsilon: float, delta: float, neighbours: str) -> str:
    """What the authors say. That it is claimed here does not make it proven."""
    return (
        f"guarantee: as claimed by the paper on {name}, ({epsilon:g}, {delta:g})-differential privacy for "
        f"{neighbours}. Nothing in this package has been checked as a release has: for study only."
    )
