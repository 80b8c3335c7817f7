"""Pearson's correlation of every two columns of numbers, dates or truth values."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.raw_values import RawTable
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import CategoricalCodec, Codes, Encoder
from sfumato.trusted.schema import Schema

_FEWEST = 3  # rows in which both columns have a number


@dataclass(frozen=True)
class Correlation:
    """Two columns: their correlation in the real, the synthetic and the test rows."""

    columns: tuple[str, str]
    real: float
    synthetic: float
    test: float


def compare_correlations(
    real: RawTable, synthetic: RawTable, test: RawTable, schema: Schema
) -> tuple[Correlation, ...]:
    """Every two columns that have numbers or two values; those left out of which one is constant in some table.

    Only rows in which both have a value count. A column of two values counts as 0 and 1.
    """
    numeric = {name: codes for name, codes in Encoder(schema).columns.items() if not _is_long_list(codes)}
    names, tables = list(numeric), (real, synthetic, test)
    if len(names) < 2:
        return ()
    found = [correlation_matrix([_numbers(table, name, codes) for name, codes in numeric.items()]) for table in tables]
    pairs = itertools.combinations(range(len(names)), 2)
    return tuple(
        Correlation((names[one], names[two]), *(float(matrix[one, two]) for matrix in found))
        for one, two in pairs
        if all(np.isfinite(matrix[one, two]) for matrix in found)
    )


def correlation_matrix(columns: Sequence[FloatArray]) -> FloatArray:
    """The correlation of every two columns over the rows where both are finite; NaN where it cannot be told."""
    values = np.column_stack(columns)
    there = np.isfinite(values)
    rows = np.maximum(there.sum(axis=0), 1)
    values = np.where(there, values, 0.0)
    values = np.where(there, values - values.sum(axis=0) / rows, 0.0)
    values /= np.maximum(np.sqrt((values**2).sum(axis=0) / rows), np.finfo(float).tiny)  # no products that cancel
    mask = there.astype(np.float64)
    both, sums, squares = mask.T @ mask, values.T @ mask, (values**2).T @ mask
    spread = both * squares - sums**2  # of the first column, over the rows of both
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (both * (values.T @ values) - sums * sums.T) / np.sqrt(spread * spread.T)
    return np.where((both >= _FEWEST) & (np.minimum(spread, spread.T) > 1e-9 * both**2), found.clip(-1, 1), np.nan)


def _is_long_list(codes: Codes) -> bool:
    return isinstance(codes, CategoricalCodec) and len(codes.values) != 2


def _numbers(table: RawTable, name: str, codes: Codes) -> FloatArray:
    """The numbers of a column; of two values 0 and 1, and nothing for what is not listed."""
    values = table[name].values
    return np.where(values < 2, values, np.nan) if isinstance(codes, CategoricalCodec) else values
