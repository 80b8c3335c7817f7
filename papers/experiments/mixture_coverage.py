"""How often the intervals of a release hold the moments of the classes that nobody may see."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sfumato_papers.liu import fit

from experiments.cells import Cell, Figures, Results, table
from experiments.mixture_data import Records, parameters, released, synthetic
from experiments.mixture_real import available, real_records, split
from sfumato.artefact.release import Release
from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import FourierFeatures, Hampel, Shells
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import ClassSums

LEVEL = 0.9
EPSILONS = (1.0, 4.0)
KINDS = ("weight", "mean", "variance", "covariance")
HEAVY = "Scottish meters, raw"
DEVIATIONS = (1, 2, 4)  # between two classes
LABELS = "labels alone"
CASES = ("synthetic", HEAVY, LABELS)
GROUPS = {
    "synthetic": ("unresolved", "below 50 rows", "50 to 200 rows", "200 rows or more"),
    HEAVY: ("unresolved", "by scores", "by shells"),
    LABELS: tuple(f"classes {apart} deviations apart" for apart in DEVIATIONS),
}


def cells(quick: bool) -> Iterator[Cell]:
    heavy_is_there = bool(available([HEAVY]))
    for epsilon in EPSILONS:
        measure = partial(_held, synthetic, _by_size, epsilon)
        yield Cell("coverage", f"synthetic, epsilon {epsilon:g}", range(5 if quick else 120), measure, pooled=True)
        if heavy_is_there:
            measure = partial(_held, _heavy, _by_map, epsilon)
            yield Cell("coverage", f"{HEAVY}, epsilon {epsilon:g}", range(2 if quick else 20), measure, pooled=True)
        yield Cell(
            "coverage", f"{LABELS}, epsilon {epsilon:g}", range(1 if quick else 25), partial(_labels, epsilon), True
        )


def _labels(epsilon: float, seed: int) -> Figures:
    """Public features of two classes: the labels alone are hidden."""
    found: Figures = {}
    for apart, group in zip(DEVIATIONS, GROUPS[LABELS], strict=True):
        grouped = partial(_in_group, group)
        found |= _held(partial(_two_classes, apart), grouped, epsilon, seed, "label")
    return found


def _in_group(group: str, _: Release, records: Records) -> list[str]:
    return [group] * records.classes


def _two_classes(apart: float, seed: int, rows: int = 1_200) -> Records:
    """Two columns that go together, and classes whose means lie `apart` deviations from each other."""
    rng = np.random.default_rng([11, seed])
    label = (rng.random(rows) < 0.4).astype(np.int64)
    first = 0.4 * rng.standard_normal(rows) + 0.4 * apart * (label - 0.5)
    numbers = np.stack([first, 0.5 * first + 0.5 * rng.standard_normal(rows)], axis=1)
    return Records.clamped(numbers, label, 2, np.full(2, -5.0), np.full(2, 5.0))


def _heavy(seed: int) -> Records:
    return split(real_records(HEAVY), seed)[0]


def _by_size(release: Release, records: Records) -> list[str]:
    """By the number of rows of each class; a class too small for its noise is apart."""
    sizes = np.bincount(records.label, minlength=records.classes)
    group: IntArray = 1 + (sizes >= 50) + (sizes >= 200)
    return [GROUPS["synthetic"][0 if lost else place] for lost, place in zip(unresolved(release), group, strict=True)]


def _by_map(release: Release, _: Records) -> list[str]:
    """By what the class was looked at through last."""
    shells = [isinstance(one, Shells) for one in _sums(release.measurements[-1]).maps]
    return [
        "unresolved" if lost else "by shells" if heavy else "by scores"
        for lost, heavy in zip(unresolved(release), shells, strict=True)
    ]


def unresolved(release: Release) -> list[bool]:
    """Classes whose 95 % interval of the count begins below three standard deviations of its noise."""
    model = release.fitted
    if not isinstance(model, GaussianMixture):
        raise TypeError("only a mixture has draws of its counts")
    lost: list[bool] = (np.quantile(model.draws.counts, 0.025, axis=0) < 3 * _count_noise(release)).tolist()
    return lost


def _count_noise(release: Release) -> FloatArray:
    """The sd of each class's count by the constants of waves and scores alone, as add-remove asks for them."""
    precision: FloatArray = np.zeros(1)
    for answer in release.measurements:
        constants = [
            one.count / UNIT if isinstance(one, FourierFeatures) else one.w if isinstance(one, Hampel) else 0.0
            for one in _sums(answer).maps
        ]
        precision = precision + (np.array(constants) * UNIT / answer.sigma) ** 2
    return np.asarray(1 / np.sqrt(precision))


def _sums(answer: Measurement) -> ClassSums:
    if not isinstance(answer.statistic, ClassSums):
        raise TypeError("a mixture under add-remove asks for sums by class")
    return answer.statistic


def _held(
    data: Callable[[int], Records],
    grouped: Callable[[Release, Records], list[str]],
    epsilon: float,
    seed: int,
    adjacency: str = "add-remove",
) -> Figures:
    """How many intervals there are of each kind in each group, and how many hold the fit."""
    records = data(seed)
    release, _ = released(records, epsilon, adjacency)
    answer = release.parameters(LEVEL, output="arrow")
    low, high = (parameters(answer, end, records) for end in ("low", "high"))
    fitted, d = fit(records.numbers, records.label, records.classes), records.columns
    i, j = np.triu_indices(d)
    truth = np.hstack([fitted.weights[:, None], fitted.means, fitted.covariances[:, i, j]])
    holds = (low <= truth) & (truth <= high)
    kinds = np.array(["weight", *["mean"] * d, *np.where(i == j, "variance", "covariance")])
    found: Figures = {}
    for k, group in enumerate(grouped(release, records)):
        for kind in KINDS:
            mine = holds[k, kinds == kind]
            for name, count in ((f"{group}: {kind}", mine.size), (f"{group}: {kind} held", int(mine.sum()))):
                found[name] = found.get(name, 0) + count
    return found


def show(results: Results) -> str:
    rows = []
    for case in CASES:
        for epsilon in EPSILONS:
            found = results.find("coverage", f"{case}, epsilon {epsilon:g}")
            for group in GROUPS[case] if found else ():
                counts = found["figures"] if found else {}
                if f"{group}: weight" in counts:
                    shares = [counts[f"{group}: {kind} held"] / max(counts[f"{group}: {kind}"], 1) for kind in KINDS]
                    texts = [f"{share:.3f}" for share in shares]
                    rows.append([f"{case}, {group}", f"{epsilon:g}", *texts, counts[f"{group}: weight"]])
    title = f"Share of {LEVEL:.0%} intervals that hold the moments of the class's own records"
    return title + "\n" + table(["", "epsilon", *KINDS, "classes"], rows)
