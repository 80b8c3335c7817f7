"""`slices`: noisy histograms along public directions, and a generator that is fitted to them.

Anonymize: histograms of the axes, of pairs of axes and along random orthonormal directions, by class of the target,
come through the door, once.
Fit: a generator, by the chi-squared divergence between its slices and theirs. It can be trained for any number
of epochs, again, or another one instead, by whoever holds the bundle: nothing more is spent.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.errors import RequestError
from sfumato.fitting.approx_equal import alike
from sfumato.fitting.mechanisms.slices.directions import measure_directions
from sfumato.fitting.mechanisms.slices.evidence import evidence_of
from sfumato.fitting.mechanisms.slices.fitting import SETTINGS, Seen, fitted
from sfumato.fitting.mechanisms.slices.plan import SlicesPlan, plan_slices
from sfumato.fitting.mechanisms.tables.one_way import cut_target, measure_one_way
from sfumato.fitting.mechanisms.tables.pairs import measure_pairs
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.replay import Record
from sfumato.trusted.measurement import Door, Measurement

__all__ = ["SlicesPlan", "again", "plan_slices", "refit_slices", "release_slices"]


def release_slices(door: Door, plan: SlicesPlan, progress: Callable[[str], None]) -> TableMixture:
    """Measure three times, then fit. After the measurements all is post-processing."""
    seen = measured(door, plan, progress)
    progress("training a generator on what came out")
    return fitted(seen, {})


def refit_slices(measurements: tuple[Measurement, ...], plan: SlicesPlan, settings: Mapping[str, Any]) -> TableMixture:
    """Train anew on what was once released. Every question must be the one that schema and budget ask for."""
    if unknown := settings.keys() - SETTINGS.keys():
        raise RequestError(f"slices have no {', '.join(sorted(unknown))} to set; see `retrain`")
    return fitted(again(measurements, plan), settings)


def again(measurements: tuple[Measurement, ...], plan: SlicesPlan) -> Seen:
    """What was once released, all of it."""
    record = Record(measurements, alike)
    seen = measured(record, plan)
    record.must_be_left(())
    return seen


def measured(door: Door, plan: SlicesPlan, progress: Callable[[str], None] = lambda _: None) -> Seen:
    """All that is asked: the axes, pairs of axes, random directions."""
    progress("counting along every axis behind the door")
    one_way = measure_one_way(door, plan.tables, cut_target(door, plan.tables))
    progress("counting along every two axes behind the door")
    pairs = measure_pairs(door, plan.tables, one_way)
    progress("counting along random directions behind the door")
    along = measure_directions(door, plan, one_way)
    return Seen(plan.tables, one_way, evidence_of(one_way, pairs, along) if one_way.columns else None, pairs)
