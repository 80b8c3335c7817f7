"""The mechanisms by name: how each plans, releases, and fits anew what was once released."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import RequestError
from sfumato.fitting.mechanisms.mixture.plan import plan_mixture
from sfumato.fitting.mechanisms.mixture.release import refit_mixture, release_mixture
from sfumato.fitting.mechanisms.slices.plan import plan_slices
from sfumato.fitting.mechanisms.slices.release import refit_slices, release_slices
from sfumato.fitting.mechanisms.subspace.plan import plan_subspace
from sfumato.fitting.mechanisms.subspace.release import refit_subspace, release_subspace
from sfumato.fitting.mechanisms.tables.plan import plan_tables
from sfumato.fitting.mechanisms.tables.release import Fit, refit_tables, release_tables
from sfumato.fitting.models.model import Model
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.measurement import Door, Measurement
from sfumato.trusted.schema import Schema

Measurements = tuple[Measurement, ...]


@dataclass(frozen=True)
class Mechanism:
    """Three functions of one plan. Settings are what a user may choose of the plan, or of a fit, which is free."""

    plan: Callable[[Schema, Budget, Adjacency, Mapping[str, Any]], Any]
    release: Callable[[Door, Any, Callable[[str], None]], Model]
    refit: Callable[[Measurements, Any, Mapping[str, Any], Batch | None], Model]


def _plan_tables(schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]) -> Any:  # noqa: ARG001
    return plan_tables(schema, budget, adjacency)


def _plan_mixture(schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]) -> Any:
    return plan_mixture(schema, budget, adjacency, settings.get("components"))


def _plan_subspace(schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]) -> Any:  # noqa: ARG001
    return plan_subspace(schema, budget, adjacency)


def _plan_slices(schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]) -> Any:  # noqa: ARG001
    return plan_slices(schema, budget, adjacency)


def _refit_tables(measurements: Measurements, plan: Any, settings: Mapping[str, Any], _: Batch | None) -> Model:
    return refit_tables(measurements, plan, Fit(**settings))


def _refit_mixture(measurements: Measurements, plan: Any, settings: Mapping[str, Any], features: Batch | None) -> Model:
    if settings.keys() - {"components"} or (settings and plan.search is None):
        raise RequestError(f"a mixture has nothing to set, and {', '.join(settings)} was given; see `action`")
    return refit_mixture(measurements, plan, features)


def _refit_subspace(measurements: Measurements, plan: Any, settings: Mapping[str, Any], _: Batch | None) -> Model:
    if settings:
        raise RequestError(f"a subspace has nothing to set, and {', '.join(settings)} was given")
    return refit_subspace(measurements, plan)


def _refit_slices(measurements: Measurements, plan: Any, settings: Mapping[str, Any], _: Batch | None) -> Model:
    return refit_slices(measurements, plan, settings)


MECHANISMS: Mapping[str, Mechanism] = {
    "tables": Mechanism(_plan_tables, release_tables, _refit_tables),
    "mixture": Mechanism(_plan_mixture, release_mixture, _refit_mixture),
    "subspace": Mechanism(_plan_subspace, release_subspace, _refit_subspace),
    "slices": Mechanism(_plan_slices, release_slices, _refit_slices),
}
