"""Training: any number of epochs, restarts and architectures, all of them free. Public values only.

An epoch is one look at everything that was released. Every so often the generator is checked on slices that it does not
learn from; when these have not come nearer for long, training stops, and what was best counts.
"""

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.devices import check_device, torch_or_error
from sfumato.fitting.generators.checkpoints import Checkpoint
from sfumato.fitting.generators.columnwise import Tensor
from sfumato.fitting.generators.divergence import CHI_SQUARED
from sfumato.fitting.generators.evidence import Evidence
from sfumato.fitting.generators.factory import build_generator, check, draw_records, set_training
from sfumato.fitting.generators.loss import Loss
from sfumato.fitting.generators.networks import LATENT, CustomGenerator
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray


class Tuning(TuningConstants, group="generators.training"):
    """See `sfumato.fitting.tuning`."""

    rate = 1e-2
    warm = 0.05
    steepest = 10.0  # slope of the loss, for each cell of the evidence; steeper ones are shortened
    epochs_between_checks = 25
    patience = 8  # judgements without a better one, after which training stops
    latents = 256  # points of each class
    fewest_latents = 16
    most_latents = 4_096  # of all classes together, as long as each has the fewest
    most = 1 << 22  # numbers in the rectangle of all columns in an epoch: a bound on time and memory
    most_along = 1 << 23  # numbers that directions take in an epoch: one for each column, and one for each bin


MOST_EPOCHS = 100_000


class Epoch(NamedTuple):
    """How far training has come: the loss, and that of the slices held back, where it was computed."""

    number: int
    of: int
    loss: float
    held_back: float | None


@dataclass(frozen=True, eq=False)
class Trained:
    """A generator read at its latent points: weight, class and the distribution of every column of each."""

    weights: FloatArray
    owner: IntArray
    theta: FloatArray


def train(
    seen: Evidence,
    generator: str | CustomGenerator,
    epochs: int,
    seed: int,
    progress: Callable[[Epoch], None] = lambda _: None,
    shape: tuple[int, int] | None = None,
    checkpoint: Path | None = None,
    device: str = "cpu",
    divergence: str = CHI_SQUARED,
) -> Trained:
    """Fit a generator to the evidence.

    generator    the name of one that the library brings; or one that has `sample(z)` and `parameters()`, of which a
                 copy is trained; or a class or function that makes one for a layout
    seed         of all chance that torch has, such as starting weights, latent points and dropout: the same seed, the
                 same result on the same machine
    shape        height and width, where the columns are one image
    checkpoint   a file in which training is kept every so often, and from which it goes on after it was stopped
    device       "cuda" where there is one: faster for images, and other last digits
    divergence   a name of `divergence.DIVERGENCES`
    """
    torch = torch_or_error()
    epochs, seed = whole_numbers(epochs, seed)
    check_device(device)
    with seeded(torch, seed):
        objective = Loss(seen, device, divergence)
        z, owner = _latents(torch, seen, device)
        network = build_generator(generator, seen.layout, shape)
        if hasattr(network, "to"):
            network = network.to(device)
        check(network, z[:2], seen.layout)
        name = generator if isinstance(generator, str) else type(network).__name__
        asked = {"generator": name, "epochs": epochs, "seed": seed, "divergence": divergence}
        run = {**asked, "evidence": seen.fingerprint}
        kept = partial(Checkpoint, checkpoint, run, network)
        _run(objective, network, z, owner, epochs, progress, kept)
        set_training(network, False)
        with torch.no_grad():
            raw = draw_records(network, z)
            if isinstance(generator, str):  # whatever the release holds, there is a model: at worst the marginals
                raw = torch.where(torch.isfinite(raw).all(), raw, torch.zeros_like(raw))
            theta = objective.theta(objective.logits(raw, owner)).cpu().numpy().astype(np.float64)
    if not np.isfinite(theta).all():
        raise RequestError("the generator gives numbers that are not finite; train another")
    classes = owner.cpu().numpy().astype(np.int64)
    weights = (seen.totals / seen.size / np.bincount(classes))[classes]
    return Trained(weights / weights.sum(), classes, theta)


def whole_numbers(epochs: int, seed: int) -> tuple[int, int]:
    """Epochs and seed as plain numbers, of whatever kind they are; what is none is refused."""
    try:
        if bool in (type(epochs), type(seed)):
            raise TypeError  # noqa: TRY301 - said once, below
        asked = operator.index(epochs), operator.index(seed)
    except TypeError:
        raise RequestError("epochs and seed must be whole numbers") from None
    if not (1 <= asked[0] <= MOST_EPOCHS and 0 <= asked[1] < 2**63):
        raise RequestError(
            f"{epochs} epochs with seed {seed} were asked for; there must be 1 to {MOST_EPOCHS:,}, and a seed from 0 on"
        )
    return asked


def _run(
    objective: Loss,
    network: Any,
    z: Tensor,
    owner: Tensor,
    epochs: int,
    progress: Callable[[Epoch], None],
    checkpoint: Callable[[Any], Checkpoint],
) -> None:
    """Adam with a short warm-up and a cosine to zero; the best state by the slices held back is what stays."""
    import torch

    parameters = list(network.parameters())
    optimizer = torch.optim.Adam(parameters, lr=Tuning.rate)
    kept = checkpoint(optimizer)
    losses = kept.load()
    for number, done in enumerate(losses, start=1):
        progress(Epoch(number, epochs, *done))
    warm = max(1, int(Tuning.warm * epochs))
    for number in range(len(losses), epochs):
        if kept.waited >= Tuning.patience and number * 2 > epochs:
            break
        rate = min((number + 1) / warm, 0.5 * (1 + math.cos(math.pi * max(0, number - warm) / max(1, epochs - warm))))
        for group in optimizer.param_groups:
            group["lr"] = Tuning.rate * rate
        set_training(network, True)
        loss = objective.loss(objective.logits(draw_records(network, z), owner), owner)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, Tuning.steepest * objective.cells)
        optimizer.step()
        due = (number + 1) % Tuning.epochs_between_checks == 0 or number + 1 == epochs
        held_back_loss = _held_back_loss(objective, network, z, owner) if due else None
        losses.append((float(loss.detach()), held_back_loss))
        if held_back_loss is not None:
            kept.save(losses, held_back_loss)
        progress(Epoch(number + 1, epochs, *losses[-1]))
    kept.restore_best()


def _held_back_loss(objective: Loss, network: Any, z: Tensor, owner: Tensor) -> float:
    import torch

    set_training(network, False)
    with torch.no_grad():
        logits = objective.logits(draw_records(network, z), owner)
        return float(objective.loss(logits, owner, held_back=True))


def latents_of_a_class(seen: Evidence) -> int:
    """As many as keep an epoch short and small, of however many classes, columns, groups and bins."""
    sizes, along = seen.layout.sizes, seen.histograms
    most = min(Tuning.most_latents, Tuning.most // (len(sizes) * max(sizes)))
    if along is not None:
        directions, bins = along.shares.shape[:2]
        most = min(most, Tuning.most_along // (directions * (len(sizes) + bins)))
    if seen.waves is not None:
        most = min(most, Tuning.most_along // (2 * len(seen.waves.angles) * len(sizes)))
    return int(np.clip(most // seen.classes, Tuning.fewest_latents, Tuning.latents))


def _latents(torch: Any, seen: Evidence, device: str) -> tuple[Tensor, Tensor]:
    """Latent points of every class, those of one class the same as those of another, and the class of each."""
    each = latents_of_a_class(seen)
    normal = torch.randn(each, LATENT)
    owner = torch.arange(seen.classes).repeat_interleave(each)
    one_hot = torch.nn.functional.one_hot(owner, seen.classes).float()
    return torch.cat((normal.repeat(seen.classes, 1), one_hot), dim=1).to(device), owner.to(device)


@contextmanager
def seeded(torch: Any, seed: int) -> Iterator[None]:
    """Inside, torch draws what the seed decides; outside it goes on as if nothing had been drawn."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
