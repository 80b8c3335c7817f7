"""How many rows break each constraint of the schema: private rows as they are stored, synthetic ones as drawn."""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.fitting.violating_rows import find_violating_rows
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source


@dataclass(frozen=True)
class Violation:
    """A constraint, and the share of the private and of the synthetic rows that break it."""

    rule: str
    real: float
    synthetic: float


def find_violations(schema: Schema, real: Any, synthetic: pa.Table) -> tuple[Violation, ...]:
    """Every constraint that a row can break, in the schema's order; `real` is a table in any form that `release` takes.

    Raises `DataError` where columns are missing or the table cannot be read. Nothing is read without constraints.
    """
    if not schema.constraints:
        return ()
    known = schema.model_copy(update={"unit": None, "constraints": ()})
    with closing(open_source(real, known, declared=True)) as source:
        batches = redact_errors(lambda: list(source.records(tuple(schema.by_name))))()
    private = redact_errors(lambda: count_violations(schema, pa.Table.from_batches(batches)) if batches else {})()
    drawn = count_violations(schema, synthetic)
    return tuple(Violation(rule, private.get(rule, 0.0), share) for rule, share in drawn.items())


def count_violations(schema: Schema, table: pa.Table) -> dict[str, float]:
    """The share of a table's rows that break each constraint."""
    return {
        rule: float(broken.mean()) if table.num_rows else 0.0
        for rule, broken in find_violating_rows(schema, table).items()
    }
