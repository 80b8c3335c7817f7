"""What a sample tells of its columns: distributions as tables, quantiles, dependence. For columns without a formula."""

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import CodeArray, FloatArray, IntArray
from sfumato.trusted.encoding import Codes, NumericCodec

_BARS = 24  # into which an ordered column is cut
_CELLS = 12  # of a column, where dependence is measured


def numbers_of_codes(codes: NumericCodec, drawn: CodeArray) -> FloatArray:
    """The numbers of the records that have a value, in order."""
    table = np.concatenate((codes.numbers, codes.atoms))
    return np.sort(table[drawn[drawn < len(table)]])


def describe_listed(codes: Codes, drawn: CodeArray, band: float) -> pa.Table:
    """A row for each value."""
    share = np.bincount(drawn, minlength=codes.size) / max(len(drawn), 1)
    every = np.arange(codes.size, dtype=np.int32)
    return pa.table({"value": codes.decode(every, np.zeros(codes.size)), **_with_band(share, band)})


def describe_ordered(codes: NumericCodec, drawn: CodeArray, band: float) -> pa.Table:
    """A row for each of some intervals that hold about as many records, and one for missing values."""
    numbers = numbers_of_codes(codes, drawn)
    rows = max(len(drawn), 1)
    if not len(numbers):
        empty = codes.write(np.array([codes.low]), np.array([True]))
        return pa.table({"first": empty, "last": empty, **_with_band(np.ones(1), band)})
    starts = np.unique(np.quantile(numbers, np.arange(_BARS) / _BARS, method="inverted_cdf"))
    cell = np.searchsorted(starts, numbers, side="right") - 1
    ends = np.append(np.flatnonzero(np.diff(cell)), len(numbers) - 1)
    share = np.bincount(cell, minlength=len(starts)) / rows
    first, last = (codes.write(end, np.zeros(len(starts), dtype=bool)) for end in (starts, numbers[ends]))
    if codes.missing is not None:
        nothing = codes.write(np.array([codes.low]), np.array([True]))
        first, last = (pa.concat_arrays([part, nothing]) for part in (first, last))
        share = np.append(share, (drawn == codes.missing).sum() / rows)
    return pa.table({"first": first, "last": last, **_with_band(share, band)})


def _with_band(share: FloatArray, band: float) -> dict[str, FloatArray]:
    low, high = (np.clip(share + side * band, 0, 1) for side in (-1, 1))
    return {"probability": share, "low": low, "high": high}


def dependence_of(one: IntArray, other: IntArray) -> float:
    """How much one column of cells tells of another, from 0 to 1: sqrt(1 - exp(-2 I)), I their mutual information."""
    shape = int(one.max(initial=0)) + 1, int(other.max(initial=0)) + 1
    joint = np.bincount(one * shape[1] + other, minlength=shape[0] * shape[1]).reshape(shape) / max(len(one), 1)
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0
    information = float((joint[there] * np.log(joint[there] / product[there])).sum())
    by_chance = (shape[0] - 1) * (shape[1] - 1) / (2 * max(len(one), 1))
    return float(np.sqrt(max(0.0, 1 - np.exp(-2 * max(information - by_chance, 0.0)))))


def cells_of(codes: Codes, drawn: CodeArray) -> IntArray:
    """Few cells for each record: of about equal count in the order of values, or the likeliest values and the rest."""
    if not isinstance(codes, NumericCodec):
        counts = np.bincount(drawn, minlength=codes.size)
        rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
        return np.minimum(rank, _CELLS)[drawn].astype(np.int64)
    table = np.concatenate((codes.numbers, codes.atoms, [np.nan] * codes.nullable))
    number = table[drawn]
    known = number[~np.isnan(number)]
    cuts = np.unique(np.quantile(known, np.arange(1, _CELLS) / _CELLS)) if len(known) else np.zeros(0)
    cell = np.searchsorted(cuts, number, side="left")
    return np.where(np.isnan(number), len(cuts) + 1, cell).astype(np.int64)
