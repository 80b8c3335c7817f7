"""Table 1: every method on every task, and how far each stays behind the real rows."""

import statistics
from collections.abc import Sequence

from experiments.clustmix.runs import Kept, Run
from experiments.clustmix.search import TRIES

TASKS = ("adult", "census", "credit", "isolet", "icu mortality", "length of stay", "mnist")
RIVALS = ("DPMix", "DP-MERF", "DP-GAN", "PATE-GAN", "PATE-GAN to the letter", "ADS-GAN", "ADS-GAN to the letter")
READINGS = ("ClustMix, printed", "ClustMix, per feature", "ClustMix, none")
PROVEN = ("proven, rows", "proven, itself")
METHODS = ("Real", *RIVALS, *READINGS, *PROVEN)
SEEDS = 3
PAPER = {  # Real, DP-MERF, DP-GAN, PATE-GAN, ADS-GAN, ClustMix; hospital tasks are others
    "adult": (0.931, 0.650, 0.511, 0.732, 0.821, 0.863),
    "census": (0.952, 0.686, 0.529, 0.544, 0.856, 0.906),
    "credit": (0.973, 0.772, 0.435, 0.739, 0.911, 0.969),
    "isolet": (0.988, 0.547, 0.618, 0.529, 0.924, 0.903),
    "mnist": (0.972, 0.650, 0.403, 0.563, 0.710, 0.818),
}
PAPERS_COLUMNS = ("Real", "DP-MERF", "DP-GAN", "PATE-GAN", "ADS-GAN", "ClustMix")
PAPERS_GAP = 0.087


def runs(tasks: Sequence[str], methods: Sequence[str], seeds: int) -> list[Run]:
    """Seed by seed, so that a run that is stopped has something of every task."""
    return [Run(task, method, seed) for seed in range(seeds) for task in tasks for method in methods]


def gap(kept: Kept, method: str) -> str:
    """The mean over tasks of how far a method stays behind the real rows, where it has run."""
    behind = [
        statistics.mean(kept.of(task, "Real")) - statistics.mean(kept.of(task, method))
        for task in TASKS
        if kept.of(task, method) and kept.of(task, "Real")
    ]
    return f"{statistics.mean(behind):.3f}" + ("" if len(behind) == len(TASKS) else f" ({len(behind)} tasks)")


def cell(kept: Kept, task: str, method: str) -> str:
    found = kept.of(task, method)
    if not found:
        return kept.why_not(task, method)
    spread = f" ± {statistics.stdev(found):.3f}" if len(found) > 1 else ""
    return f"{statistics.mean(found):.3f}{spread}{_marks(kept, task, method, len(found))}"


def _marks(kept: Kept, task: str, method: str, seeds: int) -> str:
    """What a cell has to say that was not run as all the others are: another number of tries, or of seeds."""
    marks = [f"of {tries}" for tries in sorted(kept.tries(task, method) - {TRIES})]
    marks += [f"seeds: {seeds}"] if seeds != SEEDS else []
    return f" ({', '.join(marks)})" if marks else ""


def lines(kept: Kept, tasks: Sequence[str]) -> list[list[str]]:
    """The table: a row for each task with the paper's figures below it, and the mean gap."""
    rows = []
    for task in tasks:
        rows.append([task, *(cell(kept, task, method) for method in METHODS)])
        if task in PAPER:
            theirs = dict(zip(PAPERS_COLUMNS, PAPER[task], strict=True))
            names = [method.split(",")[0].removesuffix(" to the letter") for method in METHODS]
            rows.append(["*paper*", *(f"*{theirs[name]:.3f}*" if name in theirs else "" for name in names)])
    if any(kept.of(task, "Real") for task in TASKS):
        ran = [method for method in METHODS if any(kept.of(task, method) for task in TASKS)]
        rows.append(["mean gap to Real", *(gap(kept, method) if method in ran else "" for method in METHODS)])
    return rows
