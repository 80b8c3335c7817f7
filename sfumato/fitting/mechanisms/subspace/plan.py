"""What `subspace` will ask and what each question may spend: a function of schema, budget and adjacency alone.

Of pictures there are two ways, which begin with the same two questions and cost the same: pixels and aligned pictures,
or pixels alone. The first answers say which is taken.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.errors import SchemaError
from sfumato.fitting.mechanisms.numbers_only import refuse_all_but_numbers
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import CategoricalCodec, Encoder
from sfumato.trusted.feature_maps import ByTarget, ScaledColumns, Together
from sfumato.trusted.feature_maps.alignment import picture_of
from sfumato.trusted.fixed_point import LARGEST_SIGMA, RECORD_NORM
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import scatter

MOST_COLUMNS, MOST_CLASSES = 5_000, 200
WIDE = 64  # columns of numbers, from which on `auto` takes a subspace
_LEAST_MU = 2 * RECORD_NORM / LARGEST_SIGMA  # below it the noise leaves the lattice
_BEFORE_CHOICE = ("pilot", "bounds")
_OF_SCATTER = ("scatter", "marginals", "class_scatter", "move_scatter")
_LEAST_MU_OF_SCATTER = math.sqrt(2) * scatter.UNIT / LARGEST_SIGMA


@dataclass(frozen=True)
class Shares:
    """What each question gets: shares of mu squared in a table of constants, then mu."""

    pilot: float
    bounds: float
    norms: float
    means: float
    class_norms: float
    scatter: float
    marginals: float  # or of the scatter once more
    latent_norms: float
    latent_means: float
    class_scatter: float


@dataclass(frozen=True)
class AlignedShares:
    """The same for what is asked of pictures aligned, and of how they were moved."""

    pilot: float
    norms: float
    means: float
    class_norms: float
    scatter: float
    latent_norms: float
    latent_means: float
    class_scatter: float
    move_norms: float
    move_means: float
    move_class_norms: float
    move_scatter: float


_SHARES = Shares(0.04, 0.005, 0.0075, 0.22, 0.0075, 0.32, 0.10, 0.0075, 0.06, 0.2325)
# Aligned pictures are drawn from and tell classes; for single pixels, and parts of pictures, the half is enough. Pilot
# and bounds, which decide whether pictures are aligned, get what they get of any table.
_BESIDE_ALIGNED = Shares(0.04, 0.005, 0.004, 0.06, 0.004, 0.08, 0.08, 0.003, 0.014, 0.05)
_ALIGNED = AlignedShares(0.01, 0.005, 0.16, 0.005, 0.20, 0.005, 0.03, 0.195, 0.003, 0.02, 0.003, 0.024)


@dataclass(frozen=True)
class SubspacePlan:
    """The columns, what parts the records, the schema's target, and the mu of each question.

    aligned   of aligned pictures, beside `mu`; None where the columns are no picture
    alone     of pixels, instead of both, where pictures turn out to be too few to be aligned; None where nothing is
              to be decided: there is no picture, or the plan is of an earlier version, which aligned all
    """

    places: ScaledColumns
    parting: ByTarget | Together
    target: str | None
    adjacency: Adjacency
    mu: Shares
    aligned: AlignedShares | None
    alone: Shares | None = None

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`."""
        content = {"mu": vars(self.mu), "aligned": None if self.aligned is None else vars(self.aligned)}
        return content if self.alone is None else {**content, "alone": vars(self.alone)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> "SubspacePlan":
        """The plan that `to_dict` wrote."""
        places, parting = _geometry_of(schema, adjacency)
        aligned = None if content["aligned"] is None else AlignedShares(**content["aligned"])
        if set(content) - {"alone"} != {"mu", "aligned"} or (
            aligned is not None and picture_of(places.columns) is None
        ):
            raise ValueError("the plan is not of a subspace of these columns")
        mu, alone = Shares(**content["mu"]), Shares(**content["alone"]) if "alone" in content else None
        if alone is not None and (aligned is None or (alone.pilot, alone.bounds) != (mu.pilot, mu.bounds)):
            raise ValueError("the plan's two ways do not begin with the same questions")
        return cls(places, parting, schema.target, adjacency, mu, aligned, alone)

    @property
    def columns(self) -> int:
        """d."""
        return len(self.places.names)

    @property
    def classes(self) -> int:
        """K."""
        return self.parting.size


def plan_subspace(schema: Schema, budget: Budget, adjacency: Adjacency) -> SubspacePlan:
    """The plan for a table of numbers, with one category as target or with none."""
    places, parting = _geometry_of(schema, adjacency)
    if picture_of(places.columns) is None:
        return SubspacePlan(places, parting, schema.target, adjacency, Shares(*_split(budget, _SHARES)), None)
    mus, first = _split(budget, _BESIDE_ALIGNED, _ALIGNED), len(vars(_BESIDE_ALIGNED))
    beside, alone = Shares(*mus[:first]), Shares(*_split(budget, _SHARES))  # alone it is a table like any other
    same = {name: min(getattr(alone, name), getattr(beside, name)) for name in _BEFORE_CHOICE}  # but for rounding
    return SubspacePlan(
        places,
        parting,
        schema.target,
        adjacency,
        replace(beside, **same),
        AlignedShares(*mus[first:]),
        replace(alone, **same),
    )


def _split(budget: Budget, *tables: Shares | AlignedShares) -> tuple[float, ...]:
    """The mu of each question of these tables, one after the other."""
    shares = [share for table in tables for share in vars(table).items()]
    least = [_LEAST_MU_OF_SCATTER if name in _OF_SCATTER else _LEAST_MU for name, _ in shares]
    return budget.split([share for _, share in shares], least)


def _geometry_of(schema: Schema, adjacency: Adjacency) -> tuple[ScaledColumns, ByTarget | Together]:
    """The columns of numbers, and what parts the records; a table that has no subspace is refused."""
    codes = Encoder(schema).columns
    target = schema.target if schema.target is not None and isinstance(codes[schema.target], CategoricalCodec) else None
    names = [name for name in schema.by_name if name != target]
    _refuse(schema, names, target, adjacency)
    return ScaledColumns.of(schema.by_name, names), Together() if target is None else ByTarget(
        target, codes[target].size
    )


def _refuse(schema: Schema, names: list[str], target: str | None, adjacency: Adjacency) -> None:
    """Refuse a table that has no subspace, and name the mechanism that serves it."""
    refuse_all_but_numbers(schema, names, "subspace")
    if not 2 <= len(names) <= MOST_COLUMNS:
        raise SchemaError(
            f"there are {len(names)} columns of numbers, and a subspace has 2 to {MOST_COLUMNS}; use mechanism tables"
        )
    if target is None and adjacency == Adjacency.LABEL:
        raise SchemaError("label adjacency protects a category, and the target is none; use mechanism tables")
    if target is not None and Encoder(schema).columns[target].size > MOST_CLASSES:
        raise SchemaError(f"the target {target!r} has more than {MOST_CLASSES} classes; use mechanism tables")


def is_wide(schema: Schema) -> bool:
    """Whether a table is what this mechanism is for: many numbers, and at most one category, as target."""
    features = [schema[name] for name in schema.features]
    numbers = all(column.type in ("number", "integer") and not column.missing for column in features)
    listed = schema.target is None or schema[schema.target].type in ("category", "boolean")
    return numbers and len(features) >= WIDE and listed
