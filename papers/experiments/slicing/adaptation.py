"""Unsupervised domain adaptation between MNIST and USPS: accuracy against epsilon.

The labelled set is public. Of the other set slices are released, once; its labels are not used. A translator, a turn
and stretch of the image with a small convolutional correction, learns to make images whose slices are the released
ones; a classifier learns from translated images with their labels, and is tested on the other set's test images.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.clustmix.runs import Kept, Run
from experiments.slicing.images import SIDE, Digits, digits
from experiments.slicing.slices_of_images import Public, Released, ours, published, slice_wass
from experiments.slicing.table import shown
from sfumato.trusted.arrays import FloatArray, IntArray

PART = "digits: "
PAIRS = (("MNIST", "USPS"), ("USPS", "MNIST"))
EPSILONS = (0.2, 1.0, 5.0, math.inf)
SOURCE_ONLY, SLICE_WASS, EXACT, PUBLISHED = "source only", "SliceWass", "SliceWass, exact noise", "slicing as published"
OURS = "slices"
METHODS = (SOURCE_ONLY, SLICE_WASS, EXACT, PUBLISHED, OURS)
SEEDS = 3
STEPS, QUICK_STEPS = 2_000, 60
BATCH = 256
QUICK_IMAGES = 1_000
RATE, CLASSES = 2e-3, 10
MATCHING = 10.0  # weight of the slices against the labels
LEAST = 1e-4  # variance of a slice, where all images are alike along it
Tensor = Any


def task_of(source: str, target: str, epsilon: float | None) -> str:
    """The name of a row of the results; nothing is released where there is no epsilon."""
    return f"{PART}{source} to {target}" + ("" if epsilon is None else f", {epsilon:g}")


def runs(methods: Sequence[str], seeds: int, quick: bool) -> list[Run]:
    """All of them; quickly, one pair at one epsilon."""
    found = []
    for source, target in PAIRS[: 1 if quick else None]:
        for method in methods:
            several = (None,) if method == SOURCE_ONLY else (1.0,) if quick else EPSILONS
            found += [
                Run(task_of(source, target, epsilon), method, seed) for epsilon in several for seed in range(seeds)
            ]
    return found


def measured(run: Run, quick: bool, folder: Path | None) -> float:
    """The accuracy of one run."""
    sets, _, epsilon = run.task.removeprefix(PART).partition(", ")
    source, target = (digits(name, folder) for name in sets.split(" to "))
    if quick:
        source, target = (one.first(QUICK_IMAGES) for one in (source, target))
    public = Public.of(source.X.astype(np.float64))
    found = None
    if run.method != SOURCE_ONLY:
        found = released_of(run, source, target, public, float(epsilon), folder)
    apart = DISTANCES.get(run.method, wasserstein)
    return adapted(source, target, public, found, run.seed, QUICK_STEPS if quick else STEPS, apart)


def released_of(
    run: Run, source: Digits, target: Digits, public: Public, epsilon: float, folder: Path | None = None
) -> Released:
    """The slices of the private images by the method of a run, or those that `export` has written."""
    made = folder / file_of(run) if folder else None
    if made and made.exists():
        return Released.load(made)
    return releases(source, public)[run.method](target.X.astype(np.float64), epsilon, run.seed)


def releases(source: Digits, public: Public) -> dict[str, Callable[[FloatArray, float, int], Released]]:
    """From private images, an epsilon and a seed to slices; all else is public."""
    known = source.X.astype(np.float64)
    return {
        SLICE_WASS: lambda target, epsilon, seed: slice_wass(target, public, epsilon, seed, exact=False),
        EXACT: lambda target, epsilon, seed: slice_wass(target, public, epsilon, seed, exact=True),
        PUBLISHED: lambda target, epsilon, seed: published(target, public, epsilon, seed),
        OURS: lambda target, epsilon, seed: ours(target, known, public, epsilon, seed),
    }


def file_of(run: Run) -> str:
    """Where the release of a run lies among exported arrays."""
    return f"{run.task.removeprefix(PART)} {run.method} {run.seed}.npz".replace(",", "").replace(" ", "_")


def export(folder: Path) -> None:
    """Both sets, and our releases: the machine that trains has neither the data nor what a release needs."""
    for pair in PAIRS:
        digits(pair[0]).save(folder / f"{pair[0]}.npz")
    for run in runs((OURS,), SEEDS, quick=False):
        sets, _, epsilon = run.task.removeprefix(PART).partition(", ")
        source, target = (digits(name) for name in sets.split(" to "))
        public = Public.of(source.X.astype(np.float64))
        released_of(run, source, target, public, float(epsilon)).save(folder / file_of(run))


Distance = Callable[[Tensor, Tensor], Tensor]
"""From slices of made images and released ones, images x slices, to what should be small."""


def adapted(
    source: Digits,
    target: Digits,
    public: Public,
    found: Released | None,
    seed: int,
    steps: int,
    apart: Distance | None = None,
) -> float:
    """Accuracy on test images of the other set; without a release the translator does nothing."""
    import torch
    from sfumato_papers.baselines.networks import descend, seeded, tensor

    from experiments.slicing.translation import classifier, translator

    rng = np.random.default_rng(seed)
    images, labels = _pictures(source.X), tensor(source.y)
    with seeded(rng):
        translate, classify = translator(), classifier(CLASSES)
        networks = {"params": [*classify.parameters(), *translate.correct.parameters()]}
        optimizer = torch.optim.Adam([networks, {"params": [translate.place], "lr": 10 * RATE}], lr=RATE)
        slowing = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        match = matching(found, public, apart or wasserstein) if found else None
        for _ in range(steps):
            some = tensor(rng.integers(len(labels), size=BATCH))
            moved = translate(images[some]) if match else images[some]
            loss = torch.nn.functional.cross_entropy(classify(moved), labels[some])
            descend(optimizer, loss + MATCHING * match(moved) if match else loss)
            slowing.step()
        return _accuracy(classify, _pictures(target.test_X), target.test_y)


def matching(found: Released, public: Public, apart: Distance) -> Callable[[Tensor], Tensor]:
    """From images to how far their slices, with the noise of the release, are from what was released."""
    import torch
    from sfumato_papers.baselines.networks import tensor

    directions, centre = tensor(found.directions), tensor(public.centre)
    places = ((np.arange(BATCH) + 0.5) / BATCH * len(found.quantiles)).astype(np.int64)
    wanted = tensor(found.quantiles[places])

    def match(images: Tensor) -> Tensor:
        slices = (images.flatten(1) - centre) / public.radius @ directions
        slices = slices + found.noise * torch.randn_like(slices) if found.noise else slices
        return apart(slices, wanted)

    return match


def wasserstein(made: Tensor, wanted: Tensor) -> Tensor:
    """The squared sliced Wasserstein distance, in units of the spread of each slice."""
    spread = wanted.var(dim=0).clamp_min(LEAST)
    return ((made.sort(dim=0).values - wanted) ** 2 / spread).mean()


def smoothed_divergence(made: Tensor, wanted: Tensor) -> Tensor:
    """The divergence that the slicing paper trains by, each slice in units of its own spread; only its slope counts."""
    from sfumato_papers.slicing.divergence import divergence_called, loss
    from sfumato_papers.slicing.sliced_divergence import ESTIMATORS, SlicedDivergence

    method = SlicedDivergence()
    spread = wanted.var(dim=0).clamp_min(LEAST).sqrt()
    kinds = (divergence_called(method.divergence), ESTIMATORS[method.fit], method.gradient)
    return loss(*kinds, (made / spread).T, (wanted / spread).T, 1.0)


DISTANCES: dict[str, Distance] = {PUBLISHED: smoothed_divergence}
"""Of methods that do not compare quantiles."""


def _pictures(rows: Any) -> Tensor:
    """Images as networks take them."""
    from sfumato_papers.baselines.networks import tensor

    return tensor(rows).reshape(-1, 1, SIDE, SIDE)


def _accuracy(classify: Any, images: Tensor, labels: IntArray) -> float:
    import torch

    classify.eval()
    with torch.no_grad():
        told = torch.cat([classify(some).argmax(dim=1) for some in images.split(2_000)])
    return float((told.cpu().numpy() == labels).mean())


def lines(kept: Kept) -> list[list[str]]:
    """A row for each pair and epsilon; the classifier of the source alone has none."""
    rows = []
    for source, target in PAIRS:
        for epsilon in EPSILONS:
            name = "infinite" if math.isinf(epsilon) else f"{epsilon:g}"
            rows.append([f"{source} to {target}, epsilon {name}", *_cells(kept, source, target, epsilon)])
    return rows


def _cells(kept: Kept, source: str, target: str, epsilon: float) -> list[str]:
    cells = []
    for method in METHODS:
        task = task_of(source, target, None if method == SOURCE_ONLY else epsilon)
        found = kept.of(task, method)
        cells.append(shown(found) if found else kept.why_not(task, method))
    return cells
