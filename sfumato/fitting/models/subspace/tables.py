"""What a subspace release says as tables that people read: a column's distribution, a mean, the means of classes."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from sfumato.errors import RequestError
from sfumato.fitting.models.gaussian_mixture.tables import affine, class_labels
from sfumato.fitting.models.subspace.column import Certain, ColumnLaw
from sfumato.fitting.models.subspace.model import SubspaceModel
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Codes, NumericCodec

_BARS = 40
_BAND = 1.96  # standard deviations to either side of a 95 % interval


def marginal_of(model: SubspaceModel, column: str, codes: Codes) -> pa.Table:
    """The probability of every value or interval of a column, and the 95 % band of the noise.

    The band takes the noise for normal and answers for linear in it: that of the class means, of the counts for the
    target, and of the cells where columns have marginals.
    """
    if not isinstance(codes, NumericCodec):
        known = model.class_shares
        deviation = share_deviations(known, model.counts, model.count_sd)
        value = codes.decode(np.arange(model.classes, dtype=np.int32), np.zeros(model.classes))
        return pa.table({"value": value, **_with_band(known, deviation)})
    starts = np.unique(np.round(np.linspace(0, codes.steps, min(_BARS, codes.steps) + 1)).astype(np.int64))
    ends = codes.place_of(codes.ends(starts))

    def bars(law: ColumnLaw | Certain) -> FloatArray:
        """What lies beyond the first and the last end is clamped there."""
        return np.diff(law.up_to(ends[1:-1]), prepend=0.0, append=1.0)

    law = model.law_of(column)
    deviation = law.deviation(bars, _mean_sds(model, column), model.marginal_sd)
    first = codes.edges(starts[:-1].astype(np.int32), upper=False)
    last = codes.edges((starts[1:] - 1).astype(np.int32), upper=True)
    return pa.table({"first": first, "last": last, **_with_band(bars(law), deviation)})


def share_deviations(shares: FloatArray, counts: FloatArray, deviation: float) -> FloatArray:
    """Of shares that are in proportion to counts times something, when each count has noise of this deviation."""
    relative = deviation / counts
    others = ((shares * relative) ** 2).sum() - (shares * relative) ** 2
    spread: FloatArray = shares * np.sqrt(((1 - shares) * relative) ** 2 + others)
    return spread


def _mean_sds(model: SubspaceModel, column: str) -> FloatArray:
    return model.mean_sds[:, model.columns.index(column)]


def _with_band(known: FloatArray, deviation: FloatArray) -> dict[str, FloatArray]:
    low, high = known - _BAND * deviation, known + _BAND * deviation
    return {"probability": known, "low": np.maximum(low, 0.0), "high": np.minimum(np.maximum(high, known), 1.0)}


def mean_of(model: SubspaceModel, column: str) -> tuple[float, float, float]:
    """The mean of a column, clamped as its values are, and the ends of its 95 % interval."""
    value, law, scale = model.value_at(column), model.law_of(column), model.scales[column]
    spread = law.deviation(lambda one: np.array(one.mean(value)), _mean_sds(model, column), model.marginal_sd)
    mean, reach = law.mean(value), _BAND * float(spread)
    return mean, max(mean - reach, scale.low), min(mean + reach, scale.high)


def class_means(model: SubspaceModel, columns: Mapping[str, Codes], level: float) -> pa.Table:
    """The mean of every column in every class with the interval that holds it with probability `level`.

    In the units of the columns, or of the logarithm where a column's scale is one. The intervals are for the noise;
    what clipping records to a ball has moved is not in them.
    """
    if model.given:
        raise RequestError("parameters are those of all records; ask the release without a condition")
    labels = class_labels(model.target, model.classes, columns)
    offset, unit = np.array([affine(scale) for scale in model.scales.values()]).T
    estimate = offset + unit * (model.means + model.centres @ model.basis.T)
    reach = float(ndtri((1 + level) / 2)) * unit * model.mean_sds
    names = pa.array(model.columns)
    return pa.table(
        {
            "class": labels.take(pa.array(np.repeat(np.arange(model.classes), len(names)))),
            "column": names.take(pa.array(np.tile(np.arange(len(names)), model.classes))),
            "estimate": estimate.ravel(),
            "low": (estimate - reach).ravel(),
            "high": (estimate + reach).ravel(),
        }
    )
