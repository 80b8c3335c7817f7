"""The claim of the whole paper: what one changed label does to a release as published can hardly be told."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sfumato_papers.liu import Reading
from sfumato_papers.liu.attack import attack, largest_advantage

from experiments.cells import progress
from experiments.liu.changes import (
    CHANGES_SEED,
    OTHER_SEEDS,
    READINGS,
    SYNTHETIC_SEED,
    algorithm,
    other_tables,
    relabelled,
    some_changes,
    tables,
)
from experiments.mixture_data import DELTA, Records
from experiments.truth_page import Figures, Finding, Section, Table, hundred, number, span, yes

SEED = 0
EPSILON = 1.0
EPSILONS = (0.5, 1.0, 4.0)
PARTS = ("weights", "means", "covariances", "all")
PLACE = "definition 1, theorem 1"


def measure(quick: bool) -> Figures:
    changes, releases = (4, 500) if quick else (25, 4_000)
    rng, others = np.random.default_rng(SEED), other_tables(quick)
    runs = [
        _run(rng, name, [records], reading, epsilon, changes, releases)
        for name, records in tables().items()
        for reading in READINGS
        for epsilon in ((EPSILON,) if quick else EPSILONS)
    ]
    name = f"{len(others)} others, synthetic"
    runs += [_run(rng, name, others, reading, EPSILON, 1, releases) for reading in READINGS]
    return {
        "delta": DELTA,
        "seed of the table": SYNTHETIC_SEED,
        "seeds of other tables": list(OTHER_SEEDS[: len(others)]),
        "seed of the noise": SEED,
        "seed of the changes": CHANGES_SEED,
        "releases of each table": releases,
        "runs": runs,
    }


def _run(
    rng: np.random.Generator,
    name: str,
    group: Sequence[Records],
    reading: Reading,
    epsilon: float,
    changes: int,
    releases: int,
) -> Figures:
    """The attack on some changes of each table of a group."""
    found: list[dict[str, Any]] = []
    for records in group:
        here = algorithm(records, epsilon, reading)
        for change in progress(some_changes(records, changes), f"attack: {name}, {reading}, epsilon {epsilon:g}"):
            losses = attack(rng, here, algorithm(relabelled(records, change), epsilon, reading), releases)
            whole = losses["all"]
            found.append(
                {
                    "advantages": {part: losses[part].advantage for part in PARTS},
                    "impossible": whole.only_here,
                    "delta": whole.delta(epsilon),
                }
            )
    bound = largest_advantage(epsilon, DELTA)
    advantages = {part: [one["advantages"][part] for one in found] for part in PARTS}
    return {
        "table": name,
        "reading": reading,
        "epsilon": epsilon,
        "changes": len(found),
        "allowed": bound,
        "advantages": {
            part: {"mean": float(np.mean(each)), "least": min(each), "most": max(each)}
            for part, each in advantages.items()
        },
        "above": sum(advantage > bound for advantage in advantages["all"]),
        "impossible": float(np.mean([one["impossible"] for one in found])),
        "delta": float(np.mean([one["delta"] for one in found])),
    }


def at_one(figures: Figures, table: str | None = None) -> list[Figures]:
    """The runs for an epsilon of 1, of one table or of all."""
    return [run for run in figures["runs"] if run["epsilon"] == EPSILON and table in (None, run["table"])]


def _means(runs: Sequence[Figures]) -> list[float]:
    return [run["advantages"]["all"]["mean"] for run in runs]


def findings(figures: Figures) -> list[Finding]:
    runs = at_one(figures)
    flowers = at_one(figures, "Iris")
    drawn = [run for run in runs if run not in flowers]
    return [
        Finding(
            "A release as published is (epsilon, delta)-differentially private",
            PLACE,
            yes(all(run["above"] == 0 for run in runs)),
            f"advantage {span(_means(drawn))} on synthetic data and {span(_means(flowers))} on Iris, where "
            f"{number(runs[0]['allowed'])} is allowed",
            "Do not release with it: whoever has a guess about one person's label can check it.",
        )
    ]


def section(figures: Figures) -> Section:
    runs, largest = at_one(figures), max(run["epsilon"] for run in figures["runs"])
    loose = [run for run in figures["runs"] if run["epsilon"] == largest]
    right = [round(100 * (1 + mean) / 2) for mean in _means(runs)]
    proofs = [round(100 * run["impossible"]) for run in runs]
    text = f"""
        The paper promises that nobody, whatever they know, can tell well whether a record had this label or another.
        At an epsilon of {number(EPSILON)} and a delta of {number(figures["delta"])}, somebody who sees a release and
        has to say which of two tables it was made of may be right in {hundred((1 + runs[0]["allowed"]) / 2)} of 100
        cases at most. A coin is right in 50.

        We changed one label at random, released both tables {number(figures["releases of each table"])} times, and let
        the best test there is decide. It was right in {span(right)} of 100 cases, and in
        {sum(run["above"] for run in runs)} of {sum(run["changes"] for run in runs)} trials more often than the claim
        allows. What gives a label away is the column of proofs: {span(proofs)} of 100 releases could not have come
        from the other table at all.

        At an epsilon of {number(largest)} so much is allowed, an advantage of {number(loose[0]["allowed"])}, that the
        advantage alone need not refute the claim. The delta does: {span([run["delta"] for run in loose])} for a
        claimed {number(figures["delta"])}.
    """
    caption = """
        Advantage of the best test: the mean over the changes, and from the least to the most for the whole release.
        Proofs: releases that are impossible for the other table. *leave* and *both* are two readings of (10), see
        below.
    """
    head = ["table", "reading", "epsilon", "weights alone", "means alone", "covariances alone", "whole release"]
    head += ["allowed", "proofs", "delta at epsilon", "changes above the bound"]
    return Section(
        "One changed label cannot be noticed in a release as published",
        PLACE,
        text,
        [Table(caption, head, [_row(run) for run in figures["runs"]])],
    )


def _row(run: Figures) -> list[str]:
    each = run["advantages"]
    return [
        run["table"],
        run["reading"],
        number(run["epsilon"]),
        *(number(each[part]["mean"]) for part in PARTS[:-1]),
        f"**{number(each['all']['mean'])}** ({number(each['all']['least'])} to {number(each['all']['most'])})",
        number(run["allowed"]),
        number(run["impossible"]),
        number(run["delta"]),
        f"{run['above']} of {run['changes']}",
    ]
