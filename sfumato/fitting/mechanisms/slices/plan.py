"""What `slices` will ask and what each question may spend: a function of schema, budget and adjacency alone."""

from dataclasses import dataclass, replace

from sfumato.fitting.generators.training import torch_or_error
from sfumato.fitting.mechanisms.tables.plan import TablesPlan, plan_tables
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.schema import Schema

_TARGET = 0.05  # share of mu squared for the histogram that cuts a numeric target into classes
_AXES = 0.40  # of what is left, as are the others
_PAIRS = 0.45
_DIRECTIONS = 0.15


@dataclass(frozen=True)
class SlicesPlan:
    """The questions in order: target (if numeric), the axes, pairs of axes, random directions; each with its mu.

    The slice of a record along an axis is the cell of one column, that along two axes of which one is stretched beyond
    the other's range is the cell of both: tables of one and two columns are slices too, and are counted as such.
    """

    tables: TablesPlan
    mu_directions: float | None


def plan_slices(schema: Schema, budget: Budget, adjacency: Adjacency) -> SlicesPlan:
    """The plan for a table. One column alone has no direction but its axis.

    Without torch it is refused here, before anything is spent.
    """
    torch_or_error()
    tables = plan_tables(schema, budget, adjacency)
    several = tables.mu_pairs is not None
    shares = {"axes": _AXES, "pairs": _PAIRS * several, "directions": _DIRECTIONS * several}
    numeric = tables.mu_target is not None
    left = (1 - _TARGET * numeric) / sum(shares.values())
    parts = {"target": _TARGET * numeric} | {name: share * left for name, share in shares.items()}
    asked = [name for name, share in parts.items() if share > 0]
    mu = dict(zip(asked, budget.split([parts[name] for name in asked]), strict=True))
    tables = replace(
        tables,
        mu_target=mu.get("target"),
        mu_one_way=mu["axes"],
        mu_pairs=mu.get("pairs"),
        mu_steps=(),
    )
    return SlicesPlan(tables, mu.get("directions"))
