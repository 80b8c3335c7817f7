"""The census table: for each figure every method on every task, and the mean over tasks."""

import statistics
from collections.abc import Sequence

from experiments.clustmix.runs import Kept, Run

TASKS = ("Income", "Coverage", "Employment", "Adult", "Readmission")
RIVALS = ("DP-MERF", "DP-SGD GAN", "PATE-GAN")
SLICED = ("SliceWass", "SliceWass, exact noise", "slicing as published")
OURS = ("slices", "tables", "mixture")
METHODS = ("Real", *RIVALS, *SLICED, *OURS)
NUMBERS_ONLY = "mixture"
SEEDS = 3


def runs(tasks: Sequence[str], methods: Sequence[str], seeds: int) -> list[Run]:
    """All five tables have categories, for which a mixture of Gaussians has no place: it is never run."""
    kept = [method for method in methods if method != NUMBERS_ONLY]
    return [Run(task, method, seed) for method in kept for task in tasks for seed in range(seeds)]


def shown(found: Sequence[float]) -> str:
    """The mean over seeds, and their standard deviation."""
    spread = f" ± {statistics.stdev(found):.3f}" if len(found) > 1 else ""
    return f"{statistics.mean(found):.3f}{spread}"


def cell(kept: Kept, task: str, metric: str, method: str) -> str:
    """A figure, or why there is none."""
    found = kept.of(f"{task}/{metric}", method)
    if found:
        return shown(found)
    if method == NUMBERS_ONLY:
        return "not run: categories"
    return "not defined" if kept.of(task, method) else kept.why_not(task, method)


def mean_over_tasks(kept: Kept, metric: str, method: str) -> float | None:
    """Over the tasks where the figure is defined and the method has run."""
    found = [
        statistics.mean(kept.of(f"{task}/{metric}", method)) for task in TASKS if kept.of(f"{task}/{metric}", method)
    ]
    return statistics.mean(found) if found else None


def over_tasks(kept: Kept, metric: str, method: str) -> str:
    """That mean, and of how many tasks it is if not of all."""
    mean = mean_over_tasks(kept, metric, method)
    if mean is None:
        return ""
    run, defined = (sum(bool(kept.of(f"{task}/{metric}", name)) for task in TASKS) for name in (method, "Real"))
    return f"{mean:.3f}" + ("" if run == max(defined, 1) else f" ({run} tasks)")


def lines(kept: Kept, metric: str, tasks: Sequence[str], methods: Sequence[str] = METHODS) -> list[list[str]]:
    """A row for each task, and the mean."""
    rows = [[task, *(cell(kept, task, metric, method) for method in methods)] for task in tasks]
    return [*rows, ["mean", *(over_tasks(kept, metric, method) for method in methods)]]
