"""The same changes put to what this library releases: the exact power of the best test against it."""

import numpy as np
from scipy.special import ndtr
from sfumato_papers.liu.attack import largest_advantage

import sfumato
from experiments.cells import progress
from experiments.liu.changes import CHANGES_SEED, SYNTHETIC_SEED, relabelled, some_changes
from experiments.liu.data import iris, synthetic
from experiments.mixture_data import DELTA, Records
from experiments.truth_page import Figures, Finding, Section, Table, hundred, number, span, yes
from sfumato.auditing.transcript import mu_between
from sfumato.trusted.budget import Budget
from sfumato.trusted.sources import open_source

EPSILON = 1.0
ADJACENCIES = ("replace", "label")
PLACE = "not in the paper; `sfumato release` with mechanism `mixture`"


def best_advantage(mu: float) -> float:
    """Of any test between two Gaussians that are mu standard deviations apart."""
    return float(2 * ndtr(mu / 2) - 1)


def measure(quick: bool) -> Figures:
    changes, seeds, adjacencies = (4, range(1), ADJACENCIES[:1]) if quick else (25, range(5), ADJACENCIES)
    tables = {"synthetic": synthetic(SYNTHETIC_SEED), "Iris": iris()}
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "seed of the table": SYNTHETIC_SEED,
        "seed of the changes": CHANGES_SEED,
        "seeds of the releases": list(seeds),
        "allowed": largest_advantage(EPSILON, DELTA),
        "promised": best_advantage(Budget(EPSILON, DELTA).mu),
        "runs": [
            _run(name, records, adjacency, changes, seeds)
            for name, records in tables.items()
            for adjacency in adjacencies
        ],
    }


def _run(name: str, records: Records, adjacency: str, changes: int, seeds: range) -> Figures:
    """What some releases tell of each change. Seeds make the page the same every time; the noise is otherwise real."""
    schema = records.schema(adjacency)
    here = open_source(records.table(), schema, declared=True)
    there = [
        open_source(relabelled(records, one).table(), schema, declared=True) for one in some_changes(records, changes)
    ]
    advantages = []
    for seed in progress(seeds, f"proven: {name}, {adjacency}"):
        release = sfumato.release(
            records.table(),
            schema,
            epsilon=EPSILON,
            delta=DELTA,
            mechanism="mixture",
            adjacency=adjacency,
            ledger=None,
            seed=seed,
            types="declared",
        )
        advantages += [best_advantage(mu_between(release.measurements, here, other)) for other in there]
    return {
        "table": name,
        "adjacency": adjacency,
        "changes": len(there),
        "releases": len(seeds),
        "mean": float(np.mean(advantages)),
        "least": min(advantages),
        "most": max(advantages),
    }


def findings(figures: Figures) -> list[Finding]:
    means = [run["mean"] for run in figures["runs"]]
    return [
        Finding(
            "For comparison: what `sfumato release` promises for the same change",
            "",
            yes(_most(figures) <= figures["promised"] * (1 + 1e-9)),
            f"advantage {span(means)}, exactly, where {number(figures['allowed'])} is allowed",
            "Use this: its promise is proved, and every release can be audited.",
        )
    ]


def _most(figures: Figures) -> float:
    return float(max(run["most"] for run in figures["runs"]))


def section(figures: Figures) -> Section:
    right, promised, allowed = (
        hundred((1 + advantage) / 2) for advantage in (_most(figures), figures["promised"], figures["allowed"])
    )
    text = f"""
        The paper's neighbour is a table where one record has another label. That is one change of `replace` adjacency,
        and of `label` adjacency if everything but the labels is public; we test both.

        Nothing needs to be drawn here. Every answer behind a release is a sum with Gaussian noise, so that the power
        of the best test is known from the sums of the two tables. For the same tables and the same changes it is right
        in {right} of 100 cases at most, where a coin is right in 50. The release promises {promised}; an epsilon of
        {number(EPSILON)} would allow {allowed}.
    """
    caption = f"""
        Exact advantage of the best test at ({number(EPSILON)}, {number(figures["delta"])}). Promised by the release:
        {number(figures["promised"])}. Allowed by epsilon and delta: {number(figures["allowed"])}.
    """
    return Section(
        "The same changes in a release of this library",
        PLACE,
        text,
        [
            Table(
                caption,
                ["table", "adjacency", "changes", "releases", "mean", "least", "most"],
                [
                    [
                        run["table"],
                        run["adjacency"],
                        *(number(run[name]) for name in ("changes", "releases", "mean", "least", "most")),
                    ]
                    for run in figures["runs"]
                ],
            )
        ],
    )
