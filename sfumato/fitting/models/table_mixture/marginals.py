"""The distribution of one column as a table that people read."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import RequestError
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import CategoricalCodec, Codes, NumericCodec

if TYPE_CHECKING:
    from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture


_BAND = 1.96  # standard deviations of noise to either side: 95 % of it


def marginal_table(model: "TableMixture", column: str, codes: Codes, deviation: FloatArray | None = None) -> pa.Table:
    """What the release tells apart in a column, its probability, and the 95 % band of the noise.

    `deviation` is that of the group of each piece; by default that of the column's counts over all records.

    A listed column has a row for each `value`; an ordered one a row for each interval, `first` to `last`, in order. A
    missing value is a null in the last row.
    """
    pieces, probability = model.columns[column], model.marginal(column)
    each = pieces.noise if deviation is None else deviation
    if not isinstance(codes, NumericCodec):
        value = codes.decode(pieces.starts.astype(np.int32), np.zeros(len(pieces.starts)))
        return pa.table({"value": value, **_with_band(probability, each)})
    groups, place = np.unique(pieces.groups, return_inverse=True)
    first, last = _ends(codes, pieces, place)
    noise = np.array([each[place == group].max() for group in range(len(groups))])
    grouped = np.bincount(place, weights=probability).astype(np.float64)
    return pa.table({"first": first, "last": last, **_with_band(grouped, noise)})


def _with_band(probability: FloatArray, noise: FloatArray) -> dict[str, FloatArray]:
    low, high = (np.clip(probability + side * _BAND * noise, 0, 1) for side in (-1, 1))
    return {"probability": probability, "low": low, "high": high}


def _ends(codes: NumericCodec, pieces: "Pieces", place: IntArray) -> tuple[pa.Array, pa.Array]:
    """The least and the greatest value of every group of pieces, null where none has a value."""
    least = codes.edges(pieces.starts.astype(np.int32), upper=False)
    missing = codes.size - codes.nullable
    beyond = np.where(pieces.starts < missing, np.minimum(pieces.stops, missing), pieces.stops)
    greatest = codes.edges((beyond - 1).astype(np.int32), upper=True)
    low, high = (
        np.nan_to_num(codes.read(ends).values, nan=null) for ends, null in ((least, np.inf), (greatest, -np.inf))
    )
    by_low, by_high = np.lexsort((low, place)), np.lexsort((high, place))
    counts = np.bincount(place)
    last_of_group = np.cumsum(counts) - 1
    return least.take(pa.array(by_low[last_of_group - counts + 1])), greatest.take(pa.array(by_high[last_of_group]))


def piece_values(column: str, codes: Codes, pieces: "Pieces") -> tuple[FloatArray, NDArray[np.bool_]]:
    """The mean value of each piece, and whether it has one."""
    value, _, known = piece_moments(column, codes, pieces)
    return value, known


def piece_moments(column: str, codes: Codes, pieces: "Pieces") -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """The mean value of each piece, the mean of its square, and whether it has any."""
    if isinstance(codes, NumericCodec):
        table = np.concatenate((codes.numbers, codes.atoms, [np.nan] * codes.nullable))
    else:
        numbers = codes.values if isinstance(codes, CategoricalCodec) else ()
        if not all(isinstance(number, int | float) for number in numbers):
            raise RequestError(f"the values of column {column!r} are no numbers and have no mean; use marginal")
        table = np.array([float(number) for number in numbers] + [np.nan] * (codes.missing is not None))
    weight = 1.0 if pieces.weights is None else np.diff(pieces.weights.up_to)
    known, middle = ~np.isnan(table[pieces.starts]), float(np.nanmean(table))
    away = np.nan_to_num(table - middle)  # squares of numbers far from 0 would lose their digits
    first, second = (_mean_of_pieces(weight * away**power, pieces) for power in (1, 2))
    return first + middle, second + 2 * middle * first + middle**2, known


def _mean_of_pieces(weighted: FloatArray, pieces: "Pieces") -> FloatArray:
    up_to = np.append(0.0, np.cumsum(weighted))
    means: FloatArray = (up_to[pieces.stops] - up_to[pieces.starts]) / pieces.weigh(pieces.starts, pieces.stops)
    return means


def pieces_up_to(codes: NumericCodec, pieces: "Pieces", share: FloatArray, numbers: FloatArray) -> FloatArray:
    """The probability at or below each number, of a column whose pieces have these shares.

    Among the records that have a value.
    """
    known = np.where(pieces.starts < codes.steps + len(codes.atoms), share, 0.0)
    if known.sum() <= 0:
        raise RequestError("no record has a value of this column under this condition; ask for a wider one")
    up_to: FloatArray = shares_up_to(codes, pieces, numbers) @ (known / known.sum())
    return up_to


def shares_up_to(codes: NumericCodec, pieces: "Pieces", numbers: FloatArray) -> FloatArray:
    """How much of each piece lies at or below each number (numbers x pieces).

    A step counts as the value that it is written as.
    """
    step = codes.steps_of(np.floor(numbers) if codes.whole else numbers)
    below = step + (codes.read(codes.decode(step, np.full(len(step), 0.5))).values <= numbers)
    atoms_below = codes.steps + np.searchsorted(codes.atoms, numbers, side="right")
    reached = np.where(pieces.starts < codes.steps, below[:, None], atoms_below[:, None])
    return pieces.weigh(pieces.starts, np.clip(reached, pieces.starts, pieces.stops)) / pieces.weigh(
        pieces.starts, pieces.stops
    )
