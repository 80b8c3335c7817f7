"""Figure 4: KL by the number of columns."""

from experiments.liu.data import synthetic
from experiments.liu.figure import CurveFigure, Told, kl_of
from experiments.liu.methods import FAIR, LABEL, PROPOSED, WHOLE, Case


def case(columns: float, seed: int) -> Case:
    records = synthetic(seed, columns=int(columns))
    return Case(records, records, 1.0)


def says(kl: Told) -> tuple[str, str]:
    shows = (
        f"From 1 to 8 columns the proposed mechanism goes from {kl.text(PROPOSED, 1)} to {kl.text(PROPOSED, 8)} nats, "
        f"the proven release of whole records from {kl.text(WHOLE, 1)} to {kl.text(WHOLE, 8)}, and that of labels "
        f"alone from {kl.text(LABEL, 1)} to {kl.text(LABEL, 8)}."
    )
    differs = (
        "As in the paper KL grows with d; unlike there, Laplace on equal footing is better in few columns "
        f"({kl.text(FAIR, 1)} in one)."
    )
    return shows, differs


FIGURE = CurveFigure(
    name="figure_4",
    title="KL(released || fit) in nats by columns d: epsilon 1, N 1,000, K 5, delta 1e-5",
    axis="columns d",
    values=(1, 2, 3, 5, 8),
    measure=kl_of(case),
    trials={"published": 1_000, "whole": 100, "label": 40},
    quick_trials=1,
    says=says,
    logarithmic=False,
)
