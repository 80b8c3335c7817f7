"""The public report: one self-contained HTML page, made from a release and what its custodian says about it."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from markupsafe import Markup

from sfumato._version import __version__
from sfumato.artefact.about import About
from sfumato.artefact.making import making_of
from sfumato.artefact.promise import plain_promise, risk_lines, risk_of
from sfumato.artefact.questions import example_questions, quality_of
from sfumato.artefact.release import Release
from sfumato.artefact.statement import PrivacyStatement
from sfumato.artefact.verdict import judge
from sfumato.charts.columns import column_chart
from sfumato.charts.ordered import write
from sfumato.reports.charts import budget_chart, dependence_chart
from sfumato.reports.images import image_grids
from sfumato.reports.pages import page_style, page_template
from sfumato.reports.public_dependence import find_dependences
from sfumato.reports.risk_chart import risk_chart
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Column
from sfumato.trusted.schema.constraints import describe

_MOST_IN_MATRIX = 30
_MOST_CHARTS = 120
_MOST_CHARTS_OF_IMAGES = 12
_MOST_PARAMETERS = 120
_MOST_LISTED = 12
_ABOUT = {
    "custodian": "custodian",
    "purpose": "purpose",
    "description": "the records",
    "collection": "collection",
    "limits": "what to know",
    "justification": "why this epsilon",
    "earlier_looks": "earlier looks at the data",
    "maintenance": "maintenance",
    "contact": "contact",
    "published": "published",
    "review": "to be reviewed",
    "license": "license",
    "citation": "citation",
    "url": "address",
}


def public_report(release: Release, about: About | None = None) -> str:
    """The page.

    A reviewer reads it in five minutes: the promise and the risk, what the release is good for, every column,
    dependence, how it was made, what is not covered.

    release   from a bundle, or just made; nothing else is looked at
    about     what the custodian says beside it, see `sfumato.artefact.about.load_about`

    Returns HTML that loads nothing from elsewhere.

    Example
        >>> public_report(release).startswith("<!doctype html>")
        True
    """
    quality, statement, target = quality_of(release), release.statement, release.schema.target
    return page_template("public.html").render(
        style=page_style("public.css"),
        release=release,
        statement=statement,
        title=(about.title if about else None) or statement.dataset,
        plain=plain_promise(statement, target),
        verdict=judge(quality),
        risks=[] if statement.seeded else risk_lines(statement, target),
        risk_picture="" if statement.seeded else risk_picture(statement),
        questions=example_questions(release, quality),
        budget=budget_chart(statement),
        charts=_charts(release),
        images=image_grids(release),
        constraints=[describe(one) for one in release.schema.constraints],
        making=making_of(release),
        about=about_rows(about),
        **_dependences(release),
        **_classes(release),
        version=__version__,
    )


def risk_picture(statement: PrivacyStatement) -> Markup:
    """What an attacker gains, as a curve."""
    return risk_chart(risk_of(statement), of_membership=statement.adjacency == Adjacency.ADD_REMOVE)


class _Chart(NamedTuple):
    """A column as it is drawn."""

    name: str
    about: str
    chart: Markup


def _charts(release: Release) -> list[_Chart]:
    codes, model = Encoder(release.schema).columns, release.model
    told = {
        name: release.unconditioned.describe(name, codes[name], release.given, release.modelling)
        for name, _ in _charted(release)
    }
    return [
        _Chart(name, about_column(column), column_chart(model, name, codes[name], told[name]))
        for name, column in _charted(release)
    ]


def about_rows(about: About | None) -> list[tuple[str, str]]:
    """What the custodian says, line by line."""
    if about is None:
        return []
    said = {key: getattr(about, key) for key in _ABOUT}
    return [(words, str(said[key])) for key, words in _ABOUT.items() if said[key] is not None]


def _dependences(release: Release) -> dict[str, Any]:
    """The matrix of some columns, and the strongest dependences by name."""
    names = _most_dependent(release)
    found = find_dependences(release, names) if len(names) > 1 else {}
    strongest = sorted((pair for pair in found if found[pair].shown), key=lambda pair: -found[pair].strength)
    return {
        "chosen": names,
        "matrix": dependence_chart(names, found) if found else "",
        "strongest": [(*reversed(pair), found[pair].strength) for pair in strongest[:_MOST_LISTED]],
        "shown_pairs": len(strongest),
        "all_pairs": len(found),
    }


def _classes(release: Release) -> dict[str, object]:
    """The picture and the parameters of the classes, where the release is a Gaussian mixture of all records."""
    model = release.model
    if model.kind != "gaussian-mixture" or release.given:
        return {"ellipses": "", "parameters": []}
    from sfumato.reports.ellipses import ellipse_chart

    rows = release.parameters(output="arrow").to_pylist()
    labels = ["missing" if row["class"] is None else str(row["class"]) for row in rows if row["parameter"] == "weight"]
    named = {
        row["class"]: label for row, label in zip([r for r in rows if r["parameter"] == "weight"], labels, strict=True)
    }
    shown = [
        {**row, "label": named[row["class"]], **_spread(row)}
        for row in rows
        if row["parameter"] != "covariance" or row["column"] == row["with"]
    ]
    return {"ellipses": ellipse_chart(model, labels), "parameters": shown[:_MOST_PARAMETERS]}  # type: ignore[arg-type]


def _spread(row: Mapping[str, Any]) -> dict[str, Any]:
    """A variance as a standard deviation, which people read."""
    if row["parameter"] != "covariance":
        return {"name": row["parameter"]}
    return {"name": "sd", **{key: math.sqrt(max(row[key], 0.0)) for key in ("estimate", "low", "high")}}


def _charted(release: Release) -> list[tuple[str, Column]]:
    """The target, and all other columns or so many of them, evenly spread, as a reader will look at."""
    columns, target = release.schema.by_name, release.schema.target
    others = list(release.schema.features)
    most = _MOST_CHARTS_OF_IMAGES if image_columns(release) else _MOST_CHARTS
    step = max(1, -(-len(others) // most))
    wanted = {target, *others[step // 2 :: step]}
    return [(name, column) for name, column in columns.items() if name in wanted]


def image_columns(release: Release) -> bool:
    """Whether a run of columns is a picture, which says more than its single pixels."""
    return any(getattr(column, "image", None) is not None for column in release.schema.columns)


def about_column(column: Column) -> str:
    """The type and the bounds of a column in a few words."""
    missing = ", may be missing" if column.missing else ""
    bounds = getattr(column, "bounds", None)
    if bounds:
        scale = " on a log scale" if getattr(column, "scale", "linear") == "log" else ""
        low, high = map(write, bounds)
        return f"{column.type} from {low} to {high}{scale}{missing}"
    values = getattr(column, "values", None)
    return f"{column.type}{f' of {len(values)} values' if values else ''}{missing}"


def _most_dependent(release: Release) -> list[str]:
    """All columns, or those that tell most of the target where there are too many for one picture."""
    names, target = list(release.schema.by_name), release.schema.target
    if len(names) <= _MOST_IN_MATRIX:
        return names
    if target is None:
        return names[:_MOST_IN_MATRIX]
    others = sorted(release.schema.features, key=lambda name: -release.model.dependence(name, target))
    chosen = {target, *others[: _MOST_IN_MATRIX - 1]}
    return [name for name in names if name in chosen]
