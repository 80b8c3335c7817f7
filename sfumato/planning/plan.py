"""What a release would be worth and what it would cost: from public knowledge alone."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Unpack, overload

from markupsafe import Markup

from sfumato.artefact.risk import Risk
from sfumato.artefact.verdict import Quality, Verdict, judge
from sfumato.artefact.warnings import warn_of
from sfumato.errors import RequestError
from sfumato.fitting.mechanisms.choice import Settings, refuse_for_family
from sfumato.fitting.stored_plan import describe_mechanism
from sfumato.planning.columns import ColumnNoise, list_columns
from sfumato.planning.curve import EPSILONS, Point, draw_curve, forecast
from sfumato.planning.families import PlannedFamily, plan_of_family
from sfumato.planning.inverse import Targets, choose_epsilon
from sfumato.planning.notes import note_of_choice, notes_of, words_of_interval
from sfumato.planning.questions import Question, list_questions
from sfumato.planning.request import Request, check_request
from sfumato.planning.risk_words import FALSE_ALARMS, GUESSES, explain_risk, summarise_risk
from sfumato.planning.simulation import Simulation, simulate
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import DEFAULT_DELTA
from sfumato.trusted.schema import FamilySchema, Schema
from sfumato.trusted.schema.display import BOX
from sfumato.trusted.schema.file import read_schema

_NO_PROGRESS: Callable[[str], None] = lambda _: None  # noqa: E731 - a default that is shared


@dataclass(frozen=True, repr=False)
class Plan:
    """A planned release. Nothing private was read for it.

    request      what was asked, checked
    questions    everything that the release will ask, with noise and share of the budget
    columns      the noise of each column in its own units
    expected     the errors to be expected, by formula
    simulated    the same by simulation, where a proxy was given
    curve        the same by formula for other epsilons
    warnings     what should make somebody stop
    notes        what the forecast rests on
    """

    request: Request
    questions: tuple[Question, ...]
    columns: tuple[ColumnNoise, ...]
    expected: Quality
    curve: tuple[Point, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    simulated: Simulation | None = field(default=None)

    @property
    def epsilon(self) -> float:
        """The whole budget's."""
        return self.request.budget.epsilon

    @property
    def delta(self) -> float:
        """The whole budget's."""
        return self.request.budget.delta

    @property
    def rows(self) -> int:
        """The custodian's estimate."""
        return self.request.rows

    @property
    def quality(self) -> Quality:
        """The errors to be expected: simulated where a proxy was given, else by formula."""
        return self.expected if self.simulated is None else self.simulated.quality

    @property
    def interval_words(self) -> str:
        """How often the intervals of the errors hold."""
        return words_of_interval(self.request, self.simulated)

    @property
    def formula_words(self) -> str:
        """The same of the curve and of single columns, which are forecast by formula in any case."""
        return words_of_interval(self.request, None)

    @property
    def verdict(self) -> Verdict:
        """What it would be good for, and what not."""
        return judge(self.quality)

    @property
    def risk(self) -> Risk:
        """What an attacker gains at most."""
        return self.request.risk

    @property
    def risk_sentence(self) -> str:
        """The risk in one sentence."""
        return summarise_risk(self.risk, self.request.adjacency, self.request.schema.unit)

    @property
    def risk_words(self) -> tuple[str, ...]:
        """The risk in several."""
        return explain_risk(self.risk, self.request.adjacency, self.request.schema.unit)

    @property
    def measure(self) -> str:
        """What the loss of the predictor is measured in."""
        schema = self.request.schema
        listed = schema.target is not None and schema[schema.target].type in ("category", "boolean")
        return "area under the ROC curve" if listed else "R squared"

    @property
    def mechanism_words(self) -> str:
        """The mechanism with what is chosen of it, in words."""
        return describe_mechanism(self.request.mechanism, self.request.choices)

    @property
    def statement(self) -> str:
        """What is planned, in one sentence."""
        schema = self.request.schema
        whom = "one person, all of their records" if schema.unit else "one record"
        return (
            f"A release of {schema.name} by {self.mechanism_words}, {len(schema.by_name)} columns and about "
            f"{self.rows:,} records, at epsilon {self.epsilon:g} and delta {self.delta:g} for {whom} "
            f"({self.request.adjacency} adjacency, mu {self.risk.mu:.3g})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries, for `--json`."""
        request, risk = self.request, self.risk
        return {
            "dataset": request.schema.name,
            "rows": self.rows,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "mechanism": request.mechanism,
            "settings": request.choices,
            "adjacency": str(request.adjacency),
            "protects": "person" if request.schema.unit else "record",
            "mu": risk.mu,
            "warnings": list(self.warnings),
            "verdict": asdict(self.verdict),
            "expected": quality_to_dict(self.expected),
            "simulated": None if self.simulated is None else self.simulated.to_dict(),
            "risk": {
                "sentence": self.risk_sentence,
                "advantage": risk.advantage,
                "membership_guess": risk.membership_guess,
                "hits": {f"{share:g}": risk.hits(share) for share in FALSE_ALARMS},
                "secret_guess": {f"{before:g}": risk.secret_guess(before) for before in GUESSES},
            },
            "questions": [
                {
                    "what": one.what,
                    "share": one.share,
                    "noise_records": one.records,
                    "noise_effects": one.effects,
                    "typical": one.typical,
                }
                for one in self.questions
            ],
            "columns": [asdict(one) for one in self.columns],
            "curve": [
                {"epsilon": one.epsilon, "advantage": one.advantage, **quality_to_dict(one.quality)}
                for one in self.curve
            ],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return (
            f"Plan({self.request.schema.name!r}, rows={self.rows}, epsilon={self.epsilon:g}, "
            f"mechanism={self.request.mechanism!r}: columns off by {self.quality.column_error:.2g}, groups of "
            f"{self.quality.smallest_group:.0f} survive)"
        )

    def _repr_html_(self) -> str:
        """For notebooks: what is planned, the verdict, warnings, and small charts."""
        from sfumato.planning.charts import curve_charts

        verdict = self.verdict
        head = Markup('<div style="{}"><p><b>{}</b></p><p>{}</p>').format(BOX, verdict.headline, self.statement)
        warned = Markup("").join(Markup("<p><b>Warning:</b> {}</p>").format(words) for words in self.warnings)
        lists = Markup("<p>Good for:</p><ul>{}</ul><p>Not for:</p><ul>{}</ul><p>{}</p>").format(
            *(Markup("").join(Markup("<li>{}</li>").format(one) for one in words) for words in _lists(verdict)),
            self.risk_sentence,
        )
        figure = Markup('<figure style="{}"><figcaption>{}</figcaption>{}</figure>')
        charts = Markup("").join(
            figure.format("display:inline-block;width:300px;margin:8px", words, chart)
            for words, chart in curve_charts(self.curve, self.epsilon)
        )
        return str(head + warned + lists + charts + Markup("</div>"))


def _lists(verdict: Verdict) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return verdict.good_for, verdict.not_for


def quality_to_dict(quality: Quality) -> dict[str, Any]:
    """Plain content."""
    content = asdict(quality)
    return {**content, "intervals": {name: list(ends) for name, ends in quality.intervals.items()}}


class Options(Settings, total=False):
    """The arguments of `plan` beside schema and rows."""

    epsilon: float | None
    delta: float
    mechanism: str
    adjacency: Adjacency | str
    like: Any
    repetitions: int
    target_gap: float | None
    smallest_group: float | None
    max_advantage: float | None
    progress: Callable[[str], None]


@overload
def plan(schema: Schema, *, rows: int, **options: Unpack[Options]) -> Plan: ...


@overload
def plan(schema: FamilySchema, *, rows: int, **options: Unpack[Options]) -> PlannedFamily: ...


@overload
def plan(schema: Mapping[str, Any] | str | Path, *, rows: int, **options: Unpack[Options]) -> Plan | PlannedFamily: ...


def plan(
    schema: Schema | FamilySchema | Mapping[str, Any] | str | Path,
    *,
    rows: int,
    epsilon: float | None = None,
    delta: float = DEFAULT_DELTA,
    mechanism: str = "auto",
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    components: int | None = None,
    anonymize: str | None = None,
    approximate: str | None = None,
    adapt: str | None = None,
    share: float | None = None,
    like: Any = None,
    repetitions: int = 5,
    target_gap: float | None = None,
    smallest_group: float | None = None,
    max_advantage: float | None = None,
    progress: Callable[[str], None] = _NO_PROGRESS,
) -> Plan | PlannedFamily:
    """Say what a release would be worth and cost, before it is made. No private table is read.

    schema      the public description of the table, a dictionary of it, or the path of its YAML file; of a family of
                tables, too, for which every question and its noise are told, and no forecast of errors
    rows        your public estimate of the number of records, or of the persons of a family; a count of the private
                rows would not be public
    epsilon, delta, mechanism, adjacency, components, anonymize, approximate, adapt, share   as for `release`
    like        a bundle (.sfumato) of an earlier release or of a public proxy, or a public sample as a file or a frame:
                forecasts then come from simulation through the mechanism itself. It counts as public
    repetitions   of that simulation, 2 or more
    target_gap, smallest_group, max_advantage   in place of epsilon: the least epsilon whose forecast loses no more in
                prediction, or lets groups of this size survive; or the largest that gives an attacker no more advantage
    progress    called with a few words when a stage begins

    Returns a `Plan`, or a `PlannedFamily`. Raises errors of `sfumato.errors` for input that no release would take, and
    `RequestError` where no epsilon up to 10 reaches the target.

    Example
        >>> schema = sfumato.Schema.from_yaml("{sfumato: 1, name: rain, columns: [{name: wet, type: boolean}]}")
        >>> sfumato.plan(schema, rows=10_000, epsilon=1).quality.column_error < 0.01
        True
    """
    targets = Targets(target_gap, smallest_group, max_advantage)
    settings = Settings(components=components, anonymize=anonymize, approximate=approximate, adapt=adapt, share=share)
    known = read_schema(schema)
    if isinstance(known, FamilySchema):
        refuse_for_family(mechanism, settings)
        if epsilon is None or targets.given or like is not None:
            raise RequestError("the plan of a family of tables takes epsilon, and neither targets nor like")
        return plan_of_family(known, rows, epsilon, delta, adjacency)
    if (epsilon is None) != targets.given:
        raise RequestError(
            "give either epsilon, or what to choose it by: target_gap, smallest_group or max_advantage"
            + (" (both are given)" if targets.given else "")
        )
    planned = 1.0 if epsilon is None else epsilon
    request = check_request(known, rows, planned, delta, mechanism, str(adjacency), settings)
    if epsilon is None:
        progress("searching for an epsilon")
        request = request.at(choose_epsilon(request, targets))
    questions = list_questions(request)
    expected = forecast(request)
    simulated = None if like is None else simulate(request, like, repetitions, progress)
    quality = expected if simulated is None else simulated.quality
    return Plan(
        request,
        questions,
        list_columns(request, questions),
        expected,
        draw_curve(request, EPSILONS),
        warn_of(request.budget.epsilon, delta, request.rows, quality.smallest_group),
        (*([note_of_choice(request, quality)] if targets.of_quality else []), *notes_of(request, simulated)),
        simulated,
    )
