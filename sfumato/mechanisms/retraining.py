"""Generators from any bundle whose measurements tell the distribution of columns: slices, tables, waves."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import RequestError
from sfumato.generators.networks import Own
from sfumato.generators.training import Epoch
from sfumato.measurement import Measurement
from sfumato.mechanisms.mixture import plan_mixture, refit_mixture
from sfumato.mechanisms.record import Record
from sfumato.mechanisms.slices import again, plan_slices
from sfumato.mechanisms.slices.evidence import evidence_of
from sfumato.mechanisms.slices.fitting import OWN, Seen, fitted
from sfumato.mechanisms.slices.waves import waves_seen
from sfumato.mechanisms.tables import plan_tables
from sfumato.mechanisms.tables.one_way import cut_target, measure_one_way
from sfumato.mechanisms.tables.pairs import measure_pairs
from sfumato.models.table_mixture import TableMixture
from sfumato.privacy.statement import PrivacyStatement
from sfumato.schema import Schema


def retrained(
    schema: Schema,
    statement: PrivacyStatement,
    measurements: tuple[Measurement, ...],
    settings: Mapping[str, Any],
    generator: Own | None = None,
    progress: Callable[[Epoch], None] = lambda _: None,
    checkpoint: Path | None = None,
    device: str = "cpu",
) -> TableMixture:
    """A generator trained on what was released, as a model. It spends nothing: all of it is public."""
    if settings.get("generator") == OWN and generator is None:
        raise RequestError("the model is of a generator that this library does not bring; train it with that generator")
    seen = _seen(schema, statement, measurements, settings)
    return fitted(seen, settings, generator, shape_of(schema), progress, checkpoint, device)


def shape_of(schema: Schema) -> tuple[int, int] | None:
    """Height and width where all columns but the target are one image."""
    runs = [column for column in schema.columns if schema.target not in column.names]
    return getattr(runs[0], "image", None) if len(runs) == 1 else None


def _seen(
    schema: Schema, statement: PrivacyStatement, measurements: tuple[Measurement, ...], settings: Mapping[str, Any]
) -> Seen:
    """What was released, every question being the one that schema, budget and earlier answers ask for."""
    match statement.mechanism:
        case "slices":
            plan = plan_slices(schema, statement.budget, statement.adjacency)
            return again(measurements, plan)
        case "tables":
            tables, record = plan_tables(schema, statement.budget, statement.adjacency), Record(measurements)
            one_way = measure_one_way(record, tables, cut_target(record, tables))
            pairs = measure_pairs(record, tables, one_way)
            record.must_be_left(tables.mu_steps)
            evidence = evidence_of(one_way, pairs, None) if one_way.columns else None
            return Seen(tables, one_way, evidence, pairs, tuple(record.left))
        case "mixture":
            tables = plan_tables(schema, statement.budget, statement.adjacency)
            seen = waves_seen(tables, measurements)
            mixture = plan_mixture(schema, statement.budget, statement.adjacency, settings.get("components"))
            refit_mixture(measurements, mixture)
            return seen
        case other:
            raise RequestError(
                f"a generator trains on slices, tables or waves, which follow from the distributions of its columns; a "
                f"release by {other} tells sums and second moments of whole records, each pulled back to a radius: "
                f"what a column adds to them hangs on all other columns of the record"
            )
