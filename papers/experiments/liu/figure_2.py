"""Figure 2: KL by the number of records."""

from experiments.cells import Figures
from experiments.liu.data import synthetic
from experiments.liu.figure import CurveFigure, Medians, kl_of_all
from experiments.liu.methods import FAIR, LIMIT, PROPOSED, WHOLE

TRIALS, PROVEN, WITH_LABELS = 200, 100, 20


def measure(rows: float, seed: int) -> Figures:
    records = synthetic(seed, rows=int(rows))
    return kl_of_all(records, records, 1.0, seed, whole=seed < PROVEN, label=seed < WITH_LABELS)


def says(kl: Medians) -> tuple[str, str]:
    shows = (
        f"A hundred times as many records take the proven release from {kl.text(WHOLE, 300)} to "
        f"{kl.text(WHOLE, 30_000)} nats, where the chance of drawing other records does {kl.text(LIMIT, 30_000)}, and "
        f"the proposed mechanism from {kl.text(PROPOSED, 300)} to {kl.text(PROPOSED, 30_000)}."
    )
    differs = (
        f"The paper sees KL fall as N grows; so it does, down to a floor of {kl.text(PROPOSED, 30_000)} nats that no "
        "number of records removes, because (22) adds noise that the budget does not ask for (Laplace on equal "
        f"footing reaches {kl.text(FAIR, 30_000)})."
    )
    return shows, differs


FIGURE = CurveFigure(
    number=2,
    title="KL(released || fit) in nats by records N: epsilon 1, K 5, d 3, delta 1e-5",
    axis="records N",
    values=(300, 1_000, 3_000, 10_000, 30_000),
    measure=measure,
    trials=TRIALS,
    quick_trials=1,
    says=says,
)
