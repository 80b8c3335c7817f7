"""What counts will be asked for: a function of schema, budget and adjacency alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from sfumato.errors import SchemaError
from sfumato.fitting.mechanisms.counts.functions import Functions, functions_of
from sfumato.fitting.mechanisms.counts.grids import cut_at, fine_grid, is_long
from sfumato.fitting.support.support import Support
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Codes, Encoder, NumericCodec, codes_of
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.feature_maps.grid import grids_follow
from sfumato.trusted.schema import Column, Schema

MOST_CELLS = 10_000_000
DESIGN = 2
"""Which questions follow from a plan and earlier answers; a number of its own whenever that changes."""
MOST_PARTS = 4_096  # classes of the target times boxes of what rules allow, each of which has a component


class Tuning(TuningConstants, group="counts.plan"):
    """See `sfumato.fitting.tuning`."""

    target_zoom = 0.3  # of the target's share, for where it has its mass
    zoom = 0.03  # share of mu squared for where long columns have their mass, taken from that of the one-way tables
    least_zoom = 2.0**-12  # mu below which it tells nothing
    target_classes = 6  # into which a numeric target is cut
    most_pairs = 1_000
    many_classes = 40  # more than these have no labeller, and a shorter fit: a bound on time
    most_features = 8_192  # log-ratios of the labeller: a bound on time and memory


@dataclass(frozen=True)
class CountsPlan:
    """The questions in order: target (if numeric; where it has its mass, then its histogram), where other long columns
    have theirs, one-way tables, pairs.

    Each has its mu. `labelled` says whether the classes are few enough for a labeller, `pair_features` whether it looks
    at pairs. `functions` are to be learnt together with the pairs; `support` is what the schema's rules allow, None
    where it has none. `pair_weights` are those of the pairs to ask for, where they do not follow from what is measured;
    `octaves` are columns of numbers of rows, whose coarse cells are half octaves.
    """

    columns: Mapping[str, Column]
    grids: Mapping[str, Grid]
    features: tuple[str, ...]
    target: str | None
    adjacency: Adjacency
    mu_target_zoom: float | None
    mu_target: float | None
    mu_zoom: float | None
    mu_one_way: float
    mu_pairs: float | None
    labelled: bool
    pair_features: bool
    support: Support | None = field(default=None, kw_only=True)
    functions: Functions = field(default=(), kw_only=True)
    pair_weights: Mapping[tuple[str, str], float] | None = field(default=None, kw_only=True)
    octaves: frozenset[str] = field(default=frozenset(), kw_only=True)
    design: int = field(default=DESIGN, kw_only=True)

    @cached_property
    def codes(self) -> Mapping[str, Codes]:
        """The codes of every column."""
        return {name: codes_of(column) for name, column in self.columns.items()}

    def axis(self, name: str, what: str) -> str:
        """The name of one more axis of a column, which no column has."""
        axis = f"{name} ({what})"
        while axis in self.columns:
            axis += "'"
        return axis

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`. A grid that many columns share is written once."""
        distinct = list(dict.fromkeys(self.grids.values()))
        number = {grid: k for k, grid in enumerate(distinct)}
        return {
            "design": self.design,
            "grids": [grid.to_dict() for grid in distinct],
            "grid_of": {name: number[grid] for name, grid in self.grids.items()},
            "mu_target_zoom": self.mu_target_zoom,
            "mu_target": self.mu_target,
            "mu_zoom": self.mu_zoom,
            "mu_one_way": self.mu_one_way,
            "mu_pairs": self.mu_pairs,
            "labelled": self.labelled,
            "pair_features": self.pair_features,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> Self:
        """The plan that `to_dict` wrote."""
        fields = {"design": 1, **content}
        distinct = [Grid.from_dict(item) for item in fields.pop("grids")]
        grids = {name: distinct[number] for name, number in fields.pop("grid_of").items()}
        if list(grids) != list(schema.by_name) or not grids_follow(grids.items(), schema):
            raise ValueError("the grids of the plan are not of the schema's columns")
        refuse_too_many_cells(schema, grids)
        support = support_of(schema)
        if support is not None:
            support.must_follow(grids)
            refuse_too_many_parts(schema, grids, support)
        if not all(isinstance(fields[name], bool) for name in ("labelled", "pair_features")):
            raise ValueError("the plan does not say whether there is a labeller")
        public = (schema.by_name, grids, schema.features, schema.target, adjacency)
        return cls(*public, functions=functions_of(schema, Encoder(schema).columns), support=support, **fields)

    @classmethod
    def from_shares(
        cls,
        schema: Schema,
        adjacency: Adjacency,
        found: "Geometry",
        mu: Mapping[str, float],
        **own: Any,
    ) -> Self:
        """The plan with the mu of `split_shares`; `own` is what a mechanism asks beyond counts."""
        return cls(
            columns=schema.by_name,
            grids=found.grids,
            features=schema.features,
            target=schema.target,
            adjacency=adjacency,
            mu_target_zoom=mu.get("target zoom"),
            mu_target=mu.get("target"),
            mu_zoom=mu.get("zoom"),
            mu_one_way=mu["one-way"],
            mu_pairs=mu.get("pairs"),
            labelled=found.labelled,
            pair_features=found.pair_features,
            support=found.support,
            functions=functions_of(schema, found.codes),
            **own,
        )


def split_shares(budget: Budget, found: "Geometry", target: float, shares: Mapping[str, float]) -> dict[str, float]:
    """The mu of every question with a share: that of a numeric `target`, then the others in proportion to the rest."""
    target *= found.numeric
    closer = Tuning.target_zoom * (found.long_target and _finds_something(budget, target * Tuning.target_zoom))
    left = (1 - target) / sum(shares.values())
    parts = {"target zoom": target * closer, "target": target * (1 - closer)}
    parts |= {name: share * left for name, share in shares.items()}
    asked = {name: share for name, share in parts.items() if share > 0}
    return dict(zip(asked, budget.split(list(asked.values())), strict=True))


@dataclass(frozen=True)
class Geometry:
    """What of the plan follows from the schema alone."""

    codes: Mapping[str, Codes]
    grids: Mapping[str, Grid]
    numeric: bool  # the target
    pairs: int
    long: bool  # whether some feature has more values than cells
    long_target: bool  # whether the target has
    labelled: bool
    pair_features: bool
    support: Support | None


def zoom_share(budget: Budget, found: Geometry) -> float:
    """The share of mu squared for `zoom`; none where the budget is too small to find anything."""
    return Tuning.zoom * (found.long and _finds_something(budget, Tuning.zoom))


def _finds_something(budget: Budget, share: float) -> bool:
    return budget.mu * math.sqrt(share) >= Tuning.least_zoom


def geometry_of(schema: Schema) -> Geometry:
    """Grids, and how many pairs and classes there will be at most."""
    codes = Encoder(schema).columns
    by_code = {id(code): fine_grid(code) for code in codes.values()}
    grids = {name: by_code[id(code)] for name, code in codes.items()}
    support = support_of(schema)
    if support is not None:
        grids |= {name: cut_at(codes[name], grids[name], support.edges(name)) for name in support.names}
        refuse_too_many_parts(schema, grids, support)
    refuse_too_many_cells(schema, grids)
    shared: dict[Grid, Grid] = {}  # equal grids are one object, as in a plan that was read: both write a model alike
    grids = {name: shared.setdefault(grid, grid) for name, grid in grids.items()}
    classes = _most_classes(schema, codes, grids)
    columns = len(schema.features)
    pairs = min(columns * (columns - 1) // 2, Tuning.most_pairs)
    return Geometry(
        codes,
        grids,
        numeric=schema.target is not None and isinstance(codes[schema.target], NumericCodec),
        pairs=pairs,
        long=any(is_long(codes[name]) for name in schema.features),
        long_target=schema.target is not None and is_long(codes[schema.target]),
        labelled=1 < classes <= Tuning.many_classes and 0 < columns * (classes - 1) <= Tuning.most_features,
        pair_features=(columns + pairs) * (classes - 1) <= Tuning.most_features,
        support=support,
    )


def support_of(schema: Schema) -> Support | None:
    """What the schema's rules allow; None where it has none."""
    return Support.of(schema.forbidden, {name: codes_of(column).size for name, column in schema.by_name.items()})


def _most_classes(schema: Schema, codes: Mapping[str, Codes], grids: Mapping[str, Grid]) -> int:
    if schema.target is None:
        return 1
    target = codes[schema.target]
    if isinstance(target, NumericCodec):
        return Tuning.target_classes + (target.missing is not None)
    return grids[schema.target].size


def refuse_too_many_cells(schema: Schema, grids: Mapping[str, Grid]) -> None:
    """A column by the target must fit into memory."""
    classes = 1 if schema.target is None else grids[schema.target].size
    for name in schema.features:
        if grids[name].size * classes > MOST_CELLS:
            raise SchemaError(
                f"column {name!r} by the target {schema.target!r} would be a table of {grids[name].size} x {classes} "
                f"cells, more than {MOST_CELLS}; shorten the lists of values"
            )


def refuse_too_many_parts(schema: Schema, grids: Mapping[str, Grid], support: Support) -> None:
    """Every value of the target in every box that it can be in needs a component; a numeric one has few classes."""
    target = schema.target
    if target is None or isinstance(codes_of(schema[target]), NumericCodec):
        return
    parts = int(support.of_cells(target, grids[target]).sum())
    if parts > MOST_PARTS:
        raise SchemaError(
            f"the rules between columns cut the table into {len(support.boxes)} parts, which with the values of the "
            f"target {target!r} are {parts}, more than {MOST_PARTS}; give fewer or simpler rules, or a shorter target"
        )
