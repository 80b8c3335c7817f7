"""How far a released mixture is from the fit of the same records: by epsilon, and by the size of the task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from sfumato_papers.liu import Mixture, divergence, fit

from experiments import mixture_study as study
from experiments.cells import Cell, Figures, Results, shown, table
from experiments.mixture_data import Records, iris, mixture_of, released, synthetic
from experiments.mixture_rivals import as_published, box_moments

EPSILONS = study.EPSILONS
UNSEEN = 1000  # data sets from here on were used for no choice
NAIVE, PUBLISHED = "naive, add-remove", "as published (leave), not private"
AXES: Mapping[str, tuple[int, ...]] = {
    "rows": (500, 1000, 2000, 10_000, 100_000),
    "classes": (2, 5, 10, 20),
    "columns": (1, 2, 3, 5, 8, 12),
    "bounds": (1, 10, 100),
}
BOUNDS_EPSILONS = (1.0, 4.0)
MANY = 10_000  # rows, where classes and columns vary


def apart(found: Mixture, records: Records) -> Figures:
    """KL(released || fit) in nats, and what of it is due to the weights."""
    distance = divergence(found, fit(records.numbers, records.label, records.classes))
    return {"kl": distance.total, "of weights": distance.weights}


def private(records: Records, epsilon: float, adjacency: str) -> Figures:
    release, seconds = released(records, epsilon, adjacency)
    return {**apart(mixture_of(release, records), records), "seconds": seconds}


def by_method(method: str, epsilon: float, data: Callable[[int], Records], seed: int) -> Figures:
    records = data(seed)
    if method == NAIVE:
        return apart(box_moments(records, epsilon), records)
    if method == PUBLISHED:
        return apart(as_published(records, epsilon, seed), records)
    return private(records, epsilon, method)


def main_cells(quick: bool) -> Iterator[Cell]:
    """N = 1000, K = 5, d = 3, on the data sets of the study; its label figures are of those from 0 on."""
    for method in study.MAIN:
        first = 0 if method == "label" else UNSEEN
        count = 4 if quick and method == "label" else 40
        times = 3 if method in ("add-remove", "replace") and not quick else 1  # with other noise each time
        for epsilon in EPSILONS:
            seeds = [*range(first, first + count)] * times
            yield Cell("main", f"{method}, epsilon {epsilon:g}", seeds, partial(by_method, method, epsilon, synthetic))


def iris_cells(quick: bool) -> Iterator[Cell]:
    """150 rows, 3 classes, 4 columns: the noise alone varies."""
    for method in study.IRIS:
        for epsilon in EPSILONS:
            measure = partial(by_method, method, epsilon, lambda _: iris())
            yield Cell("iris", f"{method}, epsilon {epsilon:g}", range(5 if quick else 20), measure)


def scaling_cells(quick: bool) -> Iterator[Cell]:
    """Epsilon 1, add-remove; for the bounds epsilon 4 too."""
    for axis, values in AXES.items():
        for value in values:
            if quick and value in (8, 12) and axis == "columns":
                continue
            slow = value >= (8 if axis == "columns" else 20_000)
            seeds = range(3 if quick else 10 if slow else 20)
            for epsilon in BOUNDS_EPSILONS if axis == "bounds" else (1.0,):
                yield Cell("scaling", scaling_case(axis, value, epsilon), seeds, partial(_scaled, axis, value, epsilon))


def scaling_case(axis: str, value: int, epsilon: float = 1.0) -> str:
    return f"{axis} {value}, epsilon {epsilon:g}"


def _scaled(axis: str, value: int, epsilon: float, seed: int) -> Figures:
    task: dict[str, Callable[[], Records]] = {
        "rows": lambda: synthetic(seed, rows=value),
        "classes": lambda: synthetic(seed, rows=MANY, classes=value),
        "columns": lambda: synthetic(seed, rows=MANY, columns=value),
        "bounds": lambda: synthetic(seed, wider=value),
    }
    records = task[axis]()
    naive = apart(box_moments(records, epsilon), records)["kl"]
    return {**private(records, epsilon, "add-remove"), "naive": naive}


def show_main(results: Results) -> str:
    title = "N = 1000, K = 5, d = 3: median KL(released || fit) in nats (quartiles), delta = 1e-5"
    return by_epsilon(results, "main", title, study.MAIN)


def show_iris(results: Results) -> str:
    return by_epsilon(results, "iris", "Iris: median KL(released || fit) in nats (quartiles)", study.IRIS)


def by_epsilon(results: Results, part: str, title: str, known: Mapping[str, Sequence[float]]) -> str:
    """A row for each method, the study's figures below it and the ratio to them."""
    rows: list[list[str]] = []
    for method, figures in known.items():
        cases = [f"{method}, epsilon {epsilon:g}" for epsilon in EPSILONS]
        found = results.find(part, cases[0])
        count = f" [{found['data sets']}]" if found else ""
        rows.append([method + count, *(shown(results.figure(part, case, "kl")) for case in cases)])
        rows.append(["  study, for reference", *(f"{figure:.3g}" for figure in figures)])
        ratios = [results.median(part, case, "kl") / figure for case, figure in zip(cases, figures, strict=True)]
        rows.append(["  ratio to the study", *(f"{ratio:.2f}" for ratio in ratios)])
    return title + "; [data sets]\n" + table(["", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)], rows)


def show_scaling(results: Results) -> str:
    known: Mapping[str, Mapping[int, float]] = {"rows": study.ROWS, "columns": study.COLUMNS}
    rows = []
    for axis, values in AXES.items():
        for epsilon in BOUNDS_EPSILONS if axis == "bounds" else (1.0,):
            reference = study.BOUNDS[epsilon] if axis == "bounds" else known.get(axis, {})
            for value in values:
                case = scaling_case(axis, value, epsilon)
                names = ("kl", "naive", "seconds")
                figures = [shown(results.figure("scaling", case, name)) for name in names]
                rows.append([case, *figures, f"{reference[value]:.3g}" if value in reference else ""])
    title = f"Epsilon 1, add-remove: rows (K 5, d 3), classes (N {MANY}), columns (N {MANY}), bounds (N 1000)"
    return title + "\n" + table(["", "KL", "naive", "CPU s", "study"], rows)
