"""What noisy random projections of every record promise, exactly; and what is left of it if directions are known."""

import math

from sfumato_papers.accounting import SlicingProfile

from experiments.truth_page import Figures, Finding, Section, Table, number, span, yes
from sfumato.trusted.budget import epsilon_of
from sfumato.trusted.random_directions import OrthonormalFrame

DELTA, EPSILON, SLICES = 1e-5, 1.0, 20
DIMENSIONS = (20, 100, 784)


def measure(quick: bool) -> Figures:  # noqa: ARG001 - no draws
    """For records of some widths, the least noise for the claim, and what it promises along known directions."""
    runs = []
    for width in DIMENSIONS:
        sigma = SlicingProfile(OrthonormalFrame.orthonormal(width, SLICES)).sigma(EPSILON, DELTA).upper
        known = epsilon_of(1 / sigma, DELTA)  # the change lies along one of them
        spreads = 2 * sigma * math.sqrt(width)  # the noise, for records of length R spread evenly, whose change is 2 R
        runs.append({"width": width, "sigma": sigma, "known": known, "spreads": spreads, "records": 27 * spreads**6})
    return {"epsilon": EPSILON, "delta": DELTA, "slices": SLICES, "runs": runs}


def findings(figures: Figures) -> list[Finding]:
    runs = figures["runs"]
    return [
        Finding(
            "Noise on random low-dimensional projections of the records has a strong privacy guarantee",
            "abstract",
            "only if directions are drawn after the records are fixed, and bounds do not come from them",
            f"a claimed 1 is 1; along directions that were known before it is {span([one['known'] for one in runs])}",
            "A seed in the code breaks it. Our own release uses public directions and needs no such secret.",
        ),
        Finding(
            "The noisy projections are good to train on",
            "implied by the abstract",
            yes(max(one["spreads"] for one in runs) < 1),
            f"at an epsilon of 1 the noise of a slice is {span([one['spreads'] for one in runs])} times its spread",
            "Noise is on every record and does not shrink with their number; counts of all records have far less.",
        ),
    ]


def section(figures: Figures) -> Section:
    text = """
    The paper releases directions U and projections X U with noise. Its theorem was not at hand, so we tested ours: the
    exact privacy of such a release, between certified bounds (`sfumato_papers.accounting`). The claim can be kept.

    It rests on directions that nobody knows while the records can still change. Who knows them puts the change along
    one, and then the same noise promises the epsilon in the third column. Radius, centre and scale of the records must
    be public as well.

    What is left is little: the last columns say how many times its own spread the noise of a slice is, and of how many
    records one must see to tell a slice from a normal one (27 times the sixth power).
    """
    rows = [
        [number(one["width"]), number(one["sigma"]), *(number(one[name]) for name in ("known", "spreads", "records"))]
        for one in figures["runs"]
    ]
    head = [
        "columns",
        "noise, in changes",
        "epsilon if directions are known",
        "noise, in spreads of a slice",
        "records",
    ]
    budget = f"({number(figures['epsilon'])}, {number(figures['delta'])})"
    caption = f"{figures['slices']} orthonormal directions, noise for {budget}."
    return Section("Noisy projections are private", "abstract", text, [Table(caption, head, rows)])
