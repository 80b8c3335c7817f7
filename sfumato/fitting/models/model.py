"""What every model can do, so that a release need not know which it holds."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa

from sfumato.fitting.conditions import Condition
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, Codes


class Model(Protocol):
    """The distribution of a table over the codes of its columns."""

    @property
    def kind(self) -> str:
        """The name under which a bundle holds it."""

    @property
    def size(self) -> float:
        """The noisy number of records."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """How it was fitted."""

    def sample(self, rows: int, rng: np.random.Generator) -> Batch:
        """Records, as codes."""

    def log_density(self, batch: Batch, columns: Mapping[str, Codes]) -> FloatArray:
        """The log probability of each record, per unit for columns of type number; columns not given are summed out."""

    def told(self, batch: Batch, target: str, codes: Codes) -> FloatArray:
        """Of each record, given its other columns: the probability of every value of the target, or its mean."""

    def given_that(self, given: Sequence[Condition]) -> Self:
        """The model given that conditions hold."""

    def described(self, column: str, codes: Codes) -> pa.Table:
        """A column's distribution with the 95 % band of the noise.

        A listed column has a row for each `value`; an ordered one a row for each interval, `first` to `last`, in order.
        A missing value is a null in the last row.
        """

    def cdf(self, column: str, numbers: FloatArray, codes: Codes) -> FloatArray:
        """The probability that a column is at or below each number, among the records that have a value."""

    def quantile(self, column: str, shares: FloatArray, codes: Codes) -> FloatArray:
        """The number at or below which each share of the records lies."""

    def dependence(self, first: str, second: str) -> float:
        """How much one column tells of another, from 0 to 1."""

    def distance(self, other: Self) -> float:
        """How far two models are apart, as a total variation or a bound of one."""

    def to_parts(self) -> tuple[dict[str, Any], pa.Table]:
        """The model as plain content and one Arrow table."""
