"""Translation of frames: from a release and a public table to the same table with its numbers moved."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.artefact.frames import to_frame
from sfumato.errors import RequestError
from sfumato.fitting.mechanisms.mechanism import find_mechanism, restore_plan
from sfumato.fitting.mechanisms.rules_refused import refuse_rules
from sfumato.fitting.retraining.retrain import image_shape
from sfumato.fitting.translation.translate import translate_codes
from sfumato.fitting.tuning import stored_constants
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.encoding.frames import kind_of, names_of, to_arrow
from sfumato.trusted.schema.display import list_some

if TYPE_CHECKING:
    from sfumato.artefact.release import Release
    from sfumato.fitting.generators import Epoch


def translate_frame(
    release: "Release",
    source: Any,
    steps: int,
    seed: int,
    divergence: str,
    progress: "Callable[[Epoch], None]",
    device: str,
) -> Any:
    """See `Release.translate`. What cannot be translated is refused before anything is trained."""
    schema = release.schema
    refuse_rules(schema, "translation")
    if schema.target is not None:
        raise RequestError(
            f"the release knows the target {schema.target!r} of private rows: use predict_proba; translation is for a "
            "table without one"
        )
    if release.given:
        raise RequestError("the release is conditioned, and its histograms are those of all records; translate to all")
    batch = release.encode(source)
    if absent := [name for name in schema.by_name if name not in batch.codes]:
        raise RequestError(f"the source has no column {list_some(absent)}; it needs every column of the schema")
    if not batch.rows:
        raise RequestError("the source has no rows, so there is nothing to translate")
    mechanism = find_mechanism(release.statement.mechanism)
    plan, constants = restore_plan(release.plan, mechanism.name, release.measured, release.statement.adjacency)
    codecs = Encoder(schema).columns
    with stored_constants(constants):
        seen = mechanism.training_data(release.modelling, plan, release.measured).evidence
        if seen is None:
            raise RequestError("the release has no columns but its target, so there is nothing to translate to")
        codes = translate_codes(seen, codecs, batch, image_shape(schema), steps, seed, divergence, progress, device)
    names = names_of(source)
    columns = dict(zip(names, to_arrow(source, names).columns, strict=True))
    middle = np.full(batch.rows, 0.5)
    columns |= {name: pa.chunked_array([codecs[name].decode(moved, middle)]) for name, moved in codes.items()}
    frame = to_frame(pa.table(columns), release.header, schema, kind_of(source))
    return frame[names] if kind_of(source) == "pandas" else frame.select(names)
