"""What follows what from one row to the next: counts of every two values of a listed column."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.families.reading import FamilyRows
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import CategoricalCodec

_MOST_COLUMNS, _MOST_VALUES = 3, 12


@dataclass(frozen=True, eq=False)
class Following:
    """Of one column: its values, and how many rows have one after the other (before x now), real and synthetic."""

    labels: tuple[str, ...]
    counts: Mapping[str, IntArray]


def compare_following(held: Mapping[str, FamilyRows], table: str) -> dict[str, Following]:
    """Of the first listed columns with few values; rows without an order stand in one drawn by lot."""
    layout = held["real"].layout.tables[table]
    found: dict[str, Following] = {}
    for column in layout.measured:
        codes = layout.codes[column]
        if isinstance(codes, CategoricalCodec) and codes.size <= _MOST_VALUES and len(found) < _MOST_COLUMNS:
            labels = (*codes.texts, *(["missing"] if codes.nullable else []))
            counts = {which: _count(held[which], table, column, codes.size) for which in ("real", "synthetic")}
            if all(one.any() for one in counts.values()):
                found[column] = Following(labels, counts)
    return found


def _count(rows: FamilyRows, table: str, column: str, size: int) -> IntArray:
    linked = rows.rows(table)
    later = np.flatnonzero(linked.place > 0)
    codes = linked.codes[column].astype(np.int64)
    crossed = np.bincount(codes[later - 1] * size + codes[later], minlength=size * size)
    counts: IntArray = crossed.reshape(size, size)
    return counts
