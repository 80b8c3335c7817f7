"""The custodian's report: what a release is worth, by a comparison with private records. Never for publication."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sfumato._version import __version__
from sfumato.artefact.release import Release
from sfumato.charts import svg
from sfumato.evaluation.evaluation import COMPARED_NOTE, LEARNERS_NOTE, NOTICE, Evaluation, Group

_REAL, _SYNTHETIC = "#7a6a58", "#b08d63"
_MOST_PAIRS, _MOST_GROUPS = 40, 40


def private_report(evaluation: Evaluation, release: Release) -> str:
    """The page, with a notice on top of every printed sheet."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("sfumato.reports").joinpath("private.html").read_text(encoding="utf-8"))
    pairs = sorted(evaluation.fidelity.pairs.items(), key=lambda item: -item[1])
    groups = sorted(evaluation.groups, key=lambda group: group.error_real - group.error_synthetic)
    return template.render(
        notice=NOTICE,
        evaluation=evaluation,
        statement=release.statement,
        scores=_scores(evaluation),
        columns=_columns(evaluation),
        compared=COMPARED_NOTE,
        learners=LEARNERS_NOTE,
        matrix=_matrix(evaluation) if 2 < len(evaluation.fidelity.columns) <= 60 else "",
        worst=[(" and ".join(pair), value, evaluation.floor.pairs[pair]) for pair, value in pairs[:_MOST_PAIRS]],
        groups=_group_marks(groups[:_MOST_GROUPS]),
        left_out=max(0, len(groups) - _MOST_GROUPS),
        version=__version__,
    )


def _scores(evaluation: Evaluation) -> Markup:
    """A bar for each learner and what it was trained on."""
    known = [item for item in evaluation.scores if item.value is not None]
    if not known:
        return Markup("")
    base = 0.5 if evaluation.measure.startswith("area") else 0.0
    top = max(max(item.value or 0.0 for item in known), base + 1e-9)
    marks = []
    for place, item in enumerate(known):
        y, value = 26.0 * place, float(item.value or 0.0)
        width = 300 * max(0.0, value - base) / (top - base)
        label = f"{item.learner}: {item.trained_on}" if item.trained_on else item.learner
        fill = _REAL if item.trained_on == "real rows" else _SYNTHETIC
        marks += [
            svg.text(372, y + 16, label, "end", 11),
            svg.box(380, y + 4, width, 17, fill, 0.9),
            svg.text(386 + width, y + 16, f"{value:.3f}", size=11),
        ]
    return svg.picture(740, 26.0 * len(known) + 4, marks, evaluation.measure)


def _columns(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A line for each column, the farthest first: its distances, and where the test rows are."""
    checks = {check.column: check for check in evaluation.checks}
    found = [
        {
            "name": name,
            "near": near,
            "floor": evaluation.floor.columns[name],
            "misread": checks[name].misread_share,
            "hints": checks[name].hints,
        }
        for name, near in evaluation.fidelity.columns.items()
    ]
    return sorted(found, key=lambda line: -line["near"].share)


def _matrix(evaluation: Evaluation) -> Markup:
    """A square for every two columns, darker where the synthetic table is farther off."""
    names = list(evaluation.fidelity.columns)
    cell, edge = min(34.0, 560 / len(names)), 130.0
    top = max([*evaluation.fidelity.pairs.values(), 1e-9])
    marks = []
    for row, first in enumerate(names):
        y = edge + row * cell
        marks.append(svg.text(edge - 6, y + cell / 2 + 3.5, svg.shorten(first, 20), "end"))
        marks.append(svg.text(edge + row * cell + cell / 2, edge - 8, svg.shorten(first, 20), turn=-45))
        for column, second in enumerate(names[:row]):
            value = evaluation.fidelity.pairs[second, first]
            hint = f"{second} and {first}: {value:.4f}; test rows {evaluation.floor.pairs[second, first]:.4f}"
            x = edge + column * cell
            marks.append(svg.box(x + 0.5, y + 0.5, cell - 1, cell - 1, "#7a3b2e", max(0.04, value / top), hint))
            if cell >= 24:
                ink = "#fff" if value > top / 2 else svg.INK
                shown = f"{value:.2f}".lstrip("0")
                marks.append(svg.text(x + cell / 2, y + cell / 2 + 3.5, shown, "middle", 9, ink))
    size = edge + len(names) * cell
    return svg.picture(size + 60, size, marks, "Total variation of every two columns")


def _group_marks(groups: list[Group]) -> Markup:
    """Two dots for each sub-group: the error of a learner from real rows, and from synthetic ones."""
    if not groups:
        return Markup("")
    top = max(max(group.error_real, group.error_synthetic) for group in groups) or 1.0
    marks = []
    for place, group in enumerate(groups):
        y = 20.0 * place + 10
        real, synthetic = (270 + 380 * error / top for error in (group.error_real, group.error_synthetic))
        hint = (
            f"{group.rows} test rows: {group.error_real:.4f} from real, {group.error_synthetic:.4f} from synthetic rows"
        )
        marks += [
            svg.text(260, y + 4, svg.shorten(f"{group.column} = {group.value}", 40), "end", 11),
            svg.line(real, y, synthetic, y, svg.FAINT, 1.5),
            svg.dot(real, y, 4.5, _REAL, hint),
            svg.dot(synthetic, y, 4.5, _SYNTHETIC, hint),
            svg.text(664, y + 4, f"{group.error_real:.3f} → {group.error_synthetic:.3f}", size=10, fill=svg.FAINT),
        ]
    return svg.picture(760, 20.0 * len(groups) + 6, marks, "Error by sub-group")
