"""The number of released points, which the paper's theorem does not speak of."""

import numpy as np
from sfumato_papers.clustmix import Setting, clustmix, noise

from experiments.truth_page import Figures, Finding, Section, Table, number

EPSILON, CLASSES, FEATURES, EACH, SMALLEST = 1.0, 2, 2, 200, 50
SEEDS = range(5)


def measure(quick: bool) -> Figures:
    """Two classes of 200 records, which fill clusters of 50; then one record gets the other label."""
    delta = 1 / (CLASSES * EACH)
    sigma = noise(EPSILON, delta, SMALLEST, CLASSES, FEATURES)
    assert sigma is not None
    counts = []
    for seed in SEEDS[:1] if quick else SEEDS:
        rng = np.random.default_rng(seed)
        records, label = rng.random((CLASSES * EACH, FEATURES)), np.repeat(np.arange(CLASSES), EACH)
        changed = label.copy()
        changed[0] = 1
        setting = Setting(sigma * (1 + 1e-9))
        released = [
            clustmix(np.random.default_rng(seed), records, one, CLASSES, EPSILON, delta, setting).synthetic.y
            for one in (label, changed)
        ]
        counts.append([np.bincount(y, minlength=CLASSES).tolist() for y in released])
    return {"epsilon": EPSILON, "delta": delta, "smallest": SMALLEST, "seeds": len(counts), "counts": counts}


def findings(figures: Figures) -> list[Finding]:
    before, after = figures["counts"][0]
    return [
        Finding(
            "The release is (epsilon, delta)-differentially private for one replaced record",
            "theorem 2",
            "**no**",
            f"points of two classes: {before} before, {after} after one label changed, in "
            f"{figures['seeds']} of {figures['seeds']} runs",
            "no epsilon holds: the number of points alone can tell",
        )
    ]


def section(figures: Figures) -> Section:
    text = f"""
    Each class gets as many points as its records fill clusters of l_min. The number of points is released, and neither
    noise nor proof looks at it.

    Two classes of {EACH} records, clusters of {figures["smallest"]} at least. One record gets the other label, as the
    paper's own definition of neighbours allows. From then on its first class fills one cluster less, every time: who
    counts points knows the label. A promise that holds with certainty for no epsilon is not a promise.
    """
    rows = [[number(seed), str(before), str(after)] for seed, (before, after) in enumerate(figures["counts"])]
    table = Table("Released points of the two classes.", ["seed", "all labels as they are", "one label changed"], rows)
    return Section("The number of points gives a label away", "theorem 2, algorithm 2 line 5", text, [table])
