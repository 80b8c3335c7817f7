"""What `tables` will ask and what each question may spend: a function of schema, budget and adjacency alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.errors import SchemaError
from sfumato.fitting.mechanisms.tables.grids import fine_grid
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Codes, Encoder, Measured
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.schema import Schema

TARGET_CLASSES = 6  # into which a numeric target is cut
MOST_CELLS = 10_000_000
MOST_PAIRS = 1_000
MANY_CLASSES = 40  # more than these have no labeller, and a shorter fit: a bound on time
_MOST_FEATURES = 8_192  # log-ratios of the labeller: a bound on time and memory

_TARGET = 0.05  # share of mu squared for the histogram that cuts a numeric target into classes
_ONE_WAY = 0.35  # of what is left, as are the others
_PAIRS = 0.45
_ADAPT = 0.20
_LEAST_STEP = 2.0**-15  # mu of a gradient below which it tells nothing, and its noise leaves the lattice
_STEPS = 4  # gradients, each asked where the last one led


@dataclass(frozen=True)
class TablesPlan:
    """The questions in order: target (if numeric), one-way tables, pair tables, gradients; each with its mu.

    `labelled` says whether the classes are few enough for a labeller, `pair_features` whether it looks at pairs.
    """

    codes: Mapping[str, Codes]
    grids: Mapping[str, Grid]
    features: tuple[str, ...]
    target: str | None
    adjacency: Adjacency
    mu_target: float | None
    mu_one_way: float
    mu_pairs: float | None
    mu_steps: tuple[float, ...]
    labelled: bool
    pair_features: bool


def plan_tables(schema: Schema, budget: Budget, adjacency: Adjacency) -> TablesPlan:
    """The plan for a table."""
    codes = Encoder(schema).columns
    shared = {id(code): fine_grid(code) for code in codes.values()}
    grids = {name: shared[id(code)] for name, code in codes.items()}
    _refuse_too_many_cells(schema, grids)
    numeric = schema.target is not None and isinstance(codes[schema.target], Measured)
    classes = _most_classes(schema, codes, grids)
    columns = len(schema.features)
    pairs = min(columns * (columns - 1) // 2, MOST_PAIRS)
    labelled = 1 < classes <= MANY_CLASSES and 0 < columns * (classes - 1) <= _MOST_FEATURES
    adapt = labelled and budget.mu * math.sqrt(_ADAPT * (1 - _TARGET) / _STEPS) >= _LEAST_STEP
    shares = {"one-way": _ONE_WAY, "pairs": _PAIRS * (pairs > 0), "adapt": _ADAPT * adapt}
    left = (1 - _TARGET * numeric) / sum(shares.values())
    parts = {
        "target": _TARGET * numeric,
        "one-way": shares["one-way"] * left,
        "pairs": shares["pairs"] * left,
        **{f"step {t}": shares["adapt"] * left / _STEPS for t in range(_STEPS)},
    }
    asked = [name for name, share in parts.items() if share > 0]
    mu = dict(zip(asked, budget.split([parts[name] for name in asked]), strict=True))
    return TablesPlan(
        codes,
        grids,
        schema.features,
        schema.target,
        adjacency,
        mu.get("target"),
        mu["one-way"],
        mu.get("pairs"),
        tuple(mu[name] for name in asked if name.startswith("step")),
        labelled,
        (columns + pairs) * (classes - 1) <= _MOST_FEATURES,
    )


def _most_classes(schema: Schema, codes: Mapping[str, Codes], grids: Mapping[str, Grid]) -> int:
    if schema.target is None:
        return 1
    target = codes[schema.target]
    if isinstance(target, Measured):
        return TARGET_CLASSES + (target.missing is not None)
    return grids[schema.target].size


def _refuse_too_many_cells(schema: Schema, grids: Mapping[str, Grid]) -> None:
    classes = 1 if schema.target is None else grids[schema.target].size
    for name in schema.features:
        if grids[name].size * classes > MOST_CELLS:
            raise SchemaError(
                f"column {name!r} by the target {schema.target!r} would be a table of {grids[name].size} x {classes} "
                f"cells, more than {MOST_CELLS}; shorten the lists of values"
            )
