"""Per-record maps with a proven sensitivity.

A statistic is a frozen public value: what is asked, never what is answered.
"""

from sfumato.statistics.cells import Cells
from sfumato.statistics.features import Features, Lookup, Softmax
from sfumato.statistics.gradient import Gradient
from sfumato.statistics.grid import Grid
from sfumato.statistics.stacked import Stacked
from sfumato.statistics.statistic import Block, Statistic, size_of, statistic_from_content

__all__ = [
    "Block",
    "Cells",
    "Features",
    "Gradient",
    "Grid",
    "Lookup",
    "Softmax",
    "Stacked",
    "Statistic",
    "size_of",
    "statistic_from_content",
]
