"""Pictures of the public report: the budget, and how columns depend on each other."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from sfumato.artefact.statement import PrivacyStatement
from sfumato.charts import svg
from sfumato.reports.public_dependence import Dependence, Pair

_SHADES = ("#b08d63", "#7a6a58", "#a55a42", "#c9b48f", "#5b6b6f", "#8c4a5a")
_GREY, _OWN = "#efeae3", "#ffffff"
_LETTERS, _LETTER = 30, 5.9  # of a name's line, and the width of one


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


def dependence_chart(names: Sequence[str], found: Mapping[Pair, Dependence]) -> Markup:
    """A square for every two columns, darker where one tells more of the other, grey where noise hides it.

    Columns are numbered, so that long names need no room at the top.
    """
    labels = [f"{name}  {place + 1}" for place, name in enumerate(names)]
    lines = max(len(svg.lines_of(label, _LETTERS)) for label in labels)
    cell = max(24.0, min(34.0, 620 / len(names)), lines * svg.LINE * 11 + 4)
    edge = 12 + _LETTER * min(_LETTERS, max(map(len, labels)))
    marks = []
    for row, first in enumerate(names):
        y = 20 + row * cell
        marks.append(svg.label(edge - 6, y + cell / 2, labels[row], _LETTERS, "end"))
        marks.append(svg.text(edge + (row + 0.5) * cell, 13, row + 1, "middle", 11, svg.FAINT, hint=first))
        marks.append(svg.box(edge + row * cell + 0.5, y + 0.5, cell - 1, cell - 1, _OWN))
        for column, second in enumerate(names[:row]):
            marks += _cell(edge + column * cell, y, cell, f"{first} and {second}", found[first, second])
    width, height = edge + len(names) * cell + 4, 24 + len(names) * cell
    return svg.picture(width, height, marks, "How columns depend on each other", 1.15)


def _cell(x: float, y: float, cell: float, names: str, one: Dependence) -> list[Markup]:
    if not one.shown:
        return [svg.box(x + 0.5, y + 0.5, cell - 1, cell - 1, _GREY, hint=f"{names}: {one.note}")]
    hint = f"{names}: {one.strength:.2f}; {one.note}"
    ink = "#fff" if one.strength > 0.45 else svg.INK
    words = f"{one.strength:.2f}".lstrip("0")
    return [
        svg.box(x + 0.5, y + 0.5, cell - 1, cell - 1, svg.ATOM, 0.08 + 0.92 * min(1.0, one.strength), hint),
        svg.text(x + cell / 2, y + cell / 2 + 4, words, "middle", 11, ink, hint=hint),
    ]
