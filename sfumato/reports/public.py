"""The public report: one self-contained HTML page, made from a release and nothing else."""

import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from sfumato._version import __version__
from sfumato.artefact.release import Release
from sfumato.charts.columns import column_chart
from sfumato.reports.charts import budget_chart, dependence_chart
from sfumato.reports.images import image_grids
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Column
from sfumato.trusted.schema.constraints import describe

_MOST_IN_MATRIX = 30
_MOST_CHARTS = 120
_MOST_PARAMETERS = 120


def public_report(release: Release) -> str:
    """The page.

    A reviewer reads it in five minutes: the promise, the budget, every column, dependence, what is not covered.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("sfumato.reports").joinpath("public.html").read_text(encoding="utf-8"))
    codes = Encoder(release.schema).columns
    charts = [
        {"name": name, "about": _about(column), "chart": column_chart(release.model, name, codes[name])}
        for name, column in _charted(release)
    ]
    chosen = _most_dependent(release)
    return template.render(
        release=release,
        statement=release.statement,
        budget=budget_chart(release.statement),
        charts=charts,
        images=image_grids(release),
        constraints=[describe(one) for one in release.schema.constraints],
        chosen=chosen,
        matrix=dependence_chart(release.model, chosen) if len(chosen) > 1 else "",
        **_classes(release),
        version=__version__,
    )


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
    step = max(1, -(-len(others) // _MOST_CHARTS))
    wanted = {target, *others[::step]}
    return [(name, column) for name, column in columns.items() if name in wanted]


def _about(column: Column) -> str:
    missing = ", may be missing" if column.missing else ""
    bounds = getattr(column, "bounds", None)
    if bounds:
        scale = " on a log scale" if getattr(column, "scale", "linear") == "log" else ""
        low, high = (f"{bound:g}" if isinstance(bound, float) else str(bound) for bound in bounds)
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
