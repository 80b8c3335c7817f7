"""What a release tells of the target of records, given their other columns."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.artefact.asked_tables import records_of
from sfumato.artefact.part_workers import map_parts
from sfumato.errors import RequestError
from sfumato.fitting.models.constrained import ConstrainedModel
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Encoder, NumericCodec
from sfumato.trusted.schema import Schema

if TYPE_CHECKING:
    from sfumato.artefact.release import Release

_PREDICTED_AT_ONCE = 1 << 16


def target_of(schema: Schema) -> str:
    """The target; without one `RequestError`."""
    if schema.target is None:
        raise RequestError("the schema names no target, so there is nothing to predict; use condition and marginal")
    return schema.target


def classes_of(schema: Schema) -> list[Any]:
    """The values of the target; None stands for missing."""
    codes = Encoder(schema).columns[target_of(schema)]
    if not isinstance(codes, CategoricalCodec):
        raise RequestError(f"the target {schema.target!r} is numeric and has no classes; use condition and marginal")
    return [*(codes.words or codes.values), *([None] if codes.nullable else [])]


def predict_batch(release: "Release", batch: Batch) -> FloatArray:
    """Of encoded records: class probabilities, or means of a number."""
    target = target_of(release.schema)
    codes = Encoder(release.schema).columns[target]
    predicted = release.model.predict(batch, target, codes)
    return codes.in_units(predicted) if isinstance(codes, NumericCodec) else predicted


def predict_table(release: "Release", table: Any) -> FloatArray:
    """Of records as they are stored."""
    records = records_of(release.schema, table, release.schema.features)
    starts = range(0, max(records.num_rows, 1), _PREDICTED_AT_ONCE)
    parts = (records.slice(start, _PREDICTED_AT_ONCE) for start in starts)
    return np.concatenate(list(map_parts(lambda part: _predict_records(release, part), parts)))


def _predict_records(release: "Release", records: pa.RecordBatch) -> FloatArray:
    schema = release.schema
    if not isinstance(release.model, ConstrainedModel):
        return predict_batch(release, Encoder(schema).encode(records, records.schema.names))
    target = target_of(schema)
    codes = Encoder(schema).columns[target]
    predicted = release.model.predict_records(records, target, codes)
    return codes.in_units(predicted) if isinstance(codes, NumericCodec) else predicted
