"""Public records as codes and as numbers."""

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import CodeArray, FloatArray
from sfumato.trusted.encoding import Batch, Codes, Encoder, NumericCodec
from sfumato.trusted.schema import Schema


def encode_table(table: pa.Table, schema: Schema) -> Batch:
    """The codes of records in the columns of the table, whatever constraints say of them."""
    plain = schema.model_copy(update={"constraints": ()})
    records = table.select(list(schema.by_name)).combine_chunks().to_batches()
    return Encoder(plain).encode(records[0], list(schema.by_name))


def values_of(table: pa.Table, schema: Schema) -> dict[str, FloatArray]:
    """Each column as numbers: a number as it is, a listed value as its place, missing as NaN."""
    batch, columns = encode_table(table, schema), Encoder(schema).columns
    return {name: numbers_of(batch.codes[name], columns[name]) for name in schema.by_name}


def numbers_of(code: CodeArray, codes: Codes) -> FloatArray:
    """The numbers that codes stand for; of several, the middle one."""
    if isinstance(codes, NumericCodec):
        return codes.in_units(codes.read(codes.decode(code, np.full(len(code), 0.5))).values)
    found = code.astype(np.float64)
    return found if codes.missing is None else np.where(code == codes.missing, np.nan, found)
