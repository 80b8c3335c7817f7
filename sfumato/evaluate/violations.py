"""How many rows break each rule of the schema: private rows as they are stored, synthetic ones as they are drawn."""

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source


@dataclass(frozen=True)
class Violation:
    """A rule, and the share of the private and of the synthetic rows that break it."""

    rule: str
    real: float
    synthetic: float


def find_violations(schema: Schema, real: Any, synthetic: Iterable[pa.RecordBatch]) -> tuple[Violation, ...]:
    """Every rule of the schema, in its order; `real` is a table in any form that `release` takes.

    Raises `DataError` where columns are missing or the table cannot be read. Nothing is read where there are no rules.
    """
    if not getattr(schema, "constraints", ()):
        return ()
    known = schema.model_copy(update={"unit": None})
    with closing(open_source(real, known, declared=True)) as source:
        private = redact_errors(_shares)(schema, source.records(tuple(schema.by_name)))
    drawn = _shares(schema, synthetic)
    return tuple(Violation(rule, share, drawn.get(rule, 0.0)) for rule, share in private.items())


def _shares(schema: Schema, batches: Iterable[pa.RecordBatch]) -> dict[str, float]:
    """By rule, over all batches."""
    rows, broken = 0, Counter[str]()
    for batch in batches:
        rows += batch.num_rows
        for rule, share in count_violations(schema, pa.Table.from_batches([batch])).items():
            broken[rule] += round(share * batch.num_rows)
    return {rule: count / max(rows, 1) for rule, count in broken.items()}


def count_violations(schema: Schema, table: pa.Table) -> dict[str, float]:
    """The share of a table's rows that break each rule; nothing where the schema has no rules."""
    rules = getattr(schema, "constraints", ())
    return {str(rule): float(np.mean(rule.broken(table))) if table.num_rows else 0.0 for rule in rules}
