"""The bounded maps of one record that statistics are built on."""

from sfumato.trusted.feature_maps.alignment import AlignedImages
from sfumato.trusted.feature_maps.boxes import Boxes
from sfumato.trusted.feature_maps.cell_tree import CellTree
from sfumato.trusted.feature_maps.centred_projection import CentredProjection
from sfumato.trusted.feature_maps.features import Features, LeafLookup, Lookup, Softmax
from sfumato.trusted.feature_maps.fourier_features import FourierFeatures
from sfumato.trusted.feature_maps.grid import Grid
from sfumato.trusted.feature_maps.kind_grid import KindGrid
from sfumato.trusted.feature_maps.leaves import Leaves
from sfumato.trusted.feature_maps.partition import ByRule, ByTarget, Partition, Together
from sfumato.trusted.feature_maps.radial_weight import RadialWeight
from sfumato.trusted.feature_maps.radii import Radii
from sfumato.trusted.feature_maps.scaled_columns import ScaledColumns
from sfumato.trusted.feature_maps.scores import Hampel, Lift
from sfumato.trusted.feature_maps.shells import Shells
from sfumato.trusted.feature_maps.whitening import Whitening

__all__ = [
    "AlignedImages",
    "Boxes",
    "ByRule",
    "ByTarget",
    "CellTree",
    "CentredProjection",
    "Features",
    "FourierFeatures",
    "Grid",
    "Hampel",
    "KindGrid",
    "LeafLookup",
    "Leaves",
    "Lift",
    "Lookup",
    "Partition",
    "RadialWeight",
    "Radii",
    "ScaledColumns",
    "Shells",
    "Softmax",
    "Together",
    "Whitening",
]
