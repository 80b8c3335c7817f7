"""Fit: from evidence to a trained generator, and from it to a model that answers. Post-processing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.fitting.generators.divergence import CHI_SQUARED
from sfumato.fitting.generators.networks import CustomGenerator
from sfumato.fitting.generators.training import Epoch, train, whole_numbers
from sfumato.fitting.mechanisms.counts.assembly import assemble_mixture
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.retraining.evidence import TrainingData
from sfumato.fitting.retraining.labelling import with_labeller

SETTINGS: Mapping[str, Any] = {"generator": "mlp", "epochs": 1_000, "seed": 0, "divergence": CHI_SQUARED}
"""How a generator is trained unless something else is asked for."""
OWN = "own"
"""The name of a generator that the library does not bring."""


def fit_generator(
    seen: TrainingData,
    settings: Mapping[str, Any],
    generator: CustomGenerator | None = None,
    shape: tuple[int, int] | None = None,
    progress: Callable[[Epoch], None] = lambda _: None,
    checkpoint: Path | None = None,
    device: str = "cpu",
) -> TableMixture:
    """Train, and add what the release tells of the target beyond the distribution of its records."""
    density = train_density(seen, settings, generator, shape, progress, checkpoint, device)
    if seen.evidence is None:
        return density
    if seen.adapt is not None:
        return seen.adapt(density)
    return with_labeller(density, seen.plan, seen.one_way, seen.pairs, seen.gradients)


def train_density(
    seen: TrainingData,
    settings: Mapping[str, Any],
    generator: CustomGenerator | None = None,
    shape: tuple[int, int] | None = None,
    progress: Callable[[Epoch], None] = lambda _: None,
    checkpoint: Path | None = None,
    device: str = "cpu",
) -> TableMixture:
    """Train, and read the generator at its latent points: a mixture of products, which answers whatever is asked.

    `generator` is one of the user's own, in place of the one that the settings name.
    """
    one_way = seen.one_way
    if seen.evidence is None:
        weights, owner = one_way.totals / one_way.size, np.arange(one_way.classes.count)
        return assemble_mixture(seen.plan, one_way, weights, [], owner, {})
    settings = {**SETTINGS, **settings, **({} if generator is None else {"generator": OWN})}
    epochs, seed = whole_numbers(settings["epochs"], settings["seed"])
    settings |= {"epochs": epochs, "seed": seed}  # as a bundle can keep them
    trained = train(
        seen.evidence,
        settings["generator"] if generator is None else generator,
        epochs,
        seed,
        progress,
        shape,
        checkpoint,
        device,
        settings["divergence"],
    )
    starts = np.cumsum(seen.evidence.layout.sizes)[:-1]
    thetas = [part / part.sum(axis=1, keepdims=True) for part in np.split(trained.theta, starts, axis=1)]
    return assemble_mixture(
        seen.plan,
        one_way,
        trained.weights,
        thetas,
        trained.owner,
        settings,
        ties={} if seen.pairs is None else seen.pairs.ties,
    )
