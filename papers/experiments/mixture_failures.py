"""Where the mixture has little to go by: nothing may raise, and the release should say how little it knows."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from sfumato_papers.liu import Mixture, fit

from experiments import mixture_study as study
from experiments.cells import Cell, Figures, Results, shown, table
from experiments.mixture_coverage import unresolved
from experiments.mixture_data import Records, gaussian_classes, mixture_of, released, synthetic
from sfumato.fitting.models.gaussian_mixture.gaussians import gaussian_kl
from sfumato.trusted.arrays import FloatArray

EPSILONS = (1.0, 4.0)
SIZES = (0, 1, 2, 5, 20, 50)
OTHERS = 250  # rows of each other class
COLUMNS = (16, 24, 32)


class Trial(NamedTuple):
    """Records, and the means and covariances that each class should have; the affected class, or None for all.

    Where the records have no spread in a direction, KL is that of the other columns, the last left out.
    """

    records: Records
    means: FloatArray
    covs: FloatArray
    affected: int | None = None
    without_spread: FloatArray | None = None


def small(size: int, seed: int) -> Trial:
    """One class of a few rows among four of 250; it should have the moments of the many that it was drawn from."""
    rng = np.random.default_rng([5, seed])
    while True:
        many = gaussian_classes(rng, 4000, 3, 5, least=8)
        if np.bincount(many.label, minlength=5).min() >= OTHERS:
            break
    rows = [np.flatnonzero(many.label == k)[: OTHERS if k else size] for k in range(5)]
    fitted = fit(many.numbers, many.label, 5)
    return Trial(many.chosen(np.concatenate(rows)), fitted.means, fitted.covariances, 0)


def narrow(kind: str, seed: int) -> Trial:
    """A column that is constant, or that another one says exactly."""
    records = synthetic(seed)
    numbers = records.numbers.copy()
    numbers[:, 2] = {"middle": 0.5, "bound": records.high[2]}.get(kind, 0.5 * numbers[:, 1] + 1)
    direction = np.array([0.0, -0.5 if kind == "correlated" else 0.0, 1.0])
    return _fitted(records._replace(numbers=numbers))._replace(without_spread=direction)


def _fitted(records: Records) -> Trial:
    """The moments of every class, affected all."""
    each = [records.numbers[records.label == k] for k in range(records.classes)]
    means = np.array([mine.mean(axis=0) for mine in each])
    return Trial(records, means, np.array([np.atleast_2d(np.cov(mine.T)) for mine in each]))


def nothing(seed: int) -> Trial:
    """No rows at all."""
    whole = _fitted(synthetic(seed))
    return whole._replace(records=whole.records.chosen(np.zeros(0, dtype=np.int64)))


def many_columns(columns: int, seed: int) -> Trial:
    return _fitted(synthetic(seed, rows=20_000, columns=columns))


def one_class(seed: int) -> Trial:
    records = synthetic(seed)
    return _fitted(records._replace(classes=1, label=np.zeros_like(records.label)))


CASES: dict[str, Callable[[int], Trial]] = {
    **{f"a class of {size} rows": partial(small, size) for size in SIZES},
    "a constant column": partial(narrow, "middle"),
    "a constant column at its bound": partial(narrow, "bound"),
    "two perfectly correlated columns": partial(narrow, "correlated"),
    "bounds 10 times too wide": lambda seed: _fitted(synthetic(seed, wider=10)),
    "bounds 100 times too wide": lambda seed: _fitted(synthetic(seed, wider=100)),
    "one class": one_class,
    "no rows at all": nothing,
    **{f"{columns} columns, 20000 rows": partial(many_columns, columns) for columns in COLUMNS},
}


def cells(quick: bool) -> Iterator[Cell]:
    for case, make in CASES.items():
        slow = case[:2] in ("24", "32")
        if quick and slow:
            continue
        few = 1 if "columns, " in case else 2
        seeds = range(few if quick or slow else 3 if "columns, " in case else 20)
        for epsilon in (1.0,) if quick and "columns, " in case else EPSILONS:
            yield Cell("failures", f"{case}, epsilon {epsilon:g}", seeds, partial(_tried, make, epsilon))


def _tried(make: Callable[[int], Trial], epsilon: float, seed: int) -> Figures:
    """What a release makes of it, and what went wrong."""
    trial = make(seed)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            release, seconds = released(trial.records, epsilon)
            found = mixture_of(release, trial.records)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            return {"raised": f"{type(error).__name__}: {error}"}
    figures = {**_apart(trial, found), "seconds": seconds}
    if trial.affected is not None:
        figures["count"] = float(found.weights[trial.affected]) * release.model.size
        figures["unresolved"] = float(unresolved(release)[trial.affected])
    if warned:
        figures["warned"] = str(warned[0].message)
    return figures


def _apart(trial: Trial, found: Mixture) -> Figures:
    """KL of the affected class, or of the middle and of the worst one; how wide the release is where nothing varies."""
    seen = slice(None if trial.without_spread is None else -1)
    pairs = zip(found.means, found.covariances, trial.means, trial.covs, strict=True)
    each = [gaussian_kl(m[seen], s[seen, seen], n[seen], t[seen, seen]) for m, s, n, t in pairs]
    mine = each if trial.affected is None else [each[trial.affected]]
    figures: Figures = {"kl": float(np.median(mine)), "worst": max(mine)}
    if trial.without_spread is not None:
        spread = np.sqrt(trial.without_spread @ found.covariances @ trial.without_spread)
        figures["sd left"] = float(np.median(spread) / (trial.records.high - trial.records.low)[-1])
    return figures


def show(results: Results) -> str:
    rows = []
    for case in CASES:
        for place, epsilon in enumerate(EPSILONS):
            name = f"{case}, epsilon {epsilon:g}"
            found = results.find("failures", name)
            if found is None:
                continue
            figures = [
                shown(results.figure("failures", name, figure)) for figure in ("kl", "worst", "sd left", "count")
            ]
            lost, seconds = (results.median("failures", name, figure) for figure in ("unresolved", "seconds"))
            known = study.SMALL.get(int(case.split()[3])) if case.startswith("a class of") else None
            reference = f"{known[place][0]:.3g}; {known[place][1]:.3g}" if known else ""
            faults = [text for key in ("raised", "warned") for text in found["figures"].get(key, ())]
            marks = "" if np.isnan(lost) else "yes" if lost > 0.5 else "no"
            rows.append(
                [case, f"{epsilon:g}", *figures, reference, marks, f"{seconds:.2f}", "; ".join(faults) or "none"]
            )
    names = ("epsilon", "KL", "worst class", "sd left", "released count", "study: KL; count", "unresolved", "CPU s")
    notes = (
        "KL of the affected class to the moments that its rows were drawn from, or of the middle class to its fit; "
        "sd left: of the released class where the records have none, as a share of the column's range"
    )
    return notes + "\n" + table(["", *names, "faults"], rows)
