"""The picture of what an attacker gains: participants found against false alarms."""

from markupsafe import Markup

from sfumato.artefact.risk import Risk
from sfumato.charts import svg
from sfumato.charts.axes import Axes, Axis

_SHARES = [k / 200 for k in range(201)]


def risk_chart(risk: Risk, *, of_membership: bool = True) -> Markup:
    """The most that any attacker reaches, above the line of guessing blindly.

    risk            the bounds
    of_membership   whether the secret is who took part; else it is what a record says
    """
    wrong, right = ("others falsely accused", "participants found") if of_membership else ("false alarms", "hits")
    percent = "{:.0%}".format
    axes = Axes(
        Axis(0, 1, wrong, write=percent),
        Axis(0, 1, f"{right}, at most", write=percent),
        "What an attacker who knows all other records can find out",
        width=360,
        height=300,
    )
    bound, blind = [(share, risk.hits(share)) for share in _SHARES], [(share, share) for share in _SHARES]
    axes.band(blind, bound, svg.BAR)
    axes.line(blind, svg.FAINT, 1.2, "4 3")
    axes.line(bound)
    axes.words(0.62, 0.55, "blind guessing", fill=svg.FAINT, rise=0)
    axes.dot(0.01, risk.hits(0.01), hint=f"{wrong}: 1 in 100; {right}: {risk.hits(0.01):.1%} at most")
    return axes.picture()
