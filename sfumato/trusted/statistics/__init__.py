"""Statistics: sums of per-record vectors whose sensitivity is proven, one class a file.

A statistic is a frozen public value: what is asked, never what is answered.
"""

from sfumato.trusted.statistics.at_bounds import AtBounds
from sfumato.trusted.statistics.cells import Cells
from sfumato.trusted.statistics.class_sums import ClassSums
from sfumato.trusted.statistics.clipped_sums import ClippedSums
from sfumato.trusted.statistics.code_sums import CodeSums
from sfumato.trusted.statistics.distance_histogram import DistanceHistogram
from sfumato.trusted.statistics.embedding import Embedding
from sfumato.trusted.statistics.gradient import Gradient
from sfumato.trusted.statistics.key_counts import KeyCounts
from sfumato.trusted.statistics.leaf_counts import LeafCounts
from sfumato.trusted.statistics.parities import Parities
from sfumato.trusted.statistics.person_level import PersonLevel
from sfumato.trusted.statistics.products import Products
from sfumato.trusted.statistics.range_counts import RangeCounts
from sfumato.trusted.statistics.sampled import Sampled
from sfumato.trusted.statistics.scatter import Scatter
from sfumato.trusted.statistics.slices import Slices
from sfumato.trusted.statistics.stacked import Stacked
from sfumato.trusted.statistics.statistic import Block, Statistic, size_of, statistic_from_dict

__all__ = [
    "AtBounds",
    "Block",
    "Cells",
    "ClassSums",
    "ClippedSums",
    "CodeSums",
    "DistanceHistogram",
    "Embedding",
    "Gradient",
    "KeyCounts",
    "LeafCounts",
    "Parities",
    "PersonLevel",
    "Products",
    "RangeCounts",
    "Sampled",
    "Scatter",
    "Slices",
    "Stacked",
    "Statistic",
    "size_of",
    "statistic_from_dict",
]
