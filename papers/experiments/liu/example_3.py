"""Example 3: whoever has few images of their own learns from them and from images drawn from a release."""

import math

import numpy as np
from sfumato_papers.liu import Mixture, divergence

from experiments.cells import Figures
from experiments.liu.data import digits
from experiments.liu.digit_releases import QUICK_TRIALS, releases
from experiments.liu.figure import EPSILONS, CurveFigure, Told
from experiments.liu.methods import FAIR, FITTED, LAPLACE, LIMIT, OWN, PROPOSED, REAL, WHOLE
from experiments.mixture_data import Records
from experiments.pictures import Axis
from sfumato.trusted.arrays import FloatArray, IntArray

SYNTHETIC, TREES = 5_000, 50
_DRAWS = 20_000


def measure(part: str, epsilon: float, seed: int) -> Figures:
    """Test accuracy by method, and how far the law of what is added is from the fit: measured, and by the bound."""
    own, test, found = digits(seed).own, digits(seed).test, releases(part, epsilon, seed)
    pairs = {name: pair for name, pair in found.items() if name != LIMIT}
    rng = np.random.default_rng([12, seed])
    told: Figures = {}
    for name, (mixture, fitted) in pairs.items():
        told[name] = learned(own, sample(rng, mixture, SYNTHETIC), test, seed)
        told[variation_of(name)] = total_variation(rng, mixture, fitted, _DRAWS)
        told[bound_of(name)] = math.sqrt(max(divergence(mixture, fitted).total, 0) / 2)
    if part == "published":
        training = digits(seed).training
        told[OWN] = learned(own, None, test, seed)
        told[FITTED] = learned(own, sample(rng, found[PROPOSED][1], SYNTHETIC), test, seed)
        told[REAL] = learned(own, (training.numbers, training.label), test, seed)
    return told


def variation_of(name: str) -> str:
    return f"total variation, {name}"


def bound_of(name: str) -> str:
    return f"sqrt(KL / 2), {name}"


def learned(own: Records, added: tuple[FloatArray, IntArray] | None, test: Records, seed: int) -> float:
    """Accuracy of a forest on test images."""
    from sklearn.ensemble import RandomForestClassifier

    numbers, label = own.numbers, own.label
    if added is not None:
        numbers, label = np.concatenate([numbers, added[0]]), np.concatenate([label, added[1]])
    forest = RandomForestClassifier(TREES, random_state=seed).fit(numbers, label)
    return float(forest.score(test.numbers, test.label))


def sample(rng: np.random.Generator, mixture: Mixture, rows: int) -> tuple[FloatArray, IntArray]:
    """Records of a mixture and their classes."""
    label = rng.choice(len(mixture.weights), size=rows, p=mixture.weights)
    roots = np.linalg.cholesky(mixture.covariances)
    normal = rng.standard_normal((rows, mixture.dimensions))
    return mixture.means[label] + np.einsum("nij,nj->ni", roots[label], normal), label


def total_variation(rng: np.random.Generator, one: Mixture, other: Mixture, draws: int) -> float:
    """Between the joint laws of record and class: the mean of  max(0, 1 - other / one)  over draws of the one."""
    numbers, label = sample(rng, one, draws)
    ratio = np.exp(_log_joint(other, numbers, label) - _log_joint(one, numbers, label))
    return float(np.maximum(0, 1 - ratio).mean())


def _log_joint(mixture: Mixture, numbers: FloatArray, label: IntArray) -> FloatArray:
    away = numbers - mixture.means[label]
    squares = np.einsum("ni,nij,nj->n", away, mixture.precisions[label], away)
    found: FloatArray = (
        np.log(mixture.weights[label])
        - (squares + np.linalg.slogdet(mixture.covariances)[1][label] + mixture.dimensions * math.log(2 * math.pi)) / 2
    )
    return found


def says(told: Told) -> tuple[str, str]:
    def text(name: str, epsilon: float) -> str:
        return f"{told.mean(name, epsilon):.3f}"

    shows = (
        f"A forest that learns from 100 images of its owner's gets {text(OWN, 1)} of the test images right; with "
        f"{SYNTHETIC:,} drawn from the proven release {text(WHOLE, 0.5)} at epsilon 0.5 and {text(WHOLE, 8)} at 8, "
        f"from the proposed mechanism {text(PROPOSED, 0.5)} and {text(PROPOSED, 8)}, from i.i.d. Laplace "
        f"{text(LAPLACE, 0.5)} and {text(LAPLACE, 8)} (equal footing: {text(FAIR, 0.5)} and {text(FAIR, 8)}), from the "
        f"fit without privacy {text(FITTED, 1)}, and with the private images themselves {text(REAL, 1)}."
    )
    differs = (
        "The paper has this example in words alone. Its argument: sqrt(KL / 2) bounds the total variation, which "
        "bounds what is lost by learning from synthetic records. At epsilon 1 the bound is "
        f"{text(bound_of(PROPOSED), 1)} for the proposed mechanism where the total variation is "
        f"{text(variation_of(PROPOSED), 1)}, {text(bound_of(WHOLE), 1)} and {text(variation_of(WHOLE), 1)} for the "
        f"proven one, and {text(bound_of(LAPLACE), 1)} and {text(variation_of(LAPLACE), 1)} for Laplace noise: below 1 "
        "it goes with what the forest loses, above 1 it says nothing, and synthetic images that far off do harm."
    )
    return shows, differs


FIGURE = CurveFigure(
    name="example_3",
    title="Augmentation, MNIST in 5 directions: test accuracy with 100 own and 5,000 released images by epsilon",
    axis="epsilon",
    values=EPSILONS,
    measure=measure,
    trials={"published": 20, "whole": 20, "label": 3},
    quick_trials=QUICK_TRIALS,
    says=says,
    y=Axis(0, 1, logarithmic=False),
)
