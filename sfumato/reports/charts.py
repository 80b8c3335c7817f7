"""Pictures of the public report: the budget, and how columns depend on each other."""

from collections.abc import Sequence

from markupsafe import Markup

from sfumato.artefact.statement import PrivacyStatement
from sfumato.charts import svg
from sfumato.fitting.models.model import Model

_SHADES = ("#b08d63", "#7a6a58", "#a55a42", "#c9b48f", "#5b6b6f", "#8c4a5a")


def budget_chart(statement: PrivacyStatement) -> Markup:
    """One bar, as long as the budget, cut into what each measurement took."""
    marks, x = [], 0.0
    for place, item in enumerate(statement.items):
        share = item.units / statement.units_budget
        hint = f"{item.what}: {share:.1%} of the budget, mu {item.mu:.4g}"
        marks.append(svg.box(x, 4, 700 * share, 26, _SHADES[place % len(_SHADES)], hint=hint))
        marks.append(
            svg.text(x + 6, 21, f"{place + 1}: {share:.0%}", fill="#fff", size=12) if share > 0.06 else Markup("")
        )
        x += 700 * share
    left = 1 - statement.units_spent / statement.units_budget
    marks.append(svg.box(x, 4, 700 * left, 26, "#e9e2d8", hint=f"{left:.1%} is left"))
    return svg.picture(700, 34, marks, "How the budget was spent")


def dependence_chart(model: Model, names: Sequence[str]) -> Markup:
    """A square for every two columns, darker where one tells more of the other."""
    cell, edge = min(34.0, 560 / len(names)), 120.0
    marks = []
    for row, first in enumerate(names):
        y = edge + row * cell
        marks.append(svg.text(edge - 6, y + cell / 2 + 3.5, svg.shorten(first, 18), "end"))
        marks.append(svg.text(edge + row * cell + cell / 2, edge - 8, svg.shorten(first, 18), turn=-45))
        for column, second in enumerate(names[: row + 1]):
            x = edge + column * cell
            if row == column:
                marks.append(svg.box(x + 0.5, y + 0.5, cell - 1, cell - 1, "#efe9e1"))
                continue
            strength = model.dependence(first, second)
            marks.append(
                svg.box(
                    x + 0.5,
                    y + 0.5,
                    cell - 1,
                    cell - 1,
                    "#7a3b2e",
                    max(0.04, strength),
                    f"{first} and {second}: {strength:.2f}",
                )
            )
            if cell >= 24:
                ink = "#fff" if strength > 0.5 else svg.INK
                marks.append(
                    svg.text(x + cell / 2, y + cell / 2 + 3.5, f"{strength:.2f}".lstrip("0"), "middle", 9, ink)
                )
    size = edge + len(names) * cell
    return svg.picture(size + 60, size, marks, "How columns depend on each other")
