"""Figure 2: what is released of three sets in the plane, by epsilon."""

import numpy as np
from markupsafe import Markup
from sfumato_papers.clustmix import PublishedPoints, Setting, searched

from experiments.clustmix.scatter import frames, sheet_of_frames
from experiments.clustmix.toys import TOYS
from sfumato.trusted.arrays import FloatArray, IntArray

RECORDS, SEED = 2_000, 0
EPSILONS = (0.1, 1.0, 10.0)
SETTINGS = [Setting(sigma) for sigma in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)]


def released(name: str, epsilon: float) -> tuple[PublishedPoints, float]:
    """The best of some settings on the training records, and its accuracy on as many others."""
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(SEED)
    (X, y), (fresh, truth) = (TOYS[name](rng, RECORDS) for _ in range(2))

    def right(points: PublishedPoints, rows: FloatArray, label: IntArray) -> float:
        model = KNeighborsClassifier(1).fit(points.synthetic.X, points.synthetic.y)
        return float(model.score(points.scale(rows), label))

    best = searched(rng, X, y, 2, epsilon, 1 / RECORDS, SETTINGS, lambda points: right(points, X, y))
    return best, right(best, fresh, truth)


def picture() -> tuple[Markup, dict[str, dict[str, float]]]:
    """The sheet, and the accuracies and numbers of points that it shows."""
    marks: list[Markup] = []
    figures: dict[str, dict[str, float]] = {}
    places = iter(frames(1 + len(EPSILONS), len(TOYS)))
    for name, make in TOYS.items():
        frame = next(places)
        X, y = make(np.random.default_rng(SEED), RECORDS)
        marks += [*frame.titled(f"{name}: {RECORDS:,} records"), *frame.dots(X[::3], y[::3], 1.4)]
        for epsilon in EPSILONS:
            frame, (best, accuracy) = next(places), released(name, epsilon)
            points = best.synthetic
            marks += frame.titled(f"claimed epsilon {epsilon:g}")
            marks += frame.dots(points.X, points.y, 2.2)
            marks.append(frame.noted(f"{len(points.y)} points, accuracy {accuracy:.2f}"))
            figures[f"{name}, {epsilon:g}"] = {"points": len(points.y), "accuracy": accuracy}
    title = "Figure 2. Points released by ClustMix as published; the claim does not hold"
    return sheet_of_frames(1 + len(EPSILONS), len(TOYS), marks, title), figures
