"""Generators from any bundle whose measurements tell the distribution of columns: slices, tables, mixtures."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import RequestError
from sfumato.fitting.generators.networks import CustomGenerator
from sfumato.fitting.generators.training import Epoch
from sfumato.fitting.mechanisms.mechanism import Measurements, Mechanism
from sfumato.fitting.mechanisms.rules_refused import refuse_rules
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.retraining.fit import OWN, fit_generator
from sfumato.trusted.schema import Schema


def retrain_model(
    mechanism: Mechanism,
    plan: Any,
    schema: Schema,
    measurements: Measurements,
    settings: Mapping[str, Any],
    generator: CustomGenerator | None = None,
    progress: Callable[[Epoch], None] = lambda _: None,
    checkpoint: Path | None = None,
    device: str = "cpu",
) -> TableMixture:
    """A generator trained on what was released, as a model. It spends nothing: all of it is public."""
    refuse_rules(schema, "a generator")
    if settings.get("generator") == OWN and generator is None:
        raise RequestError("the model is of a generator that this library does not bring; train it with that generator")
    data = mechanism.training_data(measurements, plan, schema)
    return fit_generator(data, settings, generator, image_shape(schema), progress, checkpoint, device)


def image_shape(schema: Schema) -> tuple[int, int] | None:
    """Height and width where all columns but the target are one image."""
    runs = [column for column in schema.columns if schema.target not in column.names]
    return getattr(runs[0], "image", None) if len(runs) == 1 else None
