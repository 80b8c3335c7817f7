"""Whether two models are written down alike: the same fit on another machine differs in last digits."""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.fitting.models.model import Model

_ROUNDING = 1e-6  # of the largest number: what passes for the same


def same_parts(one: Model, other: Model) -> bool:
    """Whether two models are written down alike, numbers to a millionth of the largest beside them."""
    (content, table), (others, there) = one.to_parts(), other.to_parts()
    return same_content(content, others) and same_table(table, there)


def same_table(one: pa.Table, other: pa.Table) -> bool:
    """Whether two stored tables are the same, but for rounding."""
    if one.schema != other.schema or one.num_rows != other.num_rows:
        return False
    return all(_same_column(mine, theirs) for mine, theirs in zip(one.columns, other.columns, strict=True))


def _same_column(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Whether two stored columns of one type are the same; in a column of lists each list counts for itself."""
    if not pa.types.is_fixed_size_list(one.type):
        return same_content(one.to_pylist(), other.to_pylist())
    lists = (column.combine_chunks().flatten().to_numpy() for column in (one, other))
    mine, theirs = (numbers.reshape(len(one), one.type.list_size) for numbers in lists)
    return bool((np.abs(mine - theirs) <= _ROUNDING * np.abs(mine).max(axis=1, keepdims=True, initial=0.0)).all())


def same_content(one: Any, other: Any) -> bool:
    """Whether content is the same, lists of numbers to a millionth of their largest."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_content(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return False
        if not all(isinstance(item, int | float) for item in (*one, *other)):
            return all(map(same_content, one, other))
        mine, theirs = np.array(one, dtype=np.float64), np.array(other, dtype=np.float64)
        return bool((np.abs(mine - theirs) <= _ROUNDING * np.abs(mine).max(initial=0.0)).all())
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_ROUNDING)
    return bool(one == other)
