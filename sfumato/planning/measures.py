"""How far a release is from the records that it was made from, as forecasts speak of it."""

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.artefact.quality import has_mean
from sfumato.fitting.models.model import Model
from sfumato.planning.proxies import Proxy
from sfumato.planning.records import encode_table, numbers_of
from sfumato.trusted.arrays import CodeArray, FloatArray, IntArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Codes, Encoder, NumericCodec
from sfumato.trusted.schema import Schema

_TENTHS = np.linspace(0.1, 0.9, 9)
_MOST_PAIRS = 1_000


@dataclass(frozen=True)
class Measures:
    """The errors of one release: see `Quality`."""

    column_error: float
    pair_error: float | None
    mean_error: float | None
    prediction_gap: float | None


def measure_release(
    schema: Schema, model: Model, drawn: Batch, proxy: Proxy, records: pa.Table, others: pa.Table
) -> Measures:
    """Compare synthetic records with the real ones, and predictions on others with the best that is possible."""
    columns, real = Encoder(schema).columns, encode_table(records, schema)
    cells = {name: _in_cells(real.codes[name], drawn.codes[name], columns[name]) for name in schema.by_name}
    pairs = list(itertools.combinations(cells.values(), 2))
    step = max(1, -(-len(pairs) // _MOST_PAIRS))  # very many are looked at in part
    means = [
        _mean_error(real.codes[name], drawn.codes[name], columns[name])
        for name in schema.by_name
        if has_mean(schema, name)
    ]
    return Measures(
        float(np.mean([total_variation(*one) for one in cells.values()])),
        float(np.mean([total_variation(*_crossed(one, two)) for one, two in pairs[::step]])) if pairs else None,
        float(np.mean(means)) if means else None,
        _prediction_gap(schema, model, proxy, records, others),
    )


def _in_cells(real: CodeArray, drawn: CodeArray, codes: Codes) -> tuple[IntArray, IntArray]:
    """Listed values as they are; numbers cut at the tenths of the real ones, missing alone."""
    if isinstance(codes, CategoricalCodec):
        return real.astype(np.int64), drawn.astype(np.int64)
    here, there = (numbers_of(part, codes) for part in (real, drawn))
    present = here[~np.isnan(here)]
    cuts = np.unique(np.quantile(present, _TENTHS)) if len(present) else np.empty(0)
    one, other = (np.where(np.isnan(part), 0, 1 + np.searchsorted(cuts, part, side="right")) for part in (here, there))
    return one, other


def _crossed(one: tuple[IntArray, IntArray], two: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    size = 1 + max(int(part.max(initial=0)) for part in two)
    return one[0] * size + two[0], one[1] * size + two[1]


def total_variation(real: IntArray, drawn: IntArray) -> float:
    """Half the sum of the differences of shares: 0 is equal, 1 is disjoint."""
    _, places = np.unique(np.concatenate((real, drawn)), return_inverse=True)
    size = int(places.max(initial=0)) + 1
    here, there = (np.bincount(part, minlength=size) / max(1, len(part)) for part in np.split(places, [len(real)]))
    return float(np.abs(here - there).sum() / 2)


def _mean_error(real: CodeArray, drawn: CodeArray, codes: Codes) -> float:
    """The difference of the means as a share of the range."""
    assert isinstance(codes, NumericCodec)  # noqa: S101 - a column with a mean
    here, there = (numbers_of(part, codes) for part in (real, drawn))
    if np.isnan(here).all() or np.isnan(there).all():
        return 1.0
    low, high = codes.in_units(np.array([codes.low, codes.high], dtype=np.float64))
    return min(1.0, float(abs(np.nanmean(here) - np.nanmean(there)) / (high - low)))


def _prediction_gap(schema: Schema, model: Model, proxy: Proxy, records: pa.Table, others: pa.Table) -> float | None:
    """What the release's own predictor loses against the best that is possible, 1 at most; None: that is not known."""
    target = schema.target
    if target is None or not schema.features:
        return None
    best = proxy.predict(records, others, schema)
    if best is None:
        return None
    codes, batch = Encoder(schema).columns[target], encode_table(others, schema)
    truth = numbers_of(batch.codes[target], codes)
    told = model.predict(batch, target, codes)
    told = codes.in_units(told) if isinstance(codes, NumericCodec) else told
    reached, possible = score_prediction(told, truth), score_prediction(best, truth)
    return None if reached is None or possible is None else min(1.0, max(0.0, possible - reached))


def score_prediction(predicted: FloatArray, truth: FloatArray) -> float | None:
    """R squared of numbers; area under the ROC curve of classes, mean over all two of them. None: cannot be told."""
    known = ~np.isnan(truth)
    predicted, truth = predicted[known], truth[known]
    if predicted.ndim == 1:
        spread = float(((truth - truth.mean()) ** 2).sum()) if len(truth) else 0.0
        return 1 - float(((truth - predicted) ** 2).sum()) / spread if spread else None
    there = np.unique(truth).astype(int)
    if len(there) < 2:
        return None
    return float(np.mean([_area_of_two(predicted, truth, *two) for two in itertools.combinations(there, 2)]))


def _area_of_two(predicted: FloatArray, truth: FloatArray, one: int, other: int) -> float:
    """Among the records of two classes, as often as each is taken for the hit."""
    among = np.isin(truth, (one, other))
    share, hit = predicted[among], truth[among] == one
    total = share[:, one] + share[:, other] + 1e-12
    return (area_under_curve(share[:, one] / total, hit) + area_under_curve(share[:, other] / total, ~hit)) / 2


def area_under_curve(scores: FloatArray, hits: IntArray) -> float:
    """The chance that a hit has the higher score than another record; ties count half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    inside = int(hits.sum())
    return float((rank[hits].sum() - inside * (inside + 1) / 2) / (inside * (len(hits) - inside)))
