"""Samples of a release, in parts that fit into memory."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.artefact.drawing import draw_records, with_keys
from sfumato.artefact.part_workers import map_parts
from sfumato.artefact.prediction import predict_batch, target_of
from sfumato.artefact.requests import check_whole
from sfumato.fitting.conditions import Condition
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch

if TYPE_CHECKING:
    from sfumato.artefact.release import Release

_ROWS_AT_ONCE = 1 << 18


def sample_in_parts(
    release: "Release",
    rows: int | None,
    given: Mapping[str, Any] | None,
    seed: int | None,
    *,
    probabilities: bool,
    dictionaries: bool,
) -> Iterator[pa.Table]:
    """See `Release.sample_tables`."""
    source = release if given is None else release.condition(given)
    rows = release.size if rows is None else check_whole(rows, "the number of rows")
    seed = None if seed is None else check_whole(seed, "the seed")
    rng, limits, keys = np.random.default_rng(seed), _limits_of(source.given), layout_of(release.schema).keys
    if probabilities:
        target_of(release.schema)

    def draw(start: int, rng: np.random.Generator) -> pa.Table:
        count = min(rows - start, _ROWS_AT_ONCE)
        batch, table = draw_records(source.model, release.schema, count, rng, limits, dictionaries)
        for name, values in _predictions(source, batch).items() if probabilities else ():
            table = table.append_column(name, pa.array(values))
        return with_keys(table, keys, start, rng)

    starts = range(0, max(rows, 1), _ROWS_AT_ONCE)
    yield from map_parts(lambda part: draw(*part), ((start, rng.spawn(1)[0]) for start in starts))


def _predictions(release: "Release", batch: Batch) -> dict[str, FloatArray]:
    """What the release knows of the target given the other columns of each record, as columns."""
    target, predicted = target_of(release.schema), predict_batch(release, batch)
    if predicted.ndim == 1:
        return {f"mean({target})": predicted}
    names = ["missing" if value is None else str(value) for value in release.classes]
    return {f"p({target}={name})": predicted[:, place] for place, name in enumerate(names)}


def _limits_of(given: Sequence[Condition]) -> dict[str, tuple[float | None, float | None]]:
    """The ends of the ranges that have been asked for, so that no step of a scale spills over them."""
    limits: dict[str, tuple[float | None, float | None]] = {}
    for condition in given:
        low, high = limits.get(condition.column, (None, None))
        lows, highs = (low, condition.low), (high, condition.high)
        limits[condition.column] = (
            max((end for end in lows if end is not None), default=None),
            min((end for end in highs if end is not None), default=None),
        )
    return limits
