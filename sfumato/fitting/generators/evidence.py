"""What a generator is fitted to: released sums on the scale of probabilities, with the precision of each. Public."""

import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import AnyFloatArray, IntArray
from sfumato.trusted.feature_maps import Grid


@dataclass(frozen=True, eq=False)
class Column:
    """A column in the groups that a generator gives probabilities to.

    grid      of the column's codes; each of its cells lies in one group
    groups    of the cells
    inside    the probability of a cell given its group
    noise     standard deviation that the noise gives each group's probability
    ordered   how many groups, from the first, have an order
    """

    grid: Grid
    groups: IntArray
    inside: AnyFloatArray
    noise: AnyFloatArray
    ordered: int

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.noise)


@dataclass(frozen=True, eq=False)
class Linear:
    """Averages of functions of single columns, by class.

    features    groups of all columns x functions: the value of each function on each group; None where every group has
                a function of its own, 1 on it and 0 elsewhere
    values      functions x classes: the share of the class times the function's average in it
    precision   one over the variance, for each function and class
    """

    features: AnyFloatArray | None
    values: AnyFloatArray
    precision: AnyFloatArray


@dataclass(frozen=True, eq=False)
class Pairs:
    """Tables of two columns by class: shares, and the precision of each; blocks that were not asked for have none.

    coarse      groups of all columns x cells, 0 or 1
    tables      classes x cells x cells, symmetric
    precision   cells x cells
    """

    coarse: AnyFloatArray
    tables: AnyFloatArray
    precision: AnyFloatArray


@dataclass(frozen=True, eq=False)
class Histograms:
    """Histograms along directions.

    places   directions x groups of all columns
    ends     directions x (bins - 1)
    outer    directions x 2: between them lie about all records
    shares   directions x bins x classes, noisy
    noise    variance of a share's noise
    """

    places: AnyFloatArray
    ends: AnyFloatArray
    outer: AnyFloatArray
    shares: AnyFloatArray
    noise: float


@dataclass(frozen=True, eq=False)
class Waves:
    """The mean embedding of the records of each class in random Fourier features of all columns together.

    angles      frequencies x groups of all columns
    shares      classes x frequencies: the share of the class times the average of exp(i angle), noisy
    precision   classes x 1: one over the variance of either part
    """

    angles: AnyFloatArray
    shares: NDArray[np.complexfloating[Any, Any]]
    precision: AnyFloatArray


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that was released, as far as a generator can be held against it.

    totals      noisy number of records of each class
    marginals   classes x groups of all columns: the distribution that each column has in each class by itself
    prior       records of the marginals that every class is given beside its own
    """

    columns: Mapping[str, Column]
    totals: AnyFloatArray
    marginals: AnyFloatArray
    prior: float
    linear: tuple[Linear, ...] = ()
    pairs: Pairs | None = None
    histograms: Histograms | None = None
    waves: Waves | None = None

    @property
    def classes(self) -> int:
        """How many classes the target has; 1 without a target."""
        return len(self.totals)

    @property
    def size(self) -> float:
        """The noisy number of records."""
        return float(self.totals.sum())

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same evidence alone, so that a checkpoint is not taken for that of another bundle."""
        parts = [self.totals, self.marginals, *(part.values for part in self.linear)]
        parts += [] if self.pairs is None else [self.pairs.tables, self.pairs.precision]
        parts += [] if self.histograms is None else [self.histograms.shares, self.histograms.places]
        parts += [] if self.waves is None else [self.waves.shares.real, self.waves.shares.imag, self.waves.angles]
        digest = hashlib.sha256()
        for row in itertools.chain(*parts):  # row by row: a copy of all tables of a wide table would be large
            digest.update(np.ascontiguousarray(row, dtype=np.float64).tobytes())
        return digest.hexdigest()

    @cached_property
    def layout(self) -> "Layout":
        """What a generator must know."""
        columns = self.columns.values()
        return Layout(
            tuple(column.size for column in columns), tuple(column.ordered for column in columns), self.classes
        )


@dataclass(frozen=True)
class Layout:
    """What a generator gives: for each column in turn a number for each of its groups, of which softmax is taken.

    sizes     groups of each column
    ordered   how many of them, from the first, have an order
    classes   of the target: a generator is told the class at the end of its input
    """

    sizes: tuple[int, ...]
    ordered: tuple[int, ...]
    classes: int

    @property
    def width(self) -> int:
        """How many numbers a generator gives for a row."""
        return sum(self.sizes)
