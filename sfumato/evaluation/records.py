"""Records as arrays that learners and tables can use."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, Codes, Encoder, NumericCodec
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source


def read_all(data: Any, schema: Schema) -> Batch:
    """Every record of a private table, as codes, whoever they are of.

    Nothing is promised of what follows, so that types need not be declared.
    """
    names, known = tuple(schema.by_name), schema.model_copy(update={"unit": None, "constraints": ()})
    source = open_source(data, known, declared=True)
    parts = redact_errors(lambda: list(source.batches(names)))()
    codes = {name: np.concatenate([part.codes[name] for part in parts]) if parts else _none() for name in names}
    return Batch(sum(part.rows for part in parts), codes)


def _none() -> NDArray[np.int32]:
    return np.empty(0, dtype=np.int32)


def values_of(batch: Batch, schema: Schema) -> Mapping[str, FloatArray]:
    """Each column as numbers: a number as it is, a category as its place in the list, missing as NaN."""
    columns = Encoder(schema).columns
    return {name: _numbers(codes, columns[name]) for name, codes in batch.codes.items()}


def _numbers(code: NDArray[np.int32], codes: Codes) -> FloatArray:
    if isinstance(codes, NumericCodec):
        return codes.in_units(codes.read(codes.decode(code, np.full(len(code), 0.5))).values)
    return np.where(code == codes.missing, np.nan, code) if codes.missing is not None else code.astype(np.float64)
