"""Per-record maps with a proven sensitivity.

A statistic is a frozen public value: what is asked, never what is answered.
"""

from sfumato.statistics.at_bounds import AtBounds
from sfumato.statistics.boxes import Boxes
from sfumato.statistics.cells import Cells
from sfumato.statistics.class_sums import ClassSums
from sfumato.statistics.damping import Damping
from sfumato.statistics.distances import Distances
from sfumato.statistics.features import Features, Lookup, Softmax
from sfumato.statistics.gradient import Gradient
from sfumato.statistics.grid import Grid
from sfumato.statistics.leaves import Leaves
from sfumato.statistics.parting import ByRule, ByTarget, Parting, Together
from sfumato.statistics.places import Places
from sfumato.statistics.row_sums import RowSums
from sfumato.statistics.scatter import Scatter
from sfumato.statistics.scores import Hampel, Lift
from sfumato.statistics.shells import Shells
from sfumato.statistics.slices import Slices
from sfumato.statistics.stacked import Stacked
from sfumato.statistics.statistic import Block, Statistic, size_of, statistic_from_content
from sfumato.statistics.upright import Upright
from sfumato.statistics.view import View
from sfumato.statistics.waves import Waves
from sfumato.statistics.whitening import Whitening

__all__ = [
    "AtBounds",
    "Block",
    "Boxes",
    "ByRule",
    "ByTarget",
    "Cells",
    "ClassSums",
    "Damping",
    "Distances",
    "Features",
    "Gradient",
    "Grid",
    "Hampel",
    "Leaves",
    "Lift",
    "Lookup",
    "Parting",
    "Places",
    "RowSums",
    "Scatter",
    "Shells",
    "Slices",
    "Softmax",
    "Stacked",
    "Statistic",
    "Together",
    "Upright",
    "View",
    "Waves",
    "Whitening",
    "size_of",
    "statistic_from_content",
]
