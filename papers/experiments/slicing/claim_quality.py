"""Whether data made by noisy slices is better than that of the rivals: the runs of `experiments.slicing`."""

from pathlib import Path

from experiments.slicing import table
from experiments.slicing.metrics import METRICS
from experiments.slicing.runs import Kept
from experiments.truth_page import Figures, Finding, Section, Table, number, yes

PUBLISHED, OURS = "slicing as published", "slices"
RESULTS = Path(__file__).parent / "results.json"


def measure(quick: bool) -> Figures:  # noqa: ARG001 - the runs are those of the experiment
    """Means over tables and seeds of the runs that `python -m experiments.slicing` has kept."""
    kept = Kept(RESULTS)
    names = (*table.RIVALS, PUBLISHED, OURS)
    return {
        "epsilon": 5.1,
        "means": {name: {metric: table.mean_over_tasks(kept, metric, name) for metric in METRICS} for name in names},
    }


def findings(figures: Figures) -> list[Finding]:
    means, metric = figures["means"], "LogitRegression"
    best = max((name for name in means if name not in (PUBLISHED, OURS)), key=lambda name: means[name][metric])
    return [
        Finding(
            "The approach makes synthetic data of higher quality than its baselines",
            "abstract",
            f"{yes(means[PUBLISHED][metric] > means[best][metric])}, by our reading of it",
            f"area under the curve {number(means[PUBLISHED][metric])}, {best} {number(means[best][metric])}, counts of "
            f"all records along directions {number(means[OURS][metric])}",
            "The trouble is noise on every record: counts of all of them along directions do better than any rival.",
        )
    ]


def section(figures: Figures) -> Section:
    text = f"""
    Five tables of the census kind at an epsilon of {figures["epsilon"]:g}, three seeds, by our reading of the method
    and of its rivals. Only the abstract could be followed: number of directions, kernel and training are our settings,
    so this says what we saw and not what the authors did. The runs are those of `python -m experiments.slicing`, whose
    page has each of them. *slices* is this library's: histograms of all records along public directions, with a proof.
    """
    rows = [
        [name, *("" if one[metric] is None else number(one[metric]) for metric in METRICS)]
        for name, one in figures["means"].items()
    ]
    caption = "Means over tables and seeds; 1 is best."
    return Section(
        "The data is better than that of baselines", "abstract", text, [Table(caption, ["", *METRICS], rows)]
    )
