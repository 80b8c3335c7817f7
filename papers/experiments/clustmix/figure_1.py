"""Figure 1: the three steps on a set that a line can part, in five panels."""

from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from sfumato_papers.clustmix import ClusterMixing, KernelInducingPoints, ThreeA, gmm_constrained

from experiments.clustmix.scatter import WRONG, frames, sheet_of_frames
from experiments.clustmix.toys import separable
from sfumato.trusted.arrays import FloatArray, IntArray

RECORDS, SMALLEST, ALPHA, EPSILON, SEED = 400, 25, 0.3, 5.0, 4


class Points(NamedTuple):
    """Points of the plane with their classes."""

    X: FloatArray
    y: IntArray


class Steps(NamedTuple):
    """Records; centres with their spreads; a sample of the density; centres adapted; what is released."""

    records: Points
    centres: Points
    spreads: FloatArray
    sample: Points
    adapted: Points
    released: Points


def steps() -> Steps:
    rng = np.random.default_rng(SEED)
    X, y = separable(rng, RECORDS)
    clusters = [gmm_constrained(rng, X[y == c], int((y == c).sum()) // SMALLEST, SMALLEST) for c in (0, 1)]
    centres = np.concatenate([one.centres for one in clusters])
    labels = np.repeat([0, 1], [len(one.centres) for one in clusters])
    off = [X[y == c] - one.centres[one.member] for c, one in enumerate(clusters)]
    spreads = np.concatenate(
        [
            [np.sqrt((away[one.member == k] ** 2).mean()) for k in range(len(one.centres))]
            for one, away in zip(clusters, off, strict=True)
        ]
    )
    sample = centres + spreads[:, None] * rng.standard_normal(centres.shape)
    adapt = KernelInducingPoints(ALPHA)
    mechanism = ThreeA(gmm_constrained, adapt, ClusterMixing(EPSILON, 1 / RECORDS, 2), SMALLEST)
    released = mechanism(np.random.default_rng(SEED), X, y, 2)
    adapted = adapt(rng, centres, labels, X, y)
    return Steps(
        Points(X, y),
        Points(centres, labels),
        spreads,
        Points(sample, labels),
        Points(adapted, labels),
        Points(released.X, released.y),
    )


def learnt(points: Points) -> Any:
    """A linear classifier of these points."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1e3, max_iter=1_000).fit(points.X, points.y)


def wrong(points: Points, records: Points) -> FloatArray:
    """The records that the classifier of some points puts on the wrong side."""
    mistaken: FloatArray = records.X[learnt(points).predict(records.X) != records.y]
    return mistaken


def picture(found: Steps) -> Markup:
    first, *others = frames(5, 1)
    marks = first.titled("1 approximate: the density")
    marks += first.dots(*found.records, 1.6, faint=True)
    marks += [first.ellipse(centre, 2 * spread) for centre, spread in zip(found.centres.X, found.spreads, strict=True)]
    marks += first.dots(*found.centres, 3.0)
    shown = {
        "2 learnt from all records": found.records,
        "3 learnt from a sample of it": found.sample,
        "4 adapt: from moved centres": found.adapted,
        f"5 anonymize: claimed epsilon {EPSILON:g}": found.released,
    }
    for frame, (title, points) in zip(others, shown.items(), strict=True):
        marks += frame.titled(title)
        marks += frame.dots(*found.records, 1.6, faint=points is not found.records)
        marks += frame.dots(*points, 3.0) if points is not found.records else []
        mistaken = wrong(points, found.records)
        marks += [frame.boundary(learnt(points)), *frame.circles(mistaken, 3.4, WRONG)]
        marks.append(frame.noted(f"{len(mistaken)} of {RECORDS} records on the wrong side"))
    return sheet_of_frames(5, 1, marks, "Figure 1. Approximate, adapt, anonymize, as published")
