"""Real tables: KL to the fit, and what records that were held out say of each action of the release."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sfumato_papers.liu import Mixture, fit

from experiments import mixture_study as study
from experiments.cells import Cell, Figures, Results, table
from experiments.mixture_accuracy import apart
from experiments.mixture_data import Records, mixture_of, released
from experiments.mixture_real import TABLES, available, real_records, split
from sfumato.trusted.arrays import FloatArray

EPSILONS = (0.5, 1.0, 4.0)
ACTIONS = ("mixture", "wide", "detailed")


def cells(quick: bool) -> Iterator[Cell]:
    for name in available(TABLES):
        for epsilon in (1.0,) if quick else EPSILONS:
            yield Cell(
                "real", f"{name}, epsilon {epsilon:g}", range(1 if quick else 3), partial(_measured, name, epsilon)
            )


def _measured(name: str, epsilon: float, seed: int) -> Figures:
    """Gaps are to the Gaussian fit of the same rows without privacy: in nats a record, and in points of accuracy."""
    train, test = split(real_records(name), seed)
    release, seconds = released(train, epsilon)
    fitted = log_joint(fit(train.numbers, train.label, train.classes), test)
    found = {**apart(mixture_of(release, train), train), "seconds": seconds}
    for action in ACTIONS:
        acting = release.estimate(action)
        nats = float(acting.log_prob(test.table()).mean() - fitted[np.arange(len(fitted)), test.label].mean())
        right = acting.predict(test.table()) == test.label
        points = 100 * float(right.mean() - (fitted.argmax(axis=1) == test.label).mean())
        found |= {f"gap {action}": nats, f"points {action}": points}
    return found


def log_joint(mixture: Mixture, records: Records) -> FloatArray:
    """log of weight times density (records x classes)."""
    joint = np.empty((len(records.label), len(mixture.weights)))
    for k, (weight, mean, cov) in enumerate(zip(mixture.weights, mixture.means, mixture.covariances, strict=True)):
        root = np.linalg.cholesky(cov)
        z = np.linalg.solve(root, (records.numbers - mean).T)
        joint[:, k] = np.log(weight) - 0.5 * (z * z).sum(axis=0) - np.log(np.diag(root) * np.sqrt(2 * np.pi)).sum()
    return joint


def show(results: Results) -> str:
    """Medians over the splits, at each epsilon; the study's figures in brackets."""
    names = ("kl", "gap mixture", "gap wide", "gap detailed", "points mixture", "points wide", "points detailed")
    texts = []
    for half in ("choosing", "reporting"):
        rows = [
            [name, f"{epsilon:g}", *_row(results, name, place, names)]
            for name, one in TABLES.items()
            if one.half == half
            for place, epsilon in enumerate(EPSILONS)
            if results.find("real", f"{name}, epsilon {epsilon:g}")
        ]
        texts.append(f"{half} half: medians over splits [study]\n{table(['', 'epsilon', *names, 'CPU s'], rows)}")
        texts += [_mean(results, half, epsilon) for epsilon in EPSILONS]
    return "\n\n".join(text for text in texts if text)


def _row(results: Results, name: str, place: int, names: tuple[str, ...]) -> list[str]:
    case = f"{name}, epsilon {EPSILONS[place]:g}"
    known = dict(zip(("kl", "gap mixture", "gap detailed"), study.REAL[name], strict=True))
    row = []
    for figure in names:
        value = results.median("real", case, figure)
        text = f"{value:.3g}" if figure == "kl" else f"{value:+.1f}" if "points" in figure else f"{value:+.2f}"
        row.append(text + (f" [{known[figure][place]:.3g}]" if figure in known else ""))
    return [*row, f"{results.median('real', case, 'seconds'):.2f}"]


def _mean(results: Results, half: str, epsilon: float) -> str:
    """Over the tables that are there: the geometric mean of KL, the mean of the gaps."""
    there = [
        name
        for name, one in TABLES.items()
        if one.half == half and results.find("real", f"{name}, epsilon {epsilon:g}")
    ]
    if not there:
        return ""
    place = EPSILONS.index(epsilon)
    cases = [f"{name}, epsilon {epsilon:g}" for name in there]
    kl = np.exp(np.mean([np.log(results.median("real", case, "kl")) for case in cases]))
    known = np.exp(np.mean([np.log(study.REAL[name][0][place]) for name in there]))
    gaps = [np.mean([results.median("real", case, f"gap {action}") for case in cases]) for action in ACTIONS]
    said = ", ".join(f"{action} {gap:+.2f}" for action, gap in zip(ACTIONS, gaps, strict=True))
    return (
        f"{half} half, epsilon {epsilon:g}, {len(there)} tables: geometric mean of KL {kl:.3g} [study {known:.3g}], "
        f"mean gap {said}"
    )
