"""An evaluation in a notebook: the notice, the verdict, and the columns that are farthest from the real rows."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from markupsafe import Markup

from sfumato.evaluation.column_charts import REAL, SYNTHETIC, column_chart

if TYPE_CHECKING:
    from sfumato.evaluation.evaluation import Evaluation
    from sfumato.evaluation.families.evaluation import FamilyEvaluation

_SHOWN = 6
GRADE_INK = {"good": "#4f6b4a", "fair": "#9a6b12", "poor": "#7a3b2e"}
"""The colour of each grade."""
_VIEW = Markup(
    '<div style="max-width:900px;padding:8px;font-family:Georgia,serif;color:#2f2a26;background:#fbf8f3">'
    '<div style="background:#7a3b2e;color:#fff;padding:3px 10px;font:bold 12px Arial,sans-serif">{notice}</div>'
    '<p style="font-size:17px;margin:8px 0">{headline}</p><ul style="margin:4px 0">{findings}</ul>{below}</div>'
)
_COLUMNS = Markup(
    '<p style="font-size:12px;margin:8px 0"><b style="color:{real}">■ real</b> <b style="color:{synthetic}">■ '
    "synthetic</b>; the columns that are farthest from the real rows</p>"
    '<div style="display:flex;flex-wrap:wrap;gap:12px">{charts}</div>'
)
_FINDING = Markup('<li><b style="color:{ink}">{grade}</b> {topic}: {words}</li>')
_CHART = Markup('<div style="width:270px"><b style="overflow-wrap:anywhere">{name}</b>{state}{chart}</div>')


def notebook_view(evaluation: "Evaluation") -> Markup:
    """A short page without scripts."""
    from sfumato.evaluation.evaluation import NOTICE

    far = sorted(evaluation.columns, key=lambda name: -evaluation.fidelity.columns[name].share)
    charts = Markup("").join(_chart(evaluation, name) for name in far[:_SHOWN])
    below = _COLUMNS.format(real=REAL, synthetic=SYNTHETIC, charts=charts)
    return _view(NOTICE, evaluation.verdict.headline, evaluation.verdict.findings, below)


def notebook_view_of_family(evaluation: "FamilyEvaluation") -> Markup:
    """The same of a family: the notice, the verdict and every topic."""
    from sfumato.evaluation.families.evaluation import NOTICE

    return _view(NOTICE, evaluation.headline, evaluation.findings, Markup(""))


def _view(notice: str, headline: str, findings: Iterable[object], below: Markup) -> Markup:
    lines = (_FINDING.format(ink=GRADE_INK[vars(one)["grade"]], **vars(one)) for one in findings)
    return _VIEW.format(notice=notice, headline=headline, findings=Markup("").join(lines), below=below)


def _chart(evaluation: "Evaluation", name: str) -> Markup:
    column, state = evaluation.columns[name], evaluation.state(name)
    told = "" if state == "near" else Markup(' <span style="color:#7a3b2e">{}</span>').format(state)
    return _CHART.format(name=name, state=told, chart=column_chart(name, column.overlay, column.unit))
