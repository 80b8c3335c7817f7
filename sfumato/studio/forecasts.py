"""The forecast against epsilon: pictures with a mark that a slider moves, and words for each position of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.axes import Axes, Axis, plain_number
from sfumato.planning.curve import Point, draw_curve
from sfumato.planning.families import PlannedFamily
from sfumato.planning.plan import Plan, plan
from sfumato.studio.forecast_words import Words, words_at, words_of_family_at
from sfumato.studio.tables import Terms
from sfumato.trusted.schema.file import AnySchema

EPSILONS = tuple(float(f"{0.1 * 10 ** (k / 16):.2g}") for k in range(33))
"""Where the slider can stand: 0.1 to 10, sixteen to a power of ten."""
_FIGURES = {
    "smallest_group": ("Smallest group that survives", "records"),
    "column_error": ("One column", "of the records in the wrong cell"),
    "pair_error": ("Two columns", "of the records in the wrong cell"),
    "prediction_gap": ("Predictor of the target", "lost, in {measure}"),
    "advantage": ("Attacker", "gained over a blind guess, at most"),
}
_SHARES = ("column_error", "pair_error", "advantage")


@dataclass(frozen=True)
class Curve:
    """One figure against epsilon: a picture, and for each position of the slider where the mark is and what it says."""

    title: str
    words: str
    picture: Markup
    marks: tuple[tuple[float, float, str], ...]
    now: str


@dataclass(frozen=True)
class Forecast:
    """What a page of the plan shows.

    epsilons   the positions of the slider, the wanted epsilon among them
    words      what is said at each of them
    """

    plan: Plan | PlannedFamily
    epsilons: tuple[float, ...]
    chosen: int
    curves: tuple[Curve, ...]
    words: tuple[Words, ...]

    @property
    def now(self) -> Words:
        """What is said at the wanted epsilon."""
        return self.words[self.chosen]

    @property
    def positions(self) -> dict[str, Any]:
        """Plain content for the script that moves the marks."""
        return {
            "epsilons": self.epsilons,
            "words": [one.to_dict() for one in self.words],
            "marks": [one.marks for one in self.curves],
        }


def make_forecast(schema: AnySchema, terms: Terms, fits: float | None) -> Forecast:
    """The plan of a release, and its curves; `fits` is the largest epsilon that the ledger still allows.

    No private table is read: `rows` is what somebody typed. Raises an error of `sfumato.errors` for what no release
    takes.
    """
    made = plan(
        schema,
        rows=terms.rows or 0,
        epsilon=terms.epsilon,
        delta=terms.delta,
        adjacency=terms.adjacency,
        mechanism=terms.mechanism,
    )
    if isinstance(made, PlannedFamily):
        return _of_family(made, fits)
    points = draw_curve(made.request, EPSILONS)
    epsilons = tuple(one.epsilon for one in points)
    values = {name: [_value(one, name) for one in points] for name in _FIGURES}
    curves = [
        _draw(points, name, [one for one in found if one is not None], made, fits)
        for name, found in values.items()
        if None not in found
    ]
    return Forecast(
        made,
        epsilons,
        epsilons.index(made.epsilon),
        tuple(curves),
        tuple(words_at(one, made) for one in points),
    )


def _of_family(made: PlannedFamily, fits: float | None) -> Forecast:
    epsilons = tuple(one.epsilon for one in made.curve)
    chosen = epsilons.index(made.epsilon)
    figures = {view: [one.groups[view] for one in made.curve] for view in made.groups}
    curves = [
        _chart(
            epsilons,
            chosen,
            view.capitalize(),
            "the smallest group of persons that survives",
            found,
            [],
            [],
            _count,
            fits,
        )
        for view, found in figures.items()
    ]
    gains = [one.advantage for one in made.curve]
    title, words = _FIGURES["advantage"]
    curves.append(_chart(epsilons, chosen, title, words, gains, [], [], _percent, fits))
    return Forecast(made, epsilons, chosen, tuple(curves), tuple(words_of_family_at(one, made) for one in made.curve))


def _value(point: Point, name: str) -> float | None:
    value: float | None = point.advantage if name == "advantage" else getattr(point.quality, name)
    return value


def _draw(points: Sequence[Point], name: str, values: Sequence[float], made: Plan, fits: float | None) -> Curve:
    epsilons = tuple(one.epsilon for one in points)
    ends = [(one.epsilon, one.quality.intervals.get(name)) for one in points]
    lows = [(at, both[0]) for at, both in ends if both]
    highs = [(at, both[1]) for at, both in ends if both]
    title, words = _FIGURES[name]
    write = _percent if name in _SHARES else _count if name == "smallest_group" else "{:.2g}".format
    words = words.format(measure=made.measure)
    return _chart(epsilons, epsilons.index(made.epsilon), title, words, values, lows, highs, write, fits)


def _chart(
    epsilons: Sequence[float],
    chosen: int,
    title: str,
    words: str,
    values: Sequence[float],
    lows: list[tuple[float, float]],
    highs: list[tuple[float, float]],
    write: Callable[[float], str],
    fits: float | None,
) -> Curve:
    all_values = [value for value in (*values, *(low for _, low in lows), *(high for _, high in highs)) if value > 0]
    axes = Axes(
        Axis(epsilons[0], epsilons[-1], "epsilon", log=True),
        Axis(
            min(all_values) / 1.15,
            max(all_values) * 1.15,
            "",
            log=True,
            write=_percent if write is _percent else plain_number,
        ),
        f"{title}: {words}, against epsilon",
        width=340,
        height=210,
    )
    if fits is not None and fits < epsilons[-1]:
        left, top = axes.at(max(fits, epsilons[0]), axes.y.high)
        right, bottom = axes.at(epsilons[-1], axes.y.low)
        axes.marks.append(svg.box(left, top, right - left, bottom - top, svg.ATOM, 0.1, "beyond the ledger's limit"))
    if lows:
        axes.band(lows, highs, svg.BAR)
    axes.line(list(zip(epsilons, values, strict=True)))
    marks = tuple((*axes.at(at, value), write(value)) for at, value in zip(epsilons, values, strict=True))
    x, y, now = marks[chosen]
    axes.marks.append(
        Markup(
            '<g class="mark"><line x1="{0}" y1="12" x2="{0}" y2="170"/><circle cx="{0}" cy="{1}" r="5"/></g>'
        ).format(f"{x:.1f}", f"{y:.1f}")
    )
    return Curve(title, words, axes.picture(), tuple((round(x, 1), round(y, 1), words) for x, y, words in marks), now)


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %" if value < 0.995 else f"{100 * value:.0f} %"


def _count(value: float) -> str:
    return f"{value:,.0f}"
