"""The plan of a family of tables: every question with its noise, and the smallest group of persons that survives.

Forecasts of errors are for single tables: no law was fitted to families. What noise does is known exactly.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from markupsafe import Markup

from sfumato.artefact.quality import HALF_WRONG
from sfumato.artefact.risk import Risk
from sfumato.artefact.warnings import warn_of
from sfumato.errors import BudgetError
from sfumato.fitting.families.plan import ViewPlan, plan_family
from sfumato.planning.curve import EPSILONS
from sfumato.planning.request import check_rows
from sfumato.planning.risk_words import explain_risk, summarise_risk
from sfumato.planning.stages import BoundedSum, Stage, counting_stages
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget, noise_scale
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.families.views import PERSONS
from sfumato.trusted.privacy_filter import mu_of_units, units_of
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.display import BOX
from sfumato.trusted.session import check_terms
from sfumato.trusted.statistics import Cells


@dataclass(frozen=True)
class FamilyQuestion:
    """One question of a view.

    share     of the budget
    persons   standard deviation of the noise of one count, in persons; None where nothing is counted
    effects   standard deviation of the noise in largest effects of one person
    typical   whether its form depends on earlier answers, so that only its noise and its share are sure
    """

    view: str
    what: str
    share: float
    persons: float | None
    effects: float
    typical: bool

    @property
    def words(self) -> str:
        """What it asks and how far the answer is off."""
        if self.persons is not None:
            return f"{self.view}: {self.what}: each count off by ±{self.persons:,.3g} persons"
        return f"{self.view}: {self.what}: noise is {self.effects:.3g} times the largest effect of one person"


@dataclass(frozen=True)
class FamilyPoint:
    """An epsilon, the smallest group of persons that survives in each view, and what an attacker gains."""

    epsilon: float
    groups: dict[str, float]
    advantage: float


@dataclass(frozen=True, repr=False)
class PlannedFamily:
    """A planned release of several tables. Nothing private was read for it.

    persons     the custodian's public estimate of their number
    questions   everything that will be asked, with noise and share of the budget
    groups      of each view, the number of persons below which a group of them may be counted wrong by half
    curve       the same for other epsilons
    """

    schema: FamilySchema
    persons: int
    budget: Budget
    adjacency: Adjacency
    questions: tuple[FamilyQuestion, ...]
    groups: dict[str, float]
    curve: tuple[FamilyPoint, ...]

    @property
    def epsilon(self) -> float:
        """The whole budget's."""
        return self.budget.epsilon

    @property
    def risk(self) -> Risk:
        """What an attacker gains at most."""
        return Risk(mu_of_units(self.budget.units))

    @property
    def risk_sentence(self) -> str:
        """The risk in one sentence."""
        return summarise_risk(self.risk, self.adjacency, self.schema.unit)

    @property
    def risk_words(self) -> tuple[str, ...]:
        """The risk in several."""
        return explain_risk(self.risk, self.adjacency, self.schema.unit)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What should make somebody stop."""
        return warn_of(self.epsilon, self.budget.delta, self.persons, self.groups[PERSONS], "person")

    @property
    def statement(self) -> str:
        """What is planned, in one sentence."""
        return (
            f"A release of {self.schema.name}, {len(self.schema.tables)} tables of about {self.persons:,} persons, at "
            f"epsilon {self.epsilon:g} and delta {self.budget.delta:g} for one person, all of their rows in all tables "
            f"({self.adjacency} adjacency, mu {self.risk.mu:.3g})."
        )

    def to_dict(self) -> dict[str, object]:
        """Plain lists and dictionaries, for `--json`."""
        return {
            "dataset": self.schema.name,
            "persons": self.persons,
            "epsilon": self.epsilon,
            "delta": self.budget.delta,
            "adjacency": str(self.adjacency),
            "protects": "person",
            "mu": self.risk.mu,
            "warnings": list(self.warnings),
            "smallest_groups": self.groups,
            "risk": {"sentence": self.risk_sentence, "advantage": self.risk.advantage},
            "questions": [asdict(one) for one in self.questions],
            "curve": [asdict(one) for one in self.curve],
        }

    def __repr__(self) -> str:
        return (
            f"PlannedFamily({self.schema.name!r}, persons={self.persons}, epsilon={self.epsilon:g}: groups of "
            f"{self.groups[PERSONS]:,.0f} persons survive)"
        )

    def _repr_html_(self) -> str:
        """For notebooks."""
        row = Markup("<tr><td>{:.1%}</td><td>{}</td></tr>")
        asked = Markup("").join(row.format(one.share, one.words) for one in self.questions)
        warned = Markup("").join(Markup("<p><b>Warning:</b> {}</p>").format(words) for words in self.warnings)
        page = Markup(
            '<div style="{}"><p><b>{}</b></p>{}<p>{}</p><table><tr><th>budget</th><th></th></tr>{}</table></div>'
        )
        return str(page.format(BOX, self.statement, warned, self.risk_sentence, asked))


def plan_of_family(
    schema: FamilySchema, persons: int, epsilon: float, delta: float, adjacency: Adjacency | str
) -> PlannedFamily:
    """The plan of a release, from public knowledge alone; errors are those of `release`."""
    terms = check_terms(schema, epsilon, delta, str(adjacency), None, None, None)
    persons = check_rows(persons)
    questions = _questions(schema, terms.budget, terms.adjacency)
    curve = tuple(_points(schema, terms.budget, terms.adjacency))
    return PlannedFamily(schema, persons, terms.budget, terms.adjacency, questions, _groups(questions), curve)


def _questions(schema: FamilySchema, budget: Budget, adjacency: Adjacency) -> tuple[FamilyQuestion, ...]:
    layout = family_layout_of(schema)
    plans = plan_family(layout, budget, adjacency).views
    return tuple(_question(name, stage, budget, adjacency) for name, plan in plans.items() for stage in _stages(plan))


def _stages(plan: ViewPlan) -> Iterator[Stage]:
    """Counts, the number of all rows, and what is left of each target."""
    yield from counting_stages(plan)
    if plan.mu_totals is not None:
        yield Stage(BoundedSum("the sum of the numbers of rows"), plan.mu_totals, False)
    for target, mus in plan.mu_labels.items():
        for mu in mus:
            yield Stage(BoundedSum(f"a correction to the predictor of {target}"), mu, True)


def _question(view: str, stage: Stage, budget: Budget, adjacency: Adjacency) -> FamilyQuestion:
    counted = isinstance(stage.asked, Cells)
    noise = noise_scale(stage.asked.sensitivity(adjacency), stage.mu)
    share = units_of(stage.mu) / budget.units
    return FamilyQuestion(view, stage.asked.title, share, noise if counted else None, 1 / stage.mu, stage.typical)


def _groups(questions: Iterable[FamilyQuestion]) -> dict[str, float]:
    """By the counts of single columns, the first of each view."""
    found: dict[str, float] = {}
    for one in questions:
        if one.persons is not None:
            found.setdefault(one.view, HALF_WRONG * one.persons)
    return found


def _points(schema: FamilySchema, budget: Budget, adjacency: Adjacency) -> Iterator[FamilyPoint]:
    """For each epsilon, and for that of the budget; those too small for the family are left out."""
    for epsilon in sorted({*EPSILONS, budget.epsilon}):
        there = Budget(epsilon, budget.delta, budget.records)
        try:
            groups = _groups(_questions(schema, there, adjacency))
        except BudgetError:
            continue
        yield FamilyPoint(epsilon, groups, Risk(mu_of_units(there.units)).advantage)
