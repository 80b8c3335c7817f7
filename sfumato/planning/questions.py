"""Every question of a planned release, with its noise and its share of the budget."""

from dataclasses import dataclass, field

from sfumato.artefact.quality import Questions
from sfumato.planning.request import Request
from sfumato.planning.stages import Asked, BoundedSum, Stage, stages_of
from sfumato.trusted.budget import noise_scale
from sfumato.trusted.privacy_filter import units_of
from sfumato.trusted.statistics import Cells


@dataclass(frozen=True)
class Question:
    """One question as a plan shows it.

    what      in a few words
    share     of the budget
    records   standard deviation of the noise of one count, in records; None where no records are counted
    effects   standard deviation of the noise in largest effects of one of the protected, for all
    protected   record or person
    typical   whether its form depends on earlier answers, so that only its noise and its share are sure
    sigma     as `Measurement.sigma`
    """

    what: str
    share: float
    records: float | None
    effects: float
    typical: bool
    sigma: float
    protected: str
    asked: Asked = field(repr=False, compare=False)

    @property
    def words(self) -> str:
        """What it asks and how far the answer is off."""
        if self.records is not None:
            return f"{self.what}: each count off by ±{self.records:,.3g} records"
        return f"{self.what}: noise is {self.effects:.3g} times the largest effect of one {self.protected}"


def list_questions(request: Request) -> tuple[Question, ...]:
    """All questions of a release in order: what completes the schema first, then those of the mechanism."""
    stages, units = (*_completing(request), *stages_of(request.mechanism_plan)), request.budget.units
    return tuple(_question(stage, request, units) for stage in stages)


def pairs_of(questions: tuple[Question, ...]) -> Questions:
    """As `expected_quality` takes them."""
    return [(question.asked, question.sigma) for question in questions]


def _completing(request: Request) -> list[Stage]:
    completion, schema = request.completion, request.schema
    lists = [BoundedSum(f"the list of values of {name}") for name in schema.discovered]
    bounds = [BoundedSum(f"bounds of {_some(schema.estimated)}") for _ in completion.mu_bounds]
    mus = (*completion.mu_values, *completion.mu_bounds)
    return [Stage(asked, mu, True) for asked, mu in zip((*lists, *bounds), mus, strict=True)]


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _question(stage: Stage, request: Request, units: int) -> Question:
    asked, budget = stage.asked, request.budget
    sensitivity = asked.sensitivity(request.adjacency)
    sigma = noise_scale(sensitivity, stage.mu)
    return Question(
        what=asked.title,
        share=budget.records**2 * units_of(stage.mu) / units,
        records=sigma if isinstance(asked, Cells) else None,
        effects=1 / (stage.mu * budget.records),
        typical=stage.typical,
        sigma=sigma,
        protected="person" if request.schema.unit else "record",
        asked=asked,
    )
