"""Classes that overlap, or are no Gaussians: what hiding whole records costs, and what hiding labels alone.

Digits in five directions and load profiles in six classes, as the paper has them. `replace` implies `label`.
"""

from collections.abc import Callable, Iterator
from functools import partial

from experiments.cells import Cell, Results, shown, table
from experiments.liu.data import digits, load_profiles
from experiments.mixture_accuracy import private
from experiments.mixture_data import Records

PART = "adjacencies"
ADJACENCIES = ("add-remove", "replace", "label")
EPSILONS, SEEDS = (0.5, 1.0, 4.0), 7
TABLES: dict[str, Callable[[int], Records]] = {
    "digits in 5 directions": lambda seed: digits(500 + seed).training,
    "load profiles in 6 classes": lambda _: load_profiles(),
}


def measure(name: str, adjacency: str, epsilon: float, seed: int) -> dict[str, float]:
    return private(TABLES[name](seed), epsilon, adjacency)


def cells(quick: bool) -> Iterator[Cell]:
    for name in TABLES:
        for epsilon in (1.0,) if quick else EPSILONS:
            for adjacency in ADJACENCIES:
                run = partial(measure, name, adjacency, epsilon)
                yield Cell(PART, _case(name, adjacency, epsilon), range(1 if quick else SEEDS), run)


def _case(name: str, adjacency: str, epsilon: float) -> str:
    return f"{name}, {adjacency}, epsilon {epsilon:g}"


def show(results: Results) -> str:
    rows = [
        [f"{name}, epsilon {epsilon:g}"]
        + [shown(results.figure(PART, _case(name, adjacency, epsilon), "kl")) for adjacency in ADJACENCIES]
        for name in TABLES
        for epsilon in EPSILONS
        if results.find(PART, _case(name, ADJACENCIES[0], epsilon))
    ]
    return "median KL(released || fit) in nats (quartiles), by what is hidden\n" + table(["", *ADJACENCIES], rows)
