"""Whether the estimate of the smoothed-sliced divergence comes to the truth as points get more."""

from experiments.slicing.consistency import DIMENSION, SIGMA, SLICES, errors, slope
from experiments.truth_page import Figures, Finding, Section, Table, number, span

SIZES, QUICK_SIZES = (100, 1_000, 10_000), (100, 1_000)
REPEATS, QUICK_REPEATS = 15, 3


def measure(quick: bool) -> Figures:
    """The median error by the number of points, and its slope on logarithms, of each divergence."""
    sizes, repeats = (QUICK_SIZES, QUICK_REPEATS) if quick else (SIZES, REPEATS)
    found = errors(sizes, repeats)
    runs = {name: {"slope": slope(points), "errors": [point.y for point in points]} for name, points in found.items()}
    return {"sizes": list(sizes), "repeats": repeats, "runs": runs}


def findings(figures: Figures) -> list[Finding]:
    slopes = [one["slope"] for one in figures["runs"].values()]
    return [
        Finding(
            "The smoothed-sliced divergence is statistically consistent",
            "abstract",
            "yes, where the truth is known",
            f"the error falls as the number of points to the power {span(slopes)}; one over a square root is -0.5",
            "With enough records the estimate is right. How many are enough is a matter of the noise.",
        )
    ]


def section(figures: Figures) -> Section:
    text = f"""
    Two mixtures of Gaussians in {DIMENSION} dimensions whose true divergence is an integral, {SLICES} slices, noise
    {SIGMA:g}; by our reading of the kernel estimator, as the paper's own was not at hand. The error falls about as one
    over the square root of the number of points, for each of the divergences (`experiments.slicing.consistency` has
    more points and a picture).
    """
    rows = [
        [name, *(number(error) for error in one["errors"]), number(one["slope"])]
        for name, one in figures["runs"].items()
    ]
    head = ["divergence", *(f"{size:,} points" for size in figures["sizes"]), "slope"]
    caption = f"Median error over {figures['repeats']} runs."
    return Section("The divergence is consistent", "abstract", text, [Table(caption, head, rows)])
