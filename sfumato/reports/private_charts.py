"""Pictures of the custodian's report beside those of single columns: learners, sub-groups, pairs, correlations."""

from collections.abc import Sequence

from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.axes import Axes, Axis
from sfumato.evaluation.column_charts import REAL, SYNTHETIC, wrap_words
from sfumato.evaluation.evaluation import Evaluation
from sfumato.evaluation.training import REAL as FROM_REAL
from sfumato.evaluation.training import WEIGHTED, Group, Score
from sfumato.evaluation.verdict import guessing_score

RELEASED = "#7a3b2e"
_GRID = "#e9e2d8"
_TALLEST = 520.0  # of the rows of one drawing: it is never cut by the end of a sheet
_WIDTH, _LABELS, _END = 430.0, 150.0, 412.0
MOST_DOTS = 2_000
"""Pairs of columns that are drawn as dots; where there are more, those that are farthest off."""
_MOST_IN_MATRIX = 40


def scores_chart(evaluation: Evaluation) -> Markup:
    """A row for each learner, a dot for what it was trained on, over an axis of the score."""
    known = [item for item in evaluation.scores if item.value is not None]
    if not known:
        return Markup("")
    base = guessing_score(evaluation.measure)
    values = [float(item.value or 0.0) for item in known]
    axis = Axis(min(base, max(base - 0.5, min(values))), max(*values, base + 0.05), write="{:.2f}".format)
    names = list(dict.fromkeys(item.learner for item in known))
    marks, height = [], 30.0
    for place, name in enumerate(names):
        y = height * (place + 0.5)
        dots = [item for item in known if item.learner == name]
        across = [_across(axis, float(item.value or 0.0)) for item in dots]
        marks += [svg.text(_LABELS - 12, y + 4, name, "end", 12), svg.line(min(across), y, max(across), y, svg.FAINT)]
        marks += [_score_mark(item, x, y) for item, x in zip(dots, across, strict=True)]
    return _with_axis(marks, height * len(names), axis, evaluation.measure, base)


def score_ink(trained_on: str) -> str:
    """The colour of what a learner was trained on."""
    return REAL if trained_on == FROM_REAL else SYNTHETIC if trained_on else RELEASED


def _score_mark(item: Score, x: float, y: float) -> Markup:
    hint = (
        f"{item.learner}, {item.trained_on}: {item.value:.4f}"
        if item.trained_on
        else f"{item.learner}: {item.value:.4f}"
    )
    if item.trained_on == WEIGHTED:  # a square
        return svg.box(x - 5, y - 5, 10, 10, SYNTHETIC, 1, hint)
    return svg.dot(x, y, 6, score_ink(item.trained_on), hint)


def groups_chart(groups: Sequence[Group]) -> Markup:
    """Two dots for each sub-group over an axis of the error: of a learner from real rows, and from synthetic ones.

    Long lists are cut into several drawings, each of which fits on a sheet of paper.
    """
    if not groups:
        return Markup("")
    axis = Axis(0, max(max(group.error_real, group.error_synthetic) for group in groups) or 1.0)
    drawn, marks, y = [], list[Markup](), 0.0
    for group in groups:
        lines = wrap_words(f"{group.column} = {group.value}", _LABELS - 14, 11)
        height = max(22.0, 14.0 * len(lines) + 6)
        if marks and y + height > _TALLEST:
            drawn.append(_with_axis(marks, y, axis, "mean error", None))
            marks, y = [], 0.0
        marks += _group_marks(group, lines, y + height / 2, axis)
        y += height
    return Markup("").join([*drawn, _with_axis(marks, y, axis, "mean error", None)])


def _group_marks(group: Group, lines: Sequence[str], middle: float, axis: Axis) -> list[Markup]:
    first = middle - 14.0 * (len(lines) - 1) / 2 + 4
    real, synthetic = (_across(axis, error) for error in (group.error_real, group.error_synthetic))
    hint = (
        f"{group.rows} test rows: {group.error_real:.4f} from real, {group.error_synthetic:.4f} from synthetic "
        f"rows; chance explains {group.margin:.4f}"
    )
    ink = RELEASED if group.loss > group.margin else svg.INK
    return [
        *(svg.text(_LABELS - 12, first + 14 * n, line, "end", 11, ink) for n, line in enumerate(lines)),
        svg.line(real, middle, synthetic, middle, svg.FAINT, 1.5),
        svg.dot(real, middle, 5, REAL, hint),
        svg.dot(synthetic, middle, 5, SYNTHETIC, hint),
    ]


def _across(axis: Axis, value: float) -> float:
    return _LABELS + axis.share(value) * (_END - _LABELS)


def _with_axis(marks: list[Markup], height: float, axis: Axis, label: str, base: float | None) -> Markup:
    """Rows of marks above an axis; a dashed line at what guessing reaches."""
    drawn = []
    for tick in axis.ticks(6):
        x = _across(axis, tick)
        drawn += [svg.line(x, 0, x, height, _GRID), svg.text(x, height + 16, axis.write(tick), "middle", 11, svg.FAINT)]
    drawn.append(svg.line(_LABELS, height, _END, height))
    if base is not None and axis.low <= base:
        x = _across(axis, base)
        drawn += [
            svg.path([(x, 0), (x, height)], svg.FAINT, 1.4, "4 3"),
            svg.text(x + 4, height - 4, "guessing", size=10.5, fill=svg.FAINT),
        ]
    drawn.append(svg.text((_LABELS + _END) / 2, height + 33, label, "middle", 12))
    return svg.picture(_WIDTH, height + 40, [*drawn, *marks], label)


def correlations_chart(evaluation: Evaluation) -> Markup:
    """A dot for every two columns: their correlation in the synthetic rows over that in the real ones."""
    found = sorted(evaluation.correlations, key=lambda one: -abs(one.synthetic - one.real))[:MOST_DOTS]
    if not found:
        return Markup("")
    reach = min(1.0, 1.1 * max(max(abs(one.real), abs(one.synthetic)) for one in found) + 0.02)
    axes = _square(Axis(-reach, reach, "real rows"), Axis(-reach, reach, "synthetic rows"), "Correlations of all pairs")
    axes.line([(-reach, -reach), (reach, reach)], svg.FAINT, 1.2, "4 3")
    axes.line([(-reach, 0), (reach, 0)], svg.FAINT, 0.6)
    axes.line([(0, -reach), (0, reach)], svg.FAINT, 0.6)
    for one in found:
        hint = (
            f"{' and '.join(one.columns)}: {one.real:.3f} real, {one.synthetic:.3f} synthetic, {one.test:.3f} test rows"
        )
        axes.dot(one.real, one.synthetic, SYNTHETIC, hint, 4)
    return axes.picture()


def pairs_chart(evaluation: Evaluation) -> Markup:
    """A dot for every two columns: how far the synthetic rows are, over how far the test rows are by chance."""
    pairs = sorted(evaluation.fidelity.pairs.items(), key=lambda item: -item[1])[:MOST_DOTS]
    if not pairs:
        return Markup("")
    floor = evaluation.floor.pairs
    reach = min(1.0, 1.08 * max(max(value, floor[pair]) for pair, value in pairs) + 0.005)
    axes = _square(
        Axis(0, reach, "test rows: chance level"), Axis(0, reach, "synthetic rows"), "Distance of every two columns"
    )
    axes.line([(0, 0), (reach, reach)], svg.FAINT, 1.2, "4 3")
    for pair, value in pairs:
        hint = f"{' and '.join(pair)}: {value:.4f}; test rows {floor[pair]:.4f}"
        axes.dot(floor[pair], value, SYNTHETIC, hint, 4)
    return axes.picture()


def _square(x: Axis, y: Axis, title: str) -> Axes:
    return Axes(x, y, title, width=400, height=380)


def pairs_matrix(evaluation: Evaluation) -> Markup:
    """A square for every two columns, darker where the synthetic table is farther off; numbers stand for the names."""
    names = list(evaluation.fidelity.columns)
    if not 2 < len(names) <= _MOST_IN_MATRIX:
        return Markup("")
    cell, edge = min(34.0, 560 / len(names)), 26.0
    top = max([*evaluation.fidelity.pairs.values(), 1e-9])
    marks = []
    for row, first in enumerate(names):
        y = edge + row * cell
        marks.append(svg.text(edge - 6, y + cell / 2 + 4, row + 1, "end", 11))
        marks.append(svg.text(edge + row * cell + cell / 2, edge - 8, row + 1, "middle", 11))
        for column, second in enumerate(names[:row]):
            value = evaluation.fidelity.pairs[second, first]
            hint = f"{second} and {first}: {value:.4f}; test rows {evaluation.floor.pairs[second, first]:.4f}"
            x = edge + column * cell
            marks.append(svg.box(x + 0.5, y + 0.5, cell - 1, cell - 1, RELEASED, max(0.04, value / top), hint))
            if cell >= 24:
                ink = "#fff" if value > top / 2 else svg.INK
                shown = f"{value:.2f}".lstrip("0")
                marks.append(svg.text(x + cell / 2, y + cell / 2 + 3.5, shown, "middle", 10, ink))
    size = edge + len(names) * cell
    return svg.picture(size + 4, size, marks, "Distance of every two columns")
