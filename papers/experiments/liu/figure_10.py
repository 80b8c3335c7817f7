"""Figure 10: test accuracy by epsilon on MNIST."""

from experiments.cells import Figures
from experiments.liu.data import digits
from experiments.liu.digit_releases import QUICK_TRIALS, accuracy, releases
from experiments.liu.figure import EPSILONS, CurveFigure, Told
from experiments.liu.methods import FITTED, LAPLACE, LIMIT, PROPOSED, WHOLE
from experiments.pictures import Axis


def measure(part: str, epsilon: float, seed: int) -> Figures:
    test, found = digits(seed).test, releases(part, epsilon, seed)
    mixtures = {name: mixture for name, (mixture, _) in found.items() if name != LIMIT}
    if part == "published":
        mixtures[FITTED] = found[PROPOSED][1]
    return {name: accuracy(mixture, test.numbers, test.label) for name, mixture in mixtures.items()}


def says(told: Told) -> tuple[str, str]:
    def text(name: str, epsilon: float) -> str:
        return f"{told.mean(name, epsilon):.3f}"

    shows = (
        f"Without privacy {text(FITTED, 1)} of 10,000 test images get their class, in the mean; the proven release "
        f"reaches {text(WHOLE, 0.5)} at epsilon 0.5 and {text(WHOLE, 8)} at 8, the proposed mechanism "
        f"{text(PROPOSED, 0.5)} and {text(PROPOSED, 8)}, i.i.d. Laplace {text(LAPLACE, 0.5)} and {text(LAPLACE, 8)}."
    )
    differs = (
        "As in the paper the proposed mechanism is far ahead of its baselines and near the fit; the principal "
        "components are taken from the private images, there as here, and nobody pays for them."
    )
    return shows, differs


FIGURE = CurveFigure(
    name="figure_10",
    title="MNIST, 5 directions: share of 10,000 test images in the right class by epsilon, delta 1e-5",
    axis="epsilon",
    values=EPSILONS,
    measure=measure,
    trials={"published": 50, "whole": 20, "label": 3},
    quick_trials=QUICK_TRIALS,
    says=says,
    y=Axis(0, 1, logarithmic=False),
)
