"""The claim that labels may come from clustering: then one changed record changes the labels of others."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sfumato_papers.liu import labels_by_kmeans

from experiments.cells import progress
from experiments.liu.changes import SYNTHETIC_SEED, tables
from experiments.mixture_data import Records
from experiments.truth_page import Figures, Finding, Section, Table, hundred, number, yes
from sfumato.trusted.arrays import IntArray

SEED = 5
PLACE = "footnotes 1 and 2, definition 1"


def measure(quick: bool) -> Figures:
    replacements = 2 if quick else 150
    return {
        "seed of the table": SYNTHETIC_SEED,
        "seed of the replacements": SEED,
        "replacements": replacements,
        "tables": [_table(name, records, replacements) for name, records in tables().items()],
    }


def _table(name: str, records: Records, replacements: int) -> Figures:
    """Each time another record gets the values of a random place within the bounds, and all are clustered anew."""
    rng = np.random.default_rng(SEED)
    before = _clustered(records)
    changed = []
    for n in progress(rng.choice(len(before), replacements, replace=False), f"clustering: {name}"):
        numbers = records.numbers.copy()
        numbers[n] = rng.uniform(records.low, records.high)
        after = _clustered(records._replace(numbers=numbers))
        changed.append(others_changed(before, after, int(n), records.classes))
    return {
        "table": name,
        "records": len(before),
        "classes": records.classes,
        "share": float(np.mean([count > 0 for count in changed])),
        "median": float(np.median(changed)),
        "most": max(changed),
    }


def _clustered(records: Records) -> IntArray:
    """From the same random numbers every time, so that only the record makes a difference."""
    return labels_by_kmeans(np.random.default_rng(SEED), records.numbers, records.classes).astype(np.int64)


def others_changed(before: IntArray, after: IntArray, record: int, classes: int) -> int:
    """How many other records are in another cluster, where clusters are named so that as few as possible are."""
    others = np.delete(np.arange(len(before)), record)
    together = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(together, (before[others], after[others]), 1)
    rows, columns = linear_sum_assignment(together, maximize=True)
    return int(len(others) - together[rows, columns].sum())


def findings(figures: Figures) -> list[Finding]:
    drawn, flowers = figures["tables"]
    return [
        Finding(
            "Labels may come from clustering; one record is one label",
            PLACE,
            yes(max(drawn["most"], flowers["most"]) == 0),
            f"one changed record changed labels of others in {hundred(flowers['share'])} of 100 cases on Iris, up to "
            f"{flowers['most']}; in {hundred(drawn['share'])} of 100 on synthetic data, up to {drawn['most']}",
            "The claim is about one label, with everything else public. That is rarely the case of a person.",
        )
    ]


def section(figures: Figures) -> Section:
    _, flowers = figures["tables"]
    text = f"""
        The paper protects a label and takes all other columns for public; it adds that labels may be found by k-means,
        and that the same holds if a whole record changes.

        But a label that comes from clustering depends on everybody. We gave one record other values and clustered
        anew: on Iris this changed the labels of others in {hundred(flowers["share"])} of 100 cases, of up to
        {flowers["most"]} of {flowers["records"]} records. A promise for one changed label says nothing of that.
    """
    return Section(
        "Labels may come from clustering",
        PLACE,
        text,
        [
            Table(
                f"Others that get a new label when one record gets new values, {figures['replacements']} times. "
                "Clusters are named so that as few as possible change.",
                ["table", "records", "classes", "changes that reach others", "median of others", "most"],
                [
                    [
                        row["table"],
                        *(number(row[name]) for name in ("records", "classes")),
                        f"{hundred(row['share'])} of 100",
                        *(number(row[name]) for name in ("median", "most")),
                    ]
                    for row in figures["tables"]
                ],
            )
        ],
    )
