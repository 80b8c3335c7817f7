"""The claim that the KL divergence is minimised: what is minimised grows where the divergence falls."""

import math

import numpy as np
from scipy.special import digamma

from experiments.cells import progress
from experiments.liu.claim_covariances import wisharts
from experiments.liu.data import synthetic
from experiments.liu.figure import EPSILONS, TABLES
from experiments.liu.figure_2 import FIGURE as BY_ROWS
from experiments.liu.methods import NOISES, expected_kl
from experiments.truth_page import Figures, Finding, Section, Table, number, yes

DIMENSIONS = 3
GAMMAS = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1024.0)
EPSILON, RECORDS = 1.0, 1_000
ROWS = [int(rows) for rows in BY_ROWS.values]
PLACE = "proposition 1, (12), (22), (30)"


def by_the_paper(gamma: float, dimensions: int) -> float:
    """(30) for a covariance of I and means without noise."""
    d = dimensions
    psi = sum(float(digamma((d + 1 - j) / 2)) for j in range(d))
    return ((d + 1) / gamma * d + d * math.log(gamma) - d * math.log(2) - psi) / 2


def true_divergence(gamma: float, dimensions: int, draws: int) -> float:
    """The expected KL of a covariance of I that becomes I + W:  E (tr W - ln|I + W|) / 2."""
    noise = wisharts(np.random.default_rng(4), draws, dimensions, gamma)
    log = np.linalg.slogdet(np.eye(dimensions) + noise)[1]
    return float((np.trace(noise, axis1=1, axis2=2) - log).mean() / 2)


def measure(quick: bool) -> Figures:
    draws, seeds = (5_000, range(3)) if quick else (400_000, range(TABLES))
    rows = ROWS[:2] if quick else ROWS
    return {
        "dimensions": DIMENSIONS,
        "draws": draws,
        "seeds of the tables": list(seeds),
        "releases": NOISES,
        "chosen by (22)": float(DIMENSIONS + 1),  # (d + 1) / d tr(I)
        "by gamma": [
            {"gamma": g, "objective": by_the_paper(g, DIMENSIONS), "truth": true_divergence(g, DIMENSIONS, draws)}
            for g in GAMMAS
        ],
        "by epsilon": [{"epsilon": epsilon, "kl": _median(RECORDS, epsilon, seeds)} for epsilon in EPSILONS],
        "by rows": [{"rows": count, "kl": _median(count, EPSILON, seeds)} for count in rows],
    }


def _median(rows: int, epsilon: float, seeds: range) -> float:
    """Over the synthetic tables of figures 1 and 2, of the expectation (8): the mean over the noise alone."""
    tables = progress(seeds, f"floor: {rows} rows, epsilon {epsilon:g}")
    return float(np.median([expected_kl(synthetic(seed, rows=rows), epsilon, "leave", seed) for seed in tables]))


def findings(figures: Figures) -> list[Finding]:
    chosen, budget, rows = _chosen(figures), figures["by epsilon"][-1], figures["by rows"][-1]
    return [
        Finding(
            "The divergence between release and fit is minimised",
            PLACE,
            yes(chosen["truth"] <= min(row["truth"] for row in figures["by gamma"])),
            f"it is still {number(budget['kl'])} nats at an epsilon of {number(budget['epsilon'])}, and "
            f"{number(rows['kl'])} with {number(rows['rows'])} records",
            "It adds noise that nobody asked for; neither records nor budget help.",
        )
    ]


def _chosen(figures: Figures) -> Figures:
    found: Figures = next(row for row in figures["by gamma"] if row["gamma"] == figures["chosen by (22)"])
    return found


def section(figures: Figures) -> Section:
    chosen, least = _chosen(figures), figures["by gamma"][-1]
    floor, most, count = figures["by epsilon"][-1], figures["by rows"][-1], len(figures["seeds of the tables"])
    text = f"""
        The paper minimises a formula that it takes for the divergence between release and fit. One term of it is
        wrong: it forgets the covariance to which the noise is added. So the formula grows where there is little noise,
        and at its minimum the noise is as large as the covariance itself.

        For a round class in {figures["dimensions"]} dimensions it chooses a gamma of {number(chosen["gamma"])}, where
        the true divergence is {number(chosen["truth"])}. At a gamma of {number(least["gamma"])} the truth is
        {number(least["truth"])}, and the formula says {number(least["objective"])}.

        The result is a floor. On the middle one of {count} synthetic tables the expectation (8) is
        {number(floor["kl"])} nats at an epsilon of {number(floor["epsilon"])}, and more records do not bring it down:
        {number(most["kl"])} with {number(most["rows"])} of them at an epsilon of {number(EPSILON)}.
    """
    return Section(
        "The release is as near to the fit as the budget allows",
        PLACE,
        text,
        [
            Table(
                "A class with covariance I, by gamma; the larger it is, the less noise there is.",
                ["gamma", "formula (30)", "true divergence"],
                [[number(row[name]) for name in ("gamma", "objective", "truth")] for row in figures["by gamma"]],
            ),
            Table(
                f"The expectation (8) in nats, the mean over {figures['releases']} releases: median over {count} "
                f"synthetic tables of {number(RECORDS)} records, *leave*.",
                ["epsilon", *(number(row["epsilon"]) for row in figures["by epsilon"])],
                [["divergence", *(number(row["kl"]) for row in figures["by epsilon"])]],
            ),
            Table(
                f"The same at an epsilon of {number(EPSILON)}, by the number of records.",
                ["records", *(number(row["rows"]) for row in figures["by rows"])],
                [["divergence", *(number(row["kl"]) for row in figures["by rows"])]],
            ),
        ],
    )
