"""The columns of the census table: the real rows, the rivals, slicing as published, and the releases of this library.

All but the last need plain arrays alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sfumato_papers.baselines import RIVALS, Rival, Table

from experiments.clustmix.rows import Split
from experiments.slicing.metrics import Coded, figures
from experiments.slicing.rows import Rows

EPSILON, DELTA = 5.1, 1e-5
QUICK_ROWS = 4_000
Figures = dict[str, float]


@dataclass(frozen=True, eq=False)
class Case:
    """One of the five tables as plain arrays."""

    name: str
    rows: Rows


Method = Callable[[Case, int, bool], Figures]


def judged(case: Case, split: Split, made: Coded) -> Figures:
    """Against the rows that were held out."""
    return figures(case.rows.snapped(made), Coded(split.test_X, split.test_y), case.rows.kinds, case.rows.classes)


def real(case: Case, seed: int, quick: bool) -> Figures:  # noqa: ARG001
    """No privacy at all."""
    split = case.rows.split(seed).filled()
    return judged(case, split, Coded(split.X, split.y))


def rival(find: Callable[[], Rival]) -> Method:
    """A rival at its default setting, at the epsilon and delta of the table."""

    def run(case: Case, seed: int, quick: bool) -> Figures:
        split = case.rows.split(seed).filled()
        some = slice(QUICK_ROWS if quick else None)
        table = Table(split.X[some], split.y[some], case.rows.kinds, case.rows.classes)
        made = find()(np.random.default_rng(seed), table, EPSILON, DELTA)
        return judged(case, split, Coded(made.X, made.y))

    return run


def slicers() -> dict[str, Rival]:
    """Those of the paper and its own rival, loaded when one is run."""
    from sfumato_papers.slicing import SlicedDivergence, SliceWass

    return {
        "SliceWass": SliceWass(),
        "SliceWass, exact noise": SliceWass(noise="exact"),
        "slicing as published": SlicedDivergence(),
    }


def sliced(name: str) -> Method:
    return rival(lambda: slicers()[name])


def proven(mechanism: str) -> Method:
    """Rows of a release of this library; needs the table itself, and all that the library needs."""

    def run(case: Case, seed: int, quick: bool) -> Figures:
        from experiments.slicing.proven import released_rows

        split = case.rows.split(seed).filled()
        return judged(case, split, released_rows(case.name, mechanism, seed, QUICK_ROWS if quick else None))

    return run


METHODS: dict[str, Method] = {
    "Real": real,
    "DP-MERF": rival(lambda: RIVALS["DP-MERF"]),
    "DP-SGD GAN": rival(lambda: RIVALS["DP-GAN"]),
    "PATE-GAN": rival(lambda: RIVALS["PATE-GAN"]),
    **{name: sliced(name) for name in ("SliceWass", "SliceWass, exact noise", "slicing as published")},
    **{name: proven(name) for name in ("slices", "tables", "mixture")},
}
