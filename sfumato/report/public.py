"""The public report: one self-contained HTML page, made from a release and nothing else."""

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from sfumato._version import __version__
from sfumato.encoding import Encoder
from sfumato.receiver import Release
from sfumato.report.charts import budget_chart, column_chart, dependence_chart
from sfumato.schema import Column

_MOST_IN_MATRIX = 30


def public_report(release: Release) -> str:
    """The page.

    A reviewer reads it in five minutes: the promise, the budget, every column, dependence, what is not covered.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("sfumato.report").joinpath("public.html").read_text(encoding="utf-8"))
    codes = Encoder(release.schema).columns
    charts = [
        {"name": name, "about": _about(column), "chart": column_chart(release.model, name, codes[name])}
        for name, column in release.schema.by_name.items()
    ]
    chosen = _most_dependent(release)
    return template.render(
        release=release,
        statement=release.statement,
        budget=budget_chart(release.statement),
        charts=charts,
        chosen=chosen,
        matrix=dependence_chart(release.model, chosen) if len(chosen) > 1 else "",
        version=__version__,
    )


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
