"""Figure 10: test accuracy by epsilon on MNIST."""

from experiments.cells import Figures
from experiments.liu.digit_releases import QUICK_TRIALS, TRIALS, measured
from experiments.liu.figure import EPSILONS, CurveFigure, Medians
from experiments.liu.methods import FITTED, LAPLACE, LIMIT, PROPOSED, WHOLE
from experiments.pictures import Axis


def measure(epsilon: float, seed: int) -> Figures:
    return {name: accuracy for name, (_, accuracy) in measured(epsilon, seed).items() if name != LIMIT}


def says(accuracy: Medians) -> tuple[str, str]:
    def text(name: str, epsilon: float) -> str:
        return f"{accuracy(name, epsilon):.3f}"

    shows = (
        f"Without privacy {text(FITTED, 1)} of 10,000 test images get their class; the proven release reaches "
        f"{text(WHOLE, 0.5)} at epsilon 0.5 and {text(WHOLE, 8)} at 8, the proposed mechanism {text(PROPOSED, 0.5)} "
        f"and {text(PROPOSED, 8)}, i.i.d. Laplace {text(LAPLACE, 0.5)} and {text(LAPLACE, 8)}."
    )
    differs = (
        "As in the paper the proposed mechanism is far ahead of its baselines and near the fit; the principal "
        "components are taken from the private images, there as here, and nobody pays for them."
    )
    return shows, differs


FIGURE = CurveFigure(
    number=10,
    title="MNIST, 5 directions: share of 10,000 test images in the right class by epsilon, delta 1e-5",
    axis="epsilon",
    values=EPSILONS,
    measure=measure,
    trials=TRIALS,
    quick_trials=QUICK_TRIALS,
    says=says,
    y=Axis(0, 1, logarithmic=False),
)
