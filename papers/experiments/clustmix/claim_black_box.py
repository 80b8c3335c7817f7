"""What an attacker learns who sees releases and nothing within."""

import numpy as np
from sfumato_papers.clustmix import ClusterMixing, Clusters, ThreeA, constrained_kmeans, no_adaptation, told_apart

from experiments.clustmix.blobs import EACH_CLUSTER, RECORDS, four_blobs, worst_pair
from experiments.truth_page import Figures, Finding, Section, Table, number
from sfumato.trusted.arrays import FloatArray

EPSILON, CLASSES, STARTS = 1.0, 2, 12
RUNS, QUICK_RUNS = 600, 10


def best_of_starts(rng: np.random.Generator, X: FloatArray, clusters: int, smallest: int) -> Clusters:  # noqa: N803
    """The best of several starts, so that chance plays no great part."""
    found = [constrained_kmeans(rng, X, clusters, smallest) for _ in range(STARTS)]
    return min(found, key=lambda one: float(((X - one.centres[one.member]) ** 2).sum()))


def measure(quick: bool) -> Figures:
    """Whole runs on the blobs and on the same with one record elsewhere: do left and right go together?"""
    delta, runs = 1 / RECORDS, QUICK_RUNS if quick else RUNS
    pair = worst_pair(EPSILON, delta, CLASSES)
    tables = (four_blobs(pair.shift), pair.changed())
    mechanism = ThreeA(best_of_starts, no_adaptation, ClusterMixing(EPSILON, delta, CLASSES), EACH_CLUSTER)
    label = np.zeros(RECORDS, dtype=np.int64)

    def across(run: int, other: bool) -> float:
        points = mechanism(np.random.default_rng((run, other)), tables[other], label, CLASSES).X
        apart = np.abs(points[0] - points[1])
        return float(apart[0] - apart[1])

    found = told_apart(across, runs, delta)
    return {"epsilon": EPSILON, "delta": delta, **found._asdict(), "at least": found.epsilon}


def findings(figures: Figures) -> list[Finding]:
    return [
        Finding(
            "The release is (1, 1/N)-differentially private",
            "theorem 2",
            "**no**" if figures["at least"] > EPSILON else "not refuted by so few runs",
            f"epsilon is at least {number(figures['at least'])}, with 95 % confidence, seen from outside",
            "an attacker needs neither the code's randomness nor any luck",
        )
    ]


def section(figures: Figures) -> Section:
    text = """
    The mechanism runs whole, with fresh randomness within and without, on the blobs of the section before and on the
    same blobs with one record elsewhere. The attacker looks at the two released points and asks whether they lie side
    by side or above each other. A rule is chosen on half of the runs and counted on the others, so that the bound below
    is one that anybody can repeat; more runs would raise it.
    """
    rows = [[str(figures["here"]), str(figures["there"]), str(figures["runs"]), number(figures["at least"])]]
    head = ["seen where it is likelier", "seen where it is not", "runs of each", "epsilon at least"]
    return Section("Seen from outside", "theorem 2", text, [Table("Runs of the whole mechanism.", head, rows)])
