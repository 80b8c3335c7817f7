"""The distribution of one column as a table that people read."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.encoding import Codes, Measured
from sfumato.models.table_mixture import Pieces, TableMixture

FloatArray = NDArray[np.float64]

_BAND = 1.96  # standard deviations of noise to either side: 95 % of it
_ALMOST_ONE = 1 - 2.0**-53


def marginal_table(model: TableMixture, column: str, codes: Codes) -> pa.Table:
    """What the release tells apart in a column, its probability, and the 95 % band of the noise.

    A listed column has a row for each `value`; an ordered one a row for each interval, `first` to `last`, in order. A
    missing value is a null in the last row.
    """
    pieces, probability = model.columns[column], model.marginal(column)
    if not isinstance(codes, Measured):
        value = codes.decode(pieces.starts.astype(np.int32), np.zeros(len(pieces.starts)))
        return pa.table({"value": value, **_with_band(probability, pieces.noise)})
    groups, place = np.unique(pieces.groups, return_inverse=True)
    first, last = _ends(codes, pieces, place)
    noise = np.array([pieces.noise[place == group].max() for group in range(len(groups))])
    grouped = np.bincount(place, weights=probability).astype(np.float64)
    return pa.table({"first": first, "last": last, **_with_band(grouped, noise)})


def _with_band(probability: FloatArray, noise: FloatArray) -> dict[str, FloatArray]:
    low, high = (np.clip(probability + side * _BAND * noise, 0, 1) for side in (-1, 1))
    return {"probability": probability, "low": low, "high": high}


def _ends(codes: Measured, pieces: Pieces, place: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
    """The least and the greatest value of every group of pieces, null for the missing one."""
    inside = np.full(len(place), _ALMOST_ONE)
    least = codes.decode(pieces.starts.astype(np.int32), np.zeros(len(place)))
    greatest = codes.decode((pieces.stops - 1).astype(np.int32), inside)
    low, high = (np.nan_to_num(codes.read(ends), nan=np.inf) for ends in (least, greatest))
    by_low, by_high = np.lexsort((low, place)), np.lexsort((high, place))
    counts = np.bincount(place)
    last_of_group = np.cumsum(counts) - 1
    return least.take(pa.array(by_low[last_of_group - counts + 1])), greatest.take(pa.array(by_high[last_of_group]))
