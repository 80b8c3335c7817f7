"""The plan as one self-contained HTML page."""

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from sfumato._version import __version__
from sfumato.planning.charts import curve_charts
from sfumato.planning.columns import two_figures
from sfumato.planning.plan import Plan
from sfumato.reports.risk_chart import risk_chart

_ERRORS = {
    "column_error": "Single columns: share of the records in the wrong cell",
    "pair_error": "Two columns: share of the records in the wrong cell",
    "mean_error": "Means: off by this share of the range between the bounds",
    "prediction_gap": "Predictor of the target: loss in ",
}


def plan_page(plan: Plan) -> str:
    """The page: verdict, risk, errors with their intervals, curves against epsilon, questions and columns.

    Example
        >>> page = plan_page(sfumato.plan(release.schema, rows=10_000, epsilon=1))
        >>> page.startswith("<!doctype html>")
        True
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("sfumato.reports").joinpath("plan.html").read_text(encoding="utf-8"))
    return template.render(
        plan=plan,
        request=plan.request,
        quality=plan.quality,
        verdict=plan.verdict,
        errors=_errors(plan),
        charts=curve_charts(plan.curve, plan.epsilon),
        risk=risk_chart(plan.risk),
        risk_words=plan.risk_words[1:],
        figures=two_figures,
        version=__version__,
    )


def _errors(plan: Plan) -> list[tuple[str, str, str]]:
    """What it is, what to expect, and the interval."""
    found = []
    for name, words in _ERRORS.items():
        value = getattr(plan.quality, name)
        if value is not None:
            low, high = (_share(name, end) for end in plan.quality.intervals[name])
            words = words + plan.measure if name == "prediction_gap" else words
            found.append((words, _share(name, value), f"{low} to {high}"))
    return found


def _share(name: str, value: float) -> str:
    return f"{value:.2g}" if name == "prediction_gap" else f"{100 * value:.2g} %"
