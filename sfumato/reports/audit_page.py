"""The page of an audit: verdict, picture, both tables, and what an audit cannot show. Nothing on it is private."""

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from sfumato._version import __version__
from sfumato.auditing.findings import Finding, NotRun
from sfumato.auditing.result import AuditResult


def audit_page(result: AuditResult) -> str:
    """One self-contained HTML page.

    Arguments
        result   what `sfumato.audit` returned
    Returns
        The page as text: no scripts, nothing from elsewhere.
    Example
        >>> page = audit_page(result)
        >>> result.verdict in page
        True
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("sfumato.reports").joinpath("audit.html").read_text(encoding="utf-8"))
    return template.render(
        result=result,
        attacks=[_row(one, result.delta) for one in result.findings],
        faults=[
            {
                "fault": trial.fault.name,
                "place": trial.fault.place,
                "caught": trial.caught,
                **_row(trial.found, result.delta),
            }
            for trial in result.trials
        ],
        version=__version__,
    )


def _row(one: Finding | NotRun, delta: float) -> dict[str, object]:
    """What a line of a table shows."""
    if isinstance(one, NotRun):
        return {"attack": one.attack, "run": False, "detail": one.reason}
    return {
        "attack": one.attack,
        "run": True,
        "claim": one.claim,
        "bound": one.bound,
        "epsilon": one.epsilon(delta),
        "confidence": "computed" if one.confidence == 1 else f"{one.confidence:.2%}",
        "holds": one.holds,
        "detail": f"{one.detail}; fails: {one.failure}" if one.failure else one.detail,
    }
