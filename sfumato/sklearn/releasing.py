"""From arrays to a release: with bounds that are known, or with bounds that are bought."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.api import release
from sfumato.artefact.release import Release
from sfumato.sklearn.public_inputs import schema_of, target_of, values_of
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget
from sfumato.trusted.reservation import LedgerLike
from sfumato.trusted.schema import Schema


@dataclass(frozen=True, eq=False)
class Records:
    """The private arrays, beside the public names of their columns and classes."""

    X: FloatArray
    codes: NDArray[np.int32] | None
    names: tuple[str, ...]
    classes: NDArray[Any] | None

    def table(self) -> pa.Table:
        """The records as a table that has the columns of the schema."""
        columns = dict(zip(self.names, self.X.T, strict=True))
        if self.classes is not None:
            columns[target_of(self.names)] = pa.array(values_of(self.classes)).take(pa.array(self.codes))
        return pa.table(columns)

    def schema(self, dataset: str, bounds: FloatArray | None) -> Schema:
        """What is public about the table, within these bounds; None: they are to be bought."""
        return schema_of(dataset, self.names, bounds, self.classes)


@dataclass(frozen=True)
class Terms:
    """On which terms records are released. All public."""

    budget: Budget
    adjacency: Adjacency
    components: int | None
    dataset: str
    ledger: LedgerLike
    seed: int | None


def release_mixture(records: Records, terms: Terms, bounds: FloatArray | None) -> Release:
    """Release a mixture within public bounds, or within bounds that a part of the budget buys."""
    return release(
        records.table(),
        records.schema(terms.dataset, bounds),
        epsilon=terms.budget.epsilon,
        delta=terms.budget.delta,
        mechanism="mixture",
        types="declared",  # floats and codes, as `Records` made them
        adjacency=terms.adjacency,
        components=terms.components,
        ledger=terms.ledger,
        seed=terms.seed,
    )


def bounds_in(schema: Schema, names: Sequence[str]) -> FloatArray:
    """The bounds of some columns (columns x 2)."""
    return np.array([schema[name].bounds for name in names], dtype=np.float64)  # type: ignore[union-attr]
