"""Runs that have several figures each, kept as runs of one are: the file of `experiments.clustmix.runs` has a key for
the run itself, with the mean of its figures, and a key `task/metric` for each of them."""

from typing import Any

from experiments.clustmix import runs
from experiments.clustmix.runs import Run, run_all

__all__ = ["Kept", "Measure", "Run", "Several", "run_all"]


class Several(float):
    """The mean of some figures, which it carries with it."""

    figures: dict[str, float]

    def __new__(cls, figures: dict[str, float]) -> "Several":
        """Of one figure at least."""
        made = super().__new__(cls, sum(figures.values()) / len(figures))
        made.figures = figures
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Several, (self.figures,)


class Kept(runs.Kept):
    """Finished runs; of those with several figures each can be asked for by `task/metric`."""

    def add(self, run: Run, value: float | str) -> None:
        """The figures first: a run counts as finished when all of it is written."""
        for name, figure in value.figures.items() if isinstance(value, Several) else ():
            self.scores.setdefault(f"{run.task}/{name}", {}).setdefault(run.method, {})[str(run.seed)] = figure
        super().add(run, float(value) if isinstance(value, Several) else value)


class Measure(runs.Measure):
    """From a run to its figures: of the census table, or of domain adaptation where the task is one of its pairs."""

    def __call__(self, run: Run) -> float:
        from experiments.slicing import adaptation

        if run.task.startswith(adaptation.PART):
            return adaptation.measured(run, self.quick, self.folder)
        from experiments.slicing.methods import METHODS

        return Several(METHODS[run.method](self._case(run.task), run.seed, self.quick))

    def _case(self, name: str) -> Any:
        from experiments.slicing.methods import Case

        if self.folder is not None:
            from experiments.slicing.rows import Rows

            return Case(name, Rows.load(self.folder / f"{name}.npz"))
        from experiments.slicing.tasks import rows_of

        return Case(name, rows_of(name))
