"""The same release with another model of the same measurements, at no cost in privacy."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.fitting.mechanisms.mechanism import find_mechanism, restore_plan
from sfumato.fitting.retraining.tuning import RETRAINING_TUNING
from sfumato.fitting.tuning import current_constants, plain_constants, stored_constants

if TYPE_CHECKING:
    from sfumato.artefact.release import Release
    from sfumato.fitting.generators import Epoch
    from sfumato.fitting.generators.networks import CustomGenerator


def refit_release(release: "Release", settings: Mapping[str, Any]) -> "Release":
    """See `Release.refit`."""
    name = release.statement.mechanism
    plan, constants = restore_plan(release.plan, name, release.measured, release.statement.adjacency)
    with stored_constants(constants):
        model = find_mechanism(name).refit(release.modelling, plan, settings)
    again = replace(release, fitted=model, fit_constants=None)
    action = getattr(release.fitted, "action", None)
    return again.estimate(action) if action else again


def retrain_release(
    release: "Release",
    generator: "str | CustomGenerator",
    epochs: int,
    seed: int,
    divergence: str,
    progress: "Callable[[Epoch], None]",
    checkpoint: str | Path | None,
    device: str,
) -> "Release":
    """See `Release.retrain`."""
    from sfumato.fitting.retraining.retrain import retrain_model

    name = release.statement.mechanism
    plan, constants = restore_plan(release.plan, name, release.measured, release.statement.adjacency)
    settings = {"generator": generator} if isinstance(generator, str) else {}
    constants = {**constants, **current_constants(RETRAINING_TUNING)}
    with stored_constants(constants):
        model = retrain_model(
            find_mechanism(name),
            plan,
            release.measured,
            release.modelling,
            {**settings, "epochs": epochs, "seed": seed, "divergence": divergence},
            None if isinstance(generator, str) else generator,
            progress,
            None if checkpoint is None else Path(checkpoint),
            device,
        )
    return replace(release, fitted=model, fit_constants=plain_constants(constants))
