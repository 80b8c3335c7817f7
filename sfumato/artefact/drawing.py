"""Records of a sample: codes and values, and fresh ids."""

import uuid
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sfumato.artefact.frames import decode
from sfumato.fitting.models.constrained import ConstrainedModel
from sfumato.fitting.models.model import Model
from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.encoding.code_arrays import Limits
from sfumato.trusted.schema import Schema


def draw_records(
    model: Model,
    schema: Schema,
    rows: int,
    rng: np.random.Generator,
    limits: Mapping[str, Limits],
    dictionaries: bool = False,
) -> tuple[Batch, pa.Table]:
    """Records as codes and as values of the table; what follows from other columns does so to the last digit.

    With `dictionaries` listed texts come as Arrow dictionaries, where no constraint is between codes and values.
    """
    if isinstance(model, ConstrainedModel):
        table = model.draw(rows, rng, limits)
        return model.encode(table), table
    batch = model.sample(rows, rng)
    return batch, decode(batch, Encoder(schema).columns, rng, limits, dictionaries)


def with_keys(table: pa.Table, keys: Mapping[str, str], start: int, rng: np.random.Generator) -> pa.Table:
    """The table with columns of fresh ids before the others; `start` is how many records there were before."""
    ids = {name: pa.array(_ids(form, start, table.num_rows, rng), pa.string()) for name, form in keys.items()}
    return pa.table({**ids, **dict(zip(table.column_names, table.columns, strict=True))}) if ids else table


def _ids(form: str, start: int, rows: int, rng: np.random.Generator) -> list[str]:
    if form == "uuid":
        return [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(rows)]
    before, _, rest = form.partition("{")
    digits, _, after = rest.partition("}")
    return [f"{before}{number:0{len(digits)}d}{after}" for number in range(start + 1, start + rows + 1)]
