"""The claim for the weights: the random map has all neighbours in view."""

import math

import numpy as np
from sfumato_papers.liu.draws import draws
from sfumato_papers.liu.frequencies import frequency_map
from sfumato_papers.liu.likelihood import weights_log_likelihood
from sfumato_papers.liu.neighbours import neighbouring_counts
from sfumato_papers.liu.release import Prepared

from experiments.liu.changes import CHANGES_SEED, SYNTHETIC_SEED, algorithm, relabelled, some_changes, tables
from experiments.liu.data import synthetic
from experiments.truth_page import Figures, Finding, Section, Table, hundred, number, span, yes

EPSILON = 1.0
CLASSES = (2, 3, 5, 6, 10)
EPSILONS = (0.5, 1.0, 8.0)
PLACE = "(13e), (15) to (17), proposition 2"


def impossible_by_formula(classes: int) -> float:
    """Of K^2 - K + 1 weights that are equally likely, 2 K - 2 are possible for a neighbour as well."""
    return 1 - (2 * classes - 2) / (classes**2 - classes + 1)


def impossible_by_count(classes: int) -> int:
    """How many are not, by writing down both lists."""
    here = neighbouring_counts(np.full(classes, 50))
    there = neighbouring_counts(here[1])
    return len({tuple(row) for row in here} - {tuple(row) for row in there})


def impossible_if_mended(classes: int, epsilon: float) -> float:
    """The delta of a map on the same list whose columns do add up to 1: the true weights e^epsilon times as likely."""
    return impossible_by_count(classes) / (math.exp(epsilon) + classes * (classes - 1))


def impossible_by_plan(here: Prepared, there: Prepared) -> float:
    """The probability here of weights that cannot come out there."""
    possible = (here.plan.outcomes[:, None] == there.plan.outcomes).all(axis=2).any(axis=1)
    return float(here.plan.probabilities[~possible].sum())


def measure(quick: bool) -> Figures:
    releases, changes, others = (2_000, 3, 3) if quick else (100_000, 25, 40)
    rng = np.random.default_rng(0)
    checks, shares = [], []
    for name, records in tables().items():
        here = algorithm(records, EPSILON, "leave")
        seen = draws(rng, *here, releases)
        pairs = [algorithm(relabelled(records, one), EPSILON, "leave") for one in some_changes(records, changes)]
        drawn = [float(np.isneginf(weights_log_likelihood(seen, there.plan)).mean()) for there in pairs]
        exact = [impossible_by_plan(here, there) for there in pairs]
        checks.append({"table": name, "classes": records.classes, "exact": exact, "drawn": drawn})
    runs = [synthetic(seed) for seed in range(others)] + list(tables().values())
    for records in runs:
        for epsilon in EPSILONS:
            probabilities = algorithm(records, epsilon, "leave").plan.probabilities
            shares.append(float(probabilities.max() / probabilities.min()))
    column = frequency_map(np.ones(5 * 4 + 1), EPSILON / 3).true
    return {
        "epsilon": EPSILON,
        "seed of the table": SYNTHETIC_SEED,
        "seeds of other tables": list(range(others)),
        "seed of the changes": CHANGES_SEED,
        "releases": releases,
        "by classes": [
            {
                "classes": k,
                "outcomes": k * k - k + 1,
                "impossible": impossible_by_count(k),
                "delta": impossible_by_formula(k),
                "delta if mended": impossible_if_mended(k, EPSILON / 3),
            }
            for k in CLASSES
        ],
        "column of 5 classes adds up to": float(column.sum()),
        "runs": len(shares),
        "uniform runs": sum(ratio < 1 + 1e-9 for ratio in shares),
        "epsilons": list(EPSILONS),
        "checks": checks,
    }


def findings(figures: Figures) -> list[Finding]:
    three, five = (_of(figures, classes)["delta"] for classes in (3, 5))
    column = figures["column of 5 classes adds up to"]
    return [
        Finding(
            "The class sizes are released with (epsilon_0, 0)-differential privacy",
            "(11), (15) to (17)",
            yes(five <= 0),
            f"delta {number(three)} for 3 classes and {number(five)} for 5, at every epsilon",
            "The released class sizes alone can prove a label.",
        ),
        Finding(
            "The map of the class sizes is a probability",
            "(13e), (26)",
            yes(abs(column - 1) < 1e-9),
            f"for 5 classes it adds up to {number(column)}; scaled to 1 it was uniform in {figures['uniform runs']} of "
            f"{figures['runs']} runs",
            "A third of the budget is paid for a choice that does not depend on it.",
        ),
    ]


def _of(figures: Figures, classes: int) -> Figures:
    found: Figures = next(row for row in figures["by classes"] if row["classes"] == classes)
    return found


def section(figures: Figures) -> Section:
    five = _of(figures, 5)
    text = f"""
        The paper releases the true class sizes or those of a table with one label changed, drawn at random from a
        list, and claims that a neighbouring table gives the same ones with nearly the same probability.

        But the neighbour draws from its own list, and the two lists have little in common. With {five["classes"]}
        classes {five["impossible"]} of {five["outcomes"]} entries are impossible for the neighbour, so that in
        {hundred(five["delta"])} of 100 releases the sizes alone rule the other table out. No epsilon mends this, and
        drawn releases agree with the count.

        The map also has its rows add up to 1 where its columns would have to: the column to draw from adds up to
        {number(figures["column of 5 classes adds up to"])}. Scaled so that it can be drawn from, it was uniform in
        {figures["uniform runs"]} of {figures["runs"]} runs, whatever the budget.
    """
    exact = f"""
        Exact delta by the number of classes, at every epsilon. Claimed: 0. Mended: a map on the same list whose
        columns do add up to 1, at an epsilon_0 of {number(figures["epsilon"] / 3)}.
    """
    drawn = f"Share of {number(figures['releases'])} releases whose class sizes are impossible for a neighbour."
    names = ("classes", "outcomes", "impossible", "delta", "delta if mended")
    return Section(
        "The sizes of the classes are hidden by a random map",
        PLACE,
        text,
        [
            Table(
                exact,
                ["classes", "entries of the list", "impossible for the neighbour", "delta", "delta if mended"],
                [[number(row[name]) for name in names] for row in figures["by classes"]],
            ),
            Table(
                drawn,
                ["table", "neighbours", "exact", "drawn"],
                [
                    [check["table"], str(len(check["exact"])), span(check["exact"]), span(check["drawn"])]
                    for check in figures["checks"]
                ],
            ),
        ],
    )
