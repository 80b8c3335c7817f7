"""Generators from any bundle whose measurements tell the distribution of columns: slices, tables, waves."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import RequestError
from sfumato.fitting.generators.networks import Own
from sfumato.fitting.generators.training import Epoch
from sfumato.fitting.mechanisms.mixture.plan import plan_mixture
from sfumato.fitting.mechanisms.mixture.release import refit_mixture
from sfumato.fitting.mechanisms.slices.evidence import evidence_of
from sfumato.fitting.mechanisms.slices.fitting import OWN, Seen, fitted
from sfumato.fitting.mechanisms.slices.fourier_evidence import waves_seen
from sfumato.fitting.mechanisms.slices.plan import plan_slices
from sfumato.fitting.mechanisms.slices.release import again
from sfumato.fitting.mechanisms.tables.one_way import cut_target, measure_one_way
from sfumato.fitting.mechanisms.tables.pairs import measure_pairs
from sfumato.fitting.mechanisms.tables.plan import plan_tables
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.replay import Record
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Schema


def retrained(
    mechanism: str,
    schema: Schema,
    budget: Budget,
    adjacency: Adjacency,
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
    seen = _seen(mechanism, schema, budget, adjacency, measurements, settings)
    return fitted(seen, settings, generator, shape_of(schema), progress, checkpoint, device)


def shape_of(schema: Schema) -> tuple[int, int] | None:
    """Height and width where all columns but the target are one image."""
    runs = [column for column in schema.columns if schema.target not in column.names]
    return getattr(runs[0], "image", None) if len(runs) == 1 else None


def _seen(
    mechanism: str,
    schema: Schema,
    budget: Budget,
    adjacency: Adjacency,
    measurements: tuple[Measurement, ...],
    settings: Mapping[str, Any],
) -> Seen:
    """What was released, every question being the one that schema, budget and earlier answers ask for."""
    match mechanism:
        case "slices":
            plan = plan_slices(schema, budget, adjacency)
            return again(measurements, plan)
        case "tables":
            tables, record = plan_tables(schema, budget, adjacency), Record(measurements)
            one_way = measure_one_way(record, tables, cut_target(record, tables))
            pairs = measure_pairs(record, tables, one_way)
            record.must_be_left(tables.mu_steps)
            evidence = evidence_of(one_way, pairs, None) if one_way.columns else None
            return Seen(tables, one_way, evidence, pairs, tuple(record.left))
        case "mixture":
            tables = plan_tables(schema, budget, adjacency)
            seen = waves_seen(tables, measurements)
            mixture = plan_mixture(schema, budget, adjacency, settings.get("components"))
            refit_mixture(measurements, mixture)
            return seen
        case other:
            raise RequestError(
                f"a generator trains on slices, tables or waves, which follow from the distributions of its columns; a "
                f"release by {other} tells sums and second moments of whole records, each pulled back to a radius: "
                f"what a column adds to them hangs on all other columns of the record"
            )
