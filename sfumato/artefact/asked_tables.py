"""Tables that a receiver asks a release about."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sfumato.artefact.requests import refuse_misspelt
from sfumato.errors import RequestError
from sfumato.trusted.encoding.frames import kind_of, names_of, to_arrow
from sfumato.trusted.schema import Schema


def records_of(schema: Schema, table: Any, needed: Sequence[str] | None = None) -> pa.RecordBatch:
    """A table's records, in the columns that the schema has.

    One that is misspelt among those that are needed, by default all, is an error.
    """
    if kind_of(table) is None:
        raise RequestError(f"a {type(table).__name__} is not a table; give an Arrow table, a pandas or a polars frame")
    there = names_of(table)
    refuse_misspelt(there, (*schema.read, *schema.leave_out), schema.by_name if needed is None else needed)
    names = [name for name in there if name in schema.by_name]
    if not names or len(set(names)) < len(names):
        raise RequestError("the table has no column of the schema, or has one twice; check its header")
    arrow = to_arrow(table, names).combine_chunks()
    batches = arrow.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=arrow.schema)
