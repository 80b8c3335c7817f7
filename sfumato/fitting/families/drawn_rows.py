"""Rows of a synthetic table: codes of all their columns, values, and the parent row of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import BoolArray, CodeArray, FloatArray, IntArray
from sfumato.trusted.schema.schema import Combination


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Some rows of a table.

    person, parent   the number of the person's row, and of the parent row
    place            among the rows of one parent row, from 0 on
    codes            of all columns of a row, see `TableLayout`
    values           of the columns of the table
    order            the numbers by which rows follow each other, where a released column puts them in order
    """

    person: IntArray
    parent: IntArray
    place: IntArray
    codes: Mapping[str, CodeArray]
    values: pa.Table
    order: FloatArray | None

    def __len__(self) -> int:
        return len(self.person)

    def take(self, places: IntArray) -> "DrawnRows":
        """The rows at these places."""
        return DrawnRows(
            self.person[places],
            self.parent[places],
            self.place[places],
            {name: codes[places] for name, codes in self.codes.items()},
            self.values.take(pa.array(places)),
            None if self.order is None else self.order[places],
        )

    def in_order(self) -> "DrawnRows":
        """The rows by parent row, and by their place there."""
        return self.take(np.lexsort((self.place, self.parent)))


def concat(parts: Sequence[DrawnRows]) -> DrawnRows:
    """Rows of one table, one part after the other; there is at least one part."""
    first = parts[0]
    orders = [part.order for part in parts if part.order is not None]
    return DrawnRows(
        np.concatenate([part.person for part in parts]),
        np.concatenate([part.parent for part in parts]),
        np.concatenate([part.place for part in parts]),
        {name: np.concatenate([part.codes[name] for part in parts]) for name in first.codes},
        pa.concat_tables([part.values for part in parts]).combine_chunks(),
        np.concatenate(orders) if orders else None,
    )


def break_rules(codes: Mapping[str, CodeArray], forbidden: Sequence[Combination], rows: int) -> BoolArray:
    """Whether each record has a combination of codes that no record may have."""
    broken = np.zeros(rows, dtype=bool)
    for rule in forbidden:
        met = np.ones(rows, dtype=bool)
        for name, runs in rule.items():
            met &= np.logical_or.reduce([(codes[name] >= start) & (codes[name] < stop) for start, stop in runs])
        broken |= met
    return broken
