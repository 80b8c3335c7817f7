"""What a Gaussian mixture says as tables that people read: a column's distribution, the parameters, an expectation."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.errors import RequestError
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Codes, NumericCodec

_BARS = 40
_BAND = (0.025, 0.975)
_PUSHED = 100  # draws that are pushed through a question


def posterior_models(model: GaussianMixture, most: int = _PUSHED) -> Iterator[GaussianMixture]:
    """The model with each of some draws from the posterior in place of its parameters.

    A draw that gives the condition no probability is left out.
    """
    counts, means, covs = model.draws.counts, model.draws.means, model.draws.covs
    for s in range(min(most, len(counts))):
        gaussians = Gaussians(np.arange(model.classes), counts[s] / counts[s].sum(), means[s], covs[s])
        one = replace(model, actions=dict.fromkeys(model.actions, gaussians), size=float(counts[s].sum()))
        with suppress(RequestError):
            _ = one.gaussians
            yield one


def marginal_of(model: GaussianMixture, column: str, codes: Codes) -> pa.Table:
    """The probability of every value or interval of a column, and the 95 % band of the posterior."""
    if not isinstance(codes, NumericCodec):
        known = model.gaussians.by_class(model.classes)
        others = [one.gaussians.by_class(model.classes) for one in posterior_models(model)]
        value = codes.decode(np.arange(model.classes, dtype=np.int32), np.zeros(model.classes))
        return pa.table({"value": value, **_with_band(known, others)})
    bars = min(_BARS, codes.steps)
    starts = np.unique(np.round(np.linspace(0, codes.steps, bars + 1)).astype(np.int64))
    ends = codes.place_of(codes.ends(starts))
    first = codes.edges(starts[:-1].astype(np.int32), upper=False)
    last = codes.edges((starts[1:] - 1).astype(np.int32), upper=True)
    known = _bars(model, column, ends)
    return pa.table(
        {
            "first": first,
            "last": last,
            **_with_band(known, [_bars(one, column, ends) for one in posterior_models(model)]),
        }
    )


def _bars(model: GaussianMixture, column: str, ends: FloatArray) -> FloatArray:
    """The probability between ends; what lies beyond the first and the last is clamped there."""
    return np.diff(model.up_to(column, ends[1:-1]), prepend=0.0, append=1.0)


def _with_band(known: FloatArray, others: list[FloatArray]) -> dict[str, FloatArray]:
    low, high = np.quantile(np.array([known, *others]), _BAND, axis=0)
    return {"probability": known, "low": np.minimum(low, known), "high": np.maximum(high, known)}


def mean_of(model: GaussianMixture, column: str) -> tuple[float, float, float]:
    """The mean of a column, clamped as its values are, and the ends of its 95 % interval."""
    mean = model.mean(column)
    low, high = np.quantile([mean, *(one.mean(column) for one in posterior_models(model))], _BAND)
    return mean, min(mean, float(low)), max(mean, float(high))


def parameter_table(model: GaussianMixture, columns: Mapping[str, Codes], level: float) -> pa.Table:
    """Every weight, mean and covariance with the interval that holds it with probability `level`.

    The intervals are for the class's own moments, the fit to its records that nobody may see; in the units of the
    columns, or of the logarithm where a column's scale is one.
    """
    if model.given:
        raise RequestError("parameters are those of all records; ask the release without a condition")
    labels = class_labels(model.target, model.classes, columns)
    gaussians = model.actions["mixture"]
    order = np.argsort(gaussians.owner)
    weights, draws = gaussians.weights[order], model.draws
    share = draws.counts / draws.counts.sum(axis=1, keepdims=True)
    offset, unit = np.array([affine(scale) for scale in model.scales.values()]).T
    rows: list[tuple[int, str, str | None, str | None, float, FloatArray]] = []
    i, j = np.triu_indices(len(unit))
    names = model.columns
    for k in range(model.classes):
        mean, cov = gaussians.means[order[k]], gaussians.covs[order[k]]
        rows.append((k, "weight", None, None, float(weights[k]), share[:, k]))
        for c, name in enumerate(names):
            known, drawn_means = offset[c] + unit[c] * mean[c], offset[c] + unit[c] * draws.means[:, k, c]
            rows.append((k, "mean", name, None, float(known), drawn_means))
        for a, b in zip(i.tolist(), j.tolist(), strict=True):
            scale = unit[a] * unit[b]
            rows.append((k, "covariance", names[a], names[b], float(scale * cov[a, b]), scale * draws.covs[:, k, a, b]))
    ends = np.array([np.quantile(row[5], ((1 - level) / 2, (1 + level) / 2)) for row in rows])
    return pa.table(
        {
            "class": labels.take(pa.array([row[0] for row in rows])),
            "parameter": [row[1] for row in rows],
            "column": pa.array([row[2] for row in rows], pa.string()),
            "with": pa.array([row[3] for row in rows], pa.string()),
            "estimate": [row[4] for row in rows],
            "low": np.minimum(ends[:, 0], [row[4] for row in rows]),
            "high": np.maximum(ends[:, 1], [row[4] for row in rows]),
        }
    )


def class_labels(target: str | None, classes: int, columns: Mapping[str, Codes]) -> pa.Array:
    """The values of the target, or numbered components where there is none."""
    if target is None:
        return pa.array([f"component {k + 1}" for k in range(classes)])
    return columns[target].decode(np.arange(classes, dtype=np.int32), np.zeros(classes))


def affine(scale: NumericCodec) -> tuple[float, float]:
    """Offset and unit that turn a place into the column's units; into its natural logarithm on a log scale."""
    if not scale.log:
        low, high = scale.in_units(scale.number_at(np.array([0.0, 1.0])) - 0.5 * scale.whole)
        return float(low), float(high - low)
    start = float(scale.in_units(scale.number_at(np.array([0.0])))[0])
    growth = math.log1p(scale.growth)
    return (math.log(start) if start > 0 else 0.0), growth
