"""What `mixture` will ask and what each question may spend: a function of schema, budget and adjacency alone."""

from dataclasses import dataclass

from sfumato.errors import RequestError, SchemaError
from sfumato.fitting.mechanisms.mixture.design import MOST_COLUMNS
from sfumato.fitting.mechanisms.numbers_only import refuse_all_but_numbers
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Encoder, Listed
from sfumato.trusted.feature_maps import Places
from sfumato.trusted.schema import Schema

RESOLUTION = 1 / 300  # the least sd of a class that is looked for, as a share of a column's range
_WAVES = (0.12, 0.08)  # shares of mu squared, as are the others
_SCORES = (0.17, 0.17)
_PROBE = 0.06
_LAST = (0.15, 0.25)
_ROUNDS = (*_WAVES, *_SCORES, _PROBE, *_LAST)
_SEARCH = (0.03, 0.02, 0.04, 0.13)  # without labels: waves, shells and boxes of all records
_FIRST = 0.26  # and of the rounds before the last ones
_LEAST_MU = 2.0**-17  # below it the noise leaves the lattice
MOST_CLASSES = 1_000
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
        waves, scores = len(_WAVES), len(_WAVES) + len(_SCORES)
        return cls(mus[:waves], mus[waves:scores], mus[scores], mus[scores + 1 :])


@dataclass(frozen=True)
class Search:
    """Without labels: the mu of waves, shells and boxes, the rounds on what they find, and how many are wanted."""

    waves: tuple[float, ...]
    shells: float
    boxes: float
    first: Rounds
    components: int | None


@dataclass(frozen=True)
class MixturePlan:
    """The columns that get Gaussians, the target that parts them or the search for what does, and the rounds."""

    places: Places
    target: str | None
    classes: int
    adjacency: Adjacency
    rounds: Rounds
    search: Search | None = None
    labels: float | None = None  # mu of the counts of labels, where the features are public


def plan_mixture(schema: Schema, budget: Budget, adjacency: Adjacency, components: int | None = None) -> MixturePlan:
    """The plan for a table; `components` is how many are wanted where no category parts the records."""
    codes = Encoder(schema).columns
    target = schema.target if schema.target is not None and isinstance(codes[schema.target], Listed) else None
    names = [name for name in schema.by_name if name != target]
    _refuse(schema, names)
    _refuse_classes(schema, target, adjacency, components)
    places = Places.of(schema.by_name, names)
    if target is not None and adjacency == Adjacency.LABEL and schema.public_features:
        return MixturePlan(places, target, codes[target].size, adjacency, Rounds((), (), 0.0, ()), None, budget.mu)
    if target is not None:
        mus = budget.split(_ROUNDS, _LEAST_MU)
        return MixturePlan(places, target, codes[target].size, adjacency, Rounds.of(mus))
    left = 1 - sum(_SEARCH) - _FIRST
    shares = (*_SEARCH, *(_FIRST * share for share in _ROUNDS), *(left * share for share in _ROUNDS))
    mus = budget.split(shares, _LEAST_MU)
    found, size = len(_SEARCH), len(_ROUNDS)
    search = Search(mus[: found - 2], mus[found - 2], mus[found - 1], Rounds.of(mus[found : found + size]), components)
    return MixturePlan(places, None, components or 1, adjacency, Rounds.of(mus[found + size :]), search)


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
