"""The custodian's report: what a release is worth, by a comparison with private records. Never for publication."""

from typing import Any

from sfumato._version import __version__
from sfumato.artefact.release import Release
from sfumato.evaluation.column_charts import REAL, SYNTHETIC, column_chart
from sfumato.evaluation.evaluation import COMPARED_NOTE, LEARNERS_NOTE, NOTICE, ComparedColumn, Evaluation
from sfumato.evaluation.figures import QUANTILES
from sfumato.evaluation.metrics_library import HOW_TO_GET, MOST_COLUMNS, MOST_ROWS
from sfumato.evaluation.training import MOST_TRAINED
from sfumato.evaluation.verdict import RULES
from sfumato.reports.pages import page_style, page_template
from sfumato.reports.private_charts import (
    MOST_DOTS,
    RELEASED,
    correlations_chart,
    groups_chart,
    pairs_chart,
    pairs_matrix,
    scores_chart,
)

_MOST_PAIRS, _MOST_GROUPS = 40, 40
_STATES = ("ruined", "distorted", "near")


def private_report(evaluation: Evaluation, release: Release) -> str:
    """The page, with a notice on top of every printed sheet."""
    pairs = sorted(evaluation.fidelity.pairs.items(), key=lambda item: -item[1])
    groups = sorted(evaluation.groups, key=lambda group: -group.loss)
    return page_template("private.html").render(
        style=page_style("private.css"),
        notice=NOTICE,
        evaluation=evaluation,
        verdict=evaluation.verdict,
        rules=RULES,
        statement=release.statement,
        inks={"real": REAL, "synthetic": SYNTHETIC, "release": RELEASED},
        scores=scores_chart(evaluation),
        score_rows=_score_rows(evaluation),
        columns=_columns(evaluation),
        cards=[_card(evaluation, name) for name in _in_order(evaluation)],
        compared=COMPARED_NOTE,
        learners=LEARNERS_NOTE,
        most_trained=MOST_TRAINED,
        library_rows=MOST_ROWS,
        library_columns=MOST_COLUMNS,
        how_to_get=HOW_TO_GET,
        most_dots=MOST_DOTS,
        correlations=correlations_chart(evaluation),
        pairs=pairs_chart(evaluation),
        matrix=pairs_matrix(evaluation),
        worst=[(" and ".join(pair), value, evaluation.floor.pairs[pair]) for pair, value in pairs[:_MOST_PAIRS]],
        groups=groups_chart(groups[:_MOST_GROUPS]),
        left_out=max(0, len(groups) - _MOST_GROUPS),
        version=__version__,
    )


def _score_rows(evaluation: Evaluation) -> list[tuple[str, list[float | None]]]:
    """What each learner reaches from real, synthetic and weighted synthetic rows; the release itself has one score."""
    found: dict[str, list[float | None]] = {}
    for item in evaluation.scores:
        found.setdefault(item.learner, []).append(item.value)
    return list(found.items())


def _columns(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A line for each column, the farthest first: its distances, and where the test rows are."""
    checks = {check.column: check for check in evaluation.checks}
    found = [
        {
            "name": name,
            "near": near,
            "floor": evaluation.floor.columns[name],
            "state": evaluation.state(name),
            "misread": checks[name].misread_share,
            "hints": checks[name].hints,
        }
        for name, near in evaluation.fidelity.columns.items()
    ]
    return sorted(found, key=lambda line: -line["near"].share)


def _in_order(evaluation: Evaluation) -> list[str]:
    """What is ruined first, then what is distorted, then the rest as in the schema."""
    return sorted(evaluation.columns, key=lambda name: _STATES.index(evaluation.state(name)))


def _card(evaluation: Evaluation, name: str) -> dict[str, Any]:
    """One column: the picture, and its figures in the column's own units."""
    column = evaluation.columns[name]
    return {
        "name": name,
        "state": evaluation.state(name),
        "near": evaluation.fidelity.columns[name],
        "floor": evaluation.floor.columns[name],
        "chart": column_chart(name, column.overlay, column.unit),
        "beyond": column.overlay.beyond if max(column.overlay.beyond) > 0 else None,
        "figures": _figure_rows(column),
    }


def _figure_rows(column: ComparedColumn) -> list[tuple[str, list[str]]]:
    """What each figure is, and its value in the real, the synthetic and the test rows."""
    if column.unit is None or not any(column.figures):
        return []
    unit = column.unit
    rows = [
        ("mean", [unit.write(one.mean) if one else "" for one in column.figures]),
        ("standard deviation", [unit.write_span(one.deviation) if one else "" for one in column.figures]),
    ]
    for place, share in enumerate(QUANTILES):
        label = "median" if share == 0.5 else f"{share:.0%} quantile"
        rows.append((label, [unit.write(one.quantiles[place]) if one else "" for one in column.figures]))
    return rows
