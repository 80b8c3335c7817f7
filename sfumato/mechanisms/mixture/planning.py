"""What `mixture` will ask and what each question may spend: a function of schema, budget and adjacency alone."""

import math
from dataclasses import dataclass

from sfumato.encoding import Encoder, Listed
from sfumato.errors import BudgetError, SchemaError
from sfumato.mechanisms.mixture.design import MOST_COLUMNS
from sfumato.privacy.accounting import Budget
from sfumato.privacy.adjacency import Adjacency
from sfumato.schema import Schema
from sfumato.statistics import Places

RESOLUTION = 1 / 300  # the least sd of a class that is looked for, as a share of a column's range
_WAVES = (0.12, 0.08)  # shares of mu squared, as are the others
_SCORES = (0.17, 0.17)
_PROBE = 0.06
_LAST = (0.15, 0.25)
_LEAST_MU = 2.0**-17  # below it the noise leaves the lattice


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
class MixturePlan:
    """The columns that get Gaussians, the target that parts them, and the rounds."""

    places: Places
    target: str | None
    classes: int
    adjacency: Adjacency
    rounds: Rounds

    @property
    def unit(self) -> float:
        """The sensitivity of every question, in units of a record's norm."""
        return 1.0 if self.adjacency == Adjacency.ADD_REMOVE else math.sqrt(2)


def plan_mixture(schema: Schema, budget: Budget, adjacency: Adjacency) -> MixturePlan:
    """The plan for a table."""
    codes = Encoder(schema).columns
    target = schema.target if schema.target is not None and isinstance(codes[schema.target], Listed) else None
    names = [name for name in schema.by_name if name != target]
    _refuse(schema, names)
    mus = budget.split((*_WAVES, *_SCORES, _PROBE, *_LAST))
    if min(mus) < _LEAST_MU:
        raise BudgetError(f"epsilon {budget.epsilon} at delta {budget.delta} does not go round; raise epsilon")
    classes = 1 if target is None else codes[target].size
    return MixturePlan(Places.of(schema.by_name, names), target, classes, adjacency, Rounds.of(mus))


def _refuse(schema: Schema, names: list[str]) -> None:
    """Refuse a table that has no Gaussians, and name the mechanism that serves it."""
    for name in names:
        column = schema[name]
        if column.type in ("category", "boolean"):
            raise SchemaError(
                f"column {name!r} is a {column.type}, and a Gaussian mixture has numbers and one category as target; "
                "use mechanism tables"
            )
        if column.missing:
            raise SchemaError(
                f"column {name!r} may be missing, and a Gaussian has no place for that; use mechanism tables, or say "
                "`missing: false`, and a null counts as the column's `otherwise`"
            )
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise SchemaError(
            f"there are {len(names)} columns of numbers, and a Gaussian mixture has 1 to {MOST_COLUMNS}; use mechanism "
            "tables"
        )
