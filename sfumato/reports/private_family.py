"""The custodian's report on a family of tables: what its release is worth, by a comparison with private rows."""

from typing import Any

from markupsafe import Markup

from sfumato._version import __version__
from sfumato.artefact.families.release import FamilyRelease
from sfumato.charts import svg
from sfumato.evaluation.column_charts import REAL, SYNTHETIC
from sfumato.evaluation.families.evaluation import NOTICE, RULES, FamilyEvaluation, TableComparison
from sfumato.reports.family_charts import following_chart, numbers_chart
from sfumato.reports.pages import page_style, page_template

_WORST = 12
_INKS = {"real": REAL, "synthetic": SYNTHETIC, "test": svg.FAINT}


def private_family_report(evaluation: FamilyEvaluation, release: FamilyRelease) -> str:
    """The page, with a notice on top of every printed sheet."""
    return page_template("private_family.html").render(
        style=page_style("private.css"),
        notice=NOTICE,
        evaluation=evaluation,
        told=[one for one in evaluation.facts if one.describe()],
        statement=release.statement,
        rules=RULES,
        inks=_INKS,
        tables=[_table(name, table) for name, table in evaluation.tables.items()],
        version=__version__,
    )


def _table(name: str, table: TableComparison) -> dict[str, Any]:
    columns = sorted(table.near.columns.items(), key=lambda item: -item[1].share)
    misread = {check.column: check.misread_share for check in table.checks}
    return {
        "name": name,
        "rows": table.rows,
        "columns": [
            (column, near.share, table.floor.columns[column].share, misread[column]) for column, near in columns
        ],
        "numbers": _numbers(table),
        "following": {
            column: [(which, following_chart(counts, one.labels)) for which, counts in one.counts.items()]
            for column, one in table.following.items()
        },
        "means": _means(table),
        "worst": {} if table.linked is None else _worst(table),
    }


def _numbers(table: TableComparison) -> Markup:
    shown = {which: table.numbers[which] for which in ("real", "synthetic") if which in table.numbers}
    return numbers_chart(shown, _INKS) if shown else Markup("")


def _means(table: TableComparison) -> list[tuple[str, float, float]]:
    if table.linked is None:
        return []
    near, floor = (one.means() for one in table.linked)
    return [(topic, near[topic], floor.get(topic, 0.0)) for topic in near]


def _worst(table: TableComparison) -> dict[str, list[tuple[str, float, float]]]:
    """The pairs that are farthest off, of each kind."""
    assert table.linked is not None  # noqa: S101 - asked of tables with a parent
    near, floor = table.linked
    kinds = {
        "with rows above, by row": ("above_by_row", "{} and {}"),
        "with the row before": ("steps", "{}, then {}"),
        "figures of persons": ("persons", "{}: {}"),
    }
    found = {}
    for words, (kind, form) in kinds.items():
        pairs, chance = getattr(near, kind), getattr(floor, kind)
        ordered = sorted(pairs, key=lambda pair: chance.get(pair, 0.0) - pairs[pair])[:_WORST]
        if ordered:
            found[words] = [(form.format(*pair), pairs[pair], chance.get(pair, 0.0)) for pair in ordered]
    return found
