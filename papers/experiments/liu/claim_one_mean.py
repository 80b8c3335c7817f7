"""The claim for one mean, if its noise did not depend on the records: lemma 1."""

import math

from sfumato_papers.liu.limits import largest_mean_epsilon

from experiments.mixture_data import DELTA
from experiments.truth_page import Figures, Finding, Section, Table, number
from sfumato.trusted.budget import delta_of, epsilon_of

EPSILONS = (1 / 3, 1.0, 2.0, 4.0, 8.0, 10.0, 16.0)
PLACE = "lemma 1, (10)"


def largest_move(epsilon: float, delta: float) -> float:
    """How many standard deviations of the noise lemma 1 lets a mean move."""
    return epsilon / math.sqrt(2 * math.log(2 / delta))


def measure(quick: bool) -> Figures:  # noqa: ARG001 - exact, and quick anyway
    return {
        "delta": DELTA,
        "holds up to": largest_mean_epsilon(DELTA),
        "curve": [
            {
                "epsilon": epsilon,
                "delta": delta_of(epsilon, largest_move(epsilon, DELTA)),
                "actual epsilon": epsilon_of(largest_move(epsilon, DELTA), DELTA),
            }
            for epsilon in EPSILONS
        ],
    }


def findings(figures: Figures) -> list[Finding]:
    one, most = (_at(figures, epsilon) for epsilon in (1.0, EPSILONS[-1]))
    return [
        Finding(
            "Gaussian noise by lemma 1 protects one mean",
            PLACE,
            f"only if no record decides the noise, and epsilon is at most {number(figures['holds up to'])}",
            f"a claimed {number(one['epsilon'])} is {number(one['actual epsilon'])}, a claimed "
            f"{number(most['epsilon'])} is {number(most['actual epsilon'])}",
            "Sound in the usual range; what the paper builds on it is not.",
        )
    ]


def _at(figures: Figures, epsilon: float) -> Figures:
    found: Figures = next(row for row in figures["curve"] if row["epsilon"] == epsilon)
    return found


def section(figures: Figures) -> Section:
    one, most = (_at(figures, epsilon) for epsilon in (1.0, EPSILONS[-1]))
    text = f"""
        Lemma 1 says how much Gaussian noise a mean needs. If the amount of noise is public and one class alone is
        looked at, it is right in the range that people use: at an epsilon of {number(one["epsilon"])} the exact delta
        is {number(one["delta"])}, below the claimed {number(figures["delta"])}.

        Beyond {number(figures["holds up to"])} the lemma gives too little noise: at {number(most["epsilon"])} the
        exact delta is {number(most["delta"])}. The next two sections show what becomes of the lemma in the paper's
        mechanism.
    """
    return Section(
        "Gaussian noise hides what one label does to the mean of one class",
        PLACE,
        text,
        [
            Table(
                "The exact curve of the Gaussian mechanism, for the largest move that lemma 1 allows.",
                ["claimed epsilon", "exact delta there", f"exact epsilon at a delta of {number(figures['delta'])}"],
                [[number(row[name]) for name in ("epsilon", "delta", "actual epsilon")] for row in figures["curve"]],
            )
        ],
    )
