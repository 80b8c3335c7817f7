"""The claim that the budget is optimised: it never moves."""

import numpy as np
from sfumato_papers.liu import divergence, draw

from experiments.cells import progress
from experiments.liu.changes import READINGS, algorithm, tables
from experiments.liu.data import synthetic
from experiments.truth_page import Figures, Finding, Section, Table, number, span, yes

EPSILON = 1.0  # of the divergences
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
PLACE = "(25), algorithm 1"


def measure(quick: bool) -> Figures:
    seeds, releases = (range(2), 50) if quick else (range(40), 400)
    runs = []
    for records in progress([synthetic(seed) for seed in seeds] + list(tables().values()), "budget"):
        for reading in READINGS:
            for epsilon in EPSILONS:
                plan = algorithm(records, epsilon, reading).plan
                runs.append((abs(plan.map_epsilon - epsilon / 3), len(plan.objectives)))
    rng = np.random.default_rng(0)
    shares = []
    for name, records in tables().items():
        here = algorithm(records, EPSILON, "leave")
        parts = [divergence(draw(rng, *here), here.fitted) for _ in range(releases)]
        shares.append(
            {
                "table": name,
                **{
                    part: float(np.mean([getattr(one, part) for one in parts]))
                    for part in ("weights", "means", "covariances")
                },
            }
        )
    return {
        "seeds of the tables": list(seeds),
        "epsilons": list(EPSILONS),
        "runs": len(runs),
        "farthest from a third": max(moved for moved, _ in runs),
        "rounds": sorted({rounds for _, rounds in runs}),
        "releases": releases,
        "divergences": shares,
    }


def findings(figures: Figures) -> list[Finding]:
    moved = figures["farthest from a third"]
    return [
        Finding(
            "The budget is split so that the result is best",
            PLACE,
            yes(moved > 1e-6),
            f"in {figures['runs']} runs the third that the class sizes start with moved by {number(moved)} at most",
            "A third of what you pay with goes to class sizes that need almost none.",
        )
    ]


def section(figures: Figures) -> Section:
    one, epsilons = figures["divergences"][0], figures["epsilons"]
    text = f"""
        The paper says that its algorithm finds out how much of the budget each part should get. It begins with a third
        for the class sizes. Its second step always uses up the rest, so that its third step has nothing left to give.

        In {figures["runs"]} runs, with an epsilon from {number(min(epsilons))} to {number(max(epsilons))}, that third
        moved by {number(figures["farthest from a third"])} at most, which is rounding, and the search stopped after
        round {span(figures["rounds"])}.

        On synthetic data the noise on the class sizes costs {number(one["weights"])} nats of divergence from the fit,
        that on the means {number(one["means"])} and that on the covariances {number(one["covariances"])}: the class
        sizes need far less than a third.
    """
    caption = f"""
        Divergence from the fit by part, in nats (0 is a perfect copy): means of {figures["releases"]} releases at an
        epsilon of {number(EPSILON)}, reading *leave*.
    """
    return Section(
        "The budget is split so that the result is best",
        PLACE,
        text,
        [
            Table(
                caption,
                ["table", "class sizes", "means", "covariances"],
                [
                    [row["table"], *(number(row[part]) for part in ("weights", "means", "covariances"))]
                    for row in figures["divergences"]
                ],
            )
        ],
    )
