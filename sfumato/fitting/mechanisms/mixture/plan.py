"""What `mixture` will ask and what each question may spend: a function of schema, budget and adjacency alone."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.errors import RequestError, SchemaError
from sfumato.fitting.mechanisms.mixture.design import MOST_COLUMNS
from sfumato.fitting.mechanisms.numbers_only import refuse_all_but_numbers
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import CategoricalCodec, Codes, Encoder
from sfumato.trusted.feature_maps import ScaledColumns
from sfumato.trusted.schema import Schema


class Tuning(TuningConstants, group="mixture.plan"):
    """See `sfumato.fitting.tuning`."""

    resolution = 1 / 300  # the least sd of a class that is looked for, as a share of a column's range
    waves = (0.12, 0.08)  # shares of mu squared, as are the others
    scores = (0.17, 0.17)
    probe = 0.06
    last = (0.15, 0.25)
    search = (0.03, 0.02, 0.04, 0.13)  # without labels: waves, shells and boxes of all records
    first = 0.26  # and of the rounds before the last ones
    radii = 0.05  # and of the counts by distance
    labels = (0.4, 0.25, 0.35)  # with public features: counts in leaves, scores
    least_mu = 2.0**-17  # below it the noise leaves the lattice


MOST_CLASSES = 1_000
DESIGN = 4
"""Which questions and which model follow from a plan and earlier answers; a number of its own whenever that changes."""
_MOST_ROUNDS = 20  # of one kind, in a plan that is read
MOST_COMPONENTS = 50


@dataclass(frozen=True)
class Rounds:
    """The mu of each round: waves, scores, the probe for shells, scores or shells."""

    waves: tuple[float, ...]
    scores: tuple[float, ...]
    probe: float
    last: tuple[float, ...]

    @classmethod
    def of(cls, mus: tuple[float, ...]) -> "Rounds":
        """The rounds that these mu are for."""
        waves, scores = len(Tuning.waves), len(Tuning.waves) + len(Tuning.scores)
        return cls(mus[:waves], mus[waves:scores], mus[scores], mus[scores + 1 :])

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Rounds":
        """The rounds that `asdict` wrote."""
        waves, scores, last = (tuple(content[name]) for name in ("waves", "scores", "last"))
        if len(content) != 4 or max(map(len, (waves, scores, last))) > _MOST_ROUNDS:
            raise ValueError("the plan has rounds that are not known, or too many")
        return cls(waves, scores, content["probe"], last)


@dataclass(frozen=True)
class Search:
    """Without labels: the mu of each question, the rounds on what they find, and how many components at most."""

    waves: tuple[float, ...]
    shells: float
    boxes: float
    first: Rounds
    components: int | None
    radii: float

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Search":
        """The search that `asdict` wrote."""
        fields = {
            "radii": 0.0,
            **content,
            "waves": tuple(content["waves"]),
            "first": Rounds.from_dict(content["first"]),
        }
        if len(fields["waves"]) > _MOST_ROUNDS:
            raise ValueError("the plan has too many rounds")
        return cls(**fields)


@dataclass(frozen=True)
class MixturePlan:
    """The columns that get Gaussians, the target that parts them or the search for what does, and the rounds."""

    places: ScaledColumns
    target: str | None
    classes: int
    adjacency: Adjacency
    rounds: Rounds
    search: Search | None = None
    labels: tuple[float, ...] | None = None  # where the features are public: mu of each question
    design: int = DESIGN

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`."""
        search = self.search
        found = None if search is None else {**asdict(search), "first": asdict(search.first)}
        return {"rounds": asdict(self.rounds), "search": found, "labels": self.labels, "design": self.design}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> "MixturePlan":
        """The plan that `to_dict` wrote."""
        content = {"design": 1, **content}
        target, codes = _target_of(schema)
        names = [name for name in schema.by_name if name != target]
        _refuse(schema, names)
        search = None if content["search"] is None else Search.from_dict(content["search"])
        _refuse_classes(schema, target, adjacency, search.components if search else None)
        if (target is None) != (search is not None) or set(content) != {"rounds", "search", "labels", "design"}:
            raise ValueError("the plan is not of a mixture with this target")
        classes = codes[target].size if target is not None else (search and search.components) or 1
        places, rounds = ScaledColumns.of(schema.by_name, names), Rounds.from_dict(content["rounds"])
        return cls(places, target, classes, adjacency, rounds, search, _labels_of(content["labels"]), content["design"])


def _labels_of(content: Any) -> tuple[float, ...] | None:
    """The mu of labels; one number in the plans of design 1."""
    mus = None if content is None else tuple(content) if isinstance(content, list | tuple) else (float(content),)
    if mus is not None and not 1 <= len(mus) <= _MOST_ROUNDS:
        raise ValueError("the plan has no question of labels, or too many")
    return mus


def _target_of(schema: Schema) -> tuple[str | None, Mapping[str, Codes]]:
    """The target if it is a category, and the codes of all columns."""
    codes = Encoder(schema).columns
    return (
        schema.target if schema.target is not None and isinstance(codes[schema.target], CategoricalCodec) else None
    ), codes


def _shares_of_rounds() -> tuple[float, ...]:
    return (*Tuning.waves, *Tuning.scores, Tuning.probe, *Tuning.last)


def plan_mixture(schema: Schema, budget: Budget, adjacency: Adjacency, components: int | None = None) -> MixturePlan:
    """The plan for a table; `components` is how many there may be at most where no category parts the records."""
    target, codes = _target_of(schema)
    names = [name for name in schema.by_name if name != target]
    _refuse(schema, names)
    _refuse_classes(schema, target, adjacency, components)
    places = ScaledColumns.of(schema.by_name, names)
    if target is not None and adjacency == Adjacency.LABEL and schema.public_features:
        mus = budget.split(Tuning.labels, Tuning.least_mu)
        return MixturePlan(places, target, codes[target].size, adjacency, Rounds((), (), 0.0, ()), None, mus)
    if target is not None:
        mus = budget.split(_shares_of_rounds(), Tuning.least_mu)
        return MixturePlan(places, target, codes[target].size, adjacency, Rounds.of(mus))
    left = 1 - sum(Tuning.search) - Tuning.first - Tuning.radii
    rounds = _shares_of_rounds()
    shares = (
        *Tuning.search,
        *(Tuning.first * share for share in rounds),
        *(left * share for share in rounds),
        Tuning.radii,
    )
    mus = budget.split(shares, Tuning.least_mu)
    found, size = len(Tuning.search), len(rounds)
    first, last = Rounds.of(mus[found : found + size]), Rounds.of(mus[found + size : -1])
    search = Search(mus[: found - 2], mus[found - 2], mus[found - 1], first, components, mus[-1])
    return MixturePlan(places, None, components or 1, adjacency, last, search)


def _refuse_classes(schema: Schema, target: str | None, adjacency: Adjacency, components: int | None) -> None:
    if target is None:
        if adjacency == Adjacency.LABEL:
            raise SchemaError("label adjacency protects a category, and the target is none; use mechanism tables")
        if components is not None and not 1 <= components <= MOST_COMPONENTS:
            raise RequestError(
                f"{components} components are asked for; ask for 1 to {MOST_COMPONENTS}, or leave it out"
            )
        return
    if components is not None:
        raise RequestError(f"the target {target!r} says which component a record is in; leave components out")
    if Encoder(schema).columns[target].size > MOST_CLASSES:
        raise SchemaError(f"the target {target!r} has more than {MOST_CLASSES} classes; use mechanism tables")


def _refuse(schema: Schema, names: list[str]) -> None:
    """Refuse a table that has no Gaussians, and name the mechanism that serves it."""
    refuse_all_but_numbers(schema, names, "Gaussian mixture")
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise SchemaError(
            f"there are {len(names)} columns of numbers, and a Gaussian mixture has 1 to {MOST_COLUMNS}; use mechanism "
            f"{'subspace' if names else 'tables'}"
        )
