"""What `slices` will ask and what each question may spend: a function of schema, budget and adjacency alone."""

from dataclasses import dataclass
from typing import Any

from sfumato.fitting.devices import torch_or_error
from sfumato.fitting.mechanisms.counts.plan import CountsPlan, geometry_of, split_shares, zoom_share
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.schema import Schema


class Tuning(TuningConstants, group="slices.plan"):
    """See `sfumato.fitting.tuning`."""

    target = 0.05  # share of mu squared for the histogram that cuts a numeric target into classes
    axes = 0.40  # of what is left, as are the others
    pairs = 0.45
    directions = 0.15


@dataclass(frozen=True)
class SlicesPlan(CountsPlan):
    """Counts along the axes and pairs of axes, then along random directions; each with its mu.

    The slice of a record along an axis is the cell of one column, that along two axes of which one is stretched beyond
    the other's range is the cell of both: tables of one and two columns are slices too, and are counted as such.
    """

    mu_directions: float | None

    def to_dict(self) -> dict[str, Any]:
        """See `Plan`."""
        return {**super().to_dict(), "mu_directions": self.mu_directions}


def plan_slices(schema: Schema, budget: Budget, adjacency: Adjacency) -> SlicesPlan:
    """The plan for a table. One column alone has no direction but its axis.

    Without torch it is refused here, before anything is spent.
    """
    torch_or_error()
    found = geometry_of(schema)
    zoom = zoom_share(budget, found)
    shares = {
        "zoom": zoom,
        "one-way": Tuning.axes - zoom,
        "pairs": Tuning.pairs * (found.pairs > 0),
        "directions": Tuning.directions * (found.pairs > 0),
    }
    mu = split_shares(budget, found, Tuning.target, shares)
    return SlicesPlan.from_shares(schema, adjacency, found, mu, mu_directions=mu.get("directions"))
