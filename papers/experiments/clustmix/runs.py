"""Runs of table 1: a task, a method and a seed each. Finished ones are kept in a file and not run again."""

import json
import os
import sys
import time
import traceback
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from rich.progress import Progress

from experiments.clustmix.search import QUICK_TRIES, TRIES, Found

Scores = dict[str, dict[str, dict[str, Any]]]
"""Task, method, seed: a score, or why there is none. `task/tries` and `task/setting` are of its searches."""


class Run(NamedTuple):
    """One number of the table."""

    task: str
    method: str
    seed: int


class Kept:
    """The scores of finished runs. Without a path they live as long as the program."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.scores: Scores = json.loads(path.read_text()) if path and path.exists() else {}

    def find(self, run: Run) -> float | str | None:
        return self.scores.get(run.task, {}).get(run.method, {}).get(str(run.seed))

    def of(self, task: str, method: str) -> list[float]:
        """The scores of all seeds that have one."""
        found = self.scores.get(task, {}).get(method, {}).values()
        return [value for value in found if not isinstance(value, str)]

    def why_not(self, task: str, method: str) -> str:
        """Why a cell is empty: what its runs failed of, or that there was no time for them yet."""
        reasons = {value for value in self.scores.get(task, {}).get(method, {}).values() if isinstance(value, str)}
        return f"not run: {'; '.join(sorted(reasons)) or 'time'}"

    def tries(self, task: str, method: str) -> set[int]:
        """How many settings each of its runs tried."""
        return set(self.scores.get(f"{task}/tries", {}).get(method, {}).values())

    def finished(self, run: Run, tries: int) -> bool:
        """Whether a run has a score, and tried as many settings as are asked for, if it has any."""
        tried = self.scores.get(f"{run.task}/tries", {}).get(run.method, {}).get(str(run.seed), tries)
        return isinstance(self.find(run), float) and tried == tries

    def add(self, run: Run, value: float | str) -> None:
        """Keep it, whole or not at all: a program may be stopped at any time."""
        if isinstance(value, Found):
            self.scores.setdefault(f"{run.task}/tries", {}).setdefault(run.method, {})[str(run.seed)] = value.tries
            self.scores.setdefault(f"{run.task}/setting", {}).setdefault(run.method, {})[str(run.seed)] = value.setting
            value = float(value)
        self.scores.setdefault(run.task, {}).setdefault(run.method, {})[str(run.seed)] = value
        if self.path is not None:
            draft = self.path.with_suffix(".draft")
            draft.write_text(json.dumps(self.scores, indent=1, sort_keys=True) + "\n")
            draft.replace(self.path)


def run_all(runs: Iterable[Run], kept: Kept, measure: "Measure", jobs: int, tries: int = TRIES) -> None:
    """All runs that have no score of so many tries yet, several at a time, the bar where somebody watches."""
    todo = [run for run in runs if not kept.finished(run, tries)]
    with (
        ProcessPoolExecutor(jobs, initializer=_one_thread) as pool,
        Progress(transient=True, disable=not sys.stdout.isatty()) as progress,
    ):
        bar = progress.add_task("table 1", total=len(todo))
        waiting = {pool.submit(_timed, measure, run): run for run in todo}
        for done in as_completed(waiting):
            value, seconds = done.result()
            kept.add(waiting[done], value)
            progress.advance(bar)
            shown = f"{value:.4f}" if isinstance(value, float) else value
            print(f"{', '.join(map(str, waiting[done]))}: {shown}, {seconds:.0f} s", flush=True)


QUICK_ROWS = 4_000


class Measure:
    """From a run to its score; a class, so that it travels to another process."""

    def __init__(self, quick: bool, folder: Path | None, tries: int = TRIES) -> None:
        self.quick, self.folder, self.tries = quick, folder, QUICK_TRIES if quick else tries

    def __call__(self, run: Run) -> float:
        from experiments.clustmix.methods import METHODS
        from experiments.clustmix.rows import Rows

        if run.method.startswith("proven"):
            from experiments.clustmix.proven import proven

            found = proven(run.task, run.seed)
            return found.itself if run.method.endswith("itself") else found.rows
        if self.folder is not None:
            rows = Rows.load(self.folder / f"{run.task}.npz")
        else:
            from experiments.clustmix.data import rows_of

            rows = rows_of(run.task)
        if self.quick:
            rows = rows.some(QUICK_ROWS)
        return METHODS[run.method](run.task, rows, run.seed, self.tries)


def _timed(measure: Measure, run: Run) -> tuple[float | str, float]:
    begin = time.perf_counter()
    try:
        return measure(run), time.perf_counter() - begin
    except Exception as error:  # noqa: BLE001 - one cell that fails must not take the others with it
        traceback.print_exc()
        return f"{type(error).__name__}: {error}", time.perf_counter() - begin


def _one_thread() -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    import torch

    torch.set_num_threads(1)
