"""Figure 2: KL by the number of records."""

from experiments.liu.data import synthetic
from experiments.liu.figure import TABLES, CurveFigure, Told, in_words, kl_of
from experiments.liu.methods import EXPECTED, FAIR, LIMIT, PROPOSED, WHOLE, Case


def case(rows: float, seed: int) -> Case:
    records = synthetic(seed, rows=int(rows))
    return Case(records, records, 1.0)


def says(kl: Told) -> tuple[str, str]:
    shows = (
        f"A hundred times as many records take the proven release from {kl.text(WHOLE, 300)} to "
        f"{kl.text(WHOLE, 30_000)} nats, where the chance of drawing other records does {kl.text(LIMIT, 30_000)}, and "
        f"the proposed mechanism from {kl.text(PROPOSED, 300)} to {kl.text(PROPOSED, 30_000)}."
    )
    differs = (
        "The paper sees KL fall as N grows; so it does, down to the floor of figure 1 (what (8) is on the middle of "
        f"these tables: {in_words(kl.median(EXPECTED, 30_000))}) that no number of records removes, because (22) adds "
        "noise that the budget does not ask for (Laplace on equal footing reaches "
        f"{kl.text(FAIR, 30_000)})."
    )
    return shows, differs


FIGURE = CurveFigure(
    name="figure_2",
    title="KL(released || fit) in nats by records N: epsilon 1, K 5, d 3, delta 1e-5",
    axis="records N",
    values=(300, 1_000, 3_000, 10_000, 30_000),
    measure=kl_of(case),
    trials={"published": 1_000, "expected": TABLES, "whole": 100, "label": 20},
    quick_trials=1,
    says=says,
)
