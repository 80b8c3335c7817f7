"""The arrays that the library computes with, by what they hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int32]
"""Codes of a column's values, as `encoding` makes them."""
Int32Array = NDArray[np.int32]
WordArray = NDArray[np.uint64]
GreyArray = NDArray[np.uint8]
BoolArray = NDArray[np.bool_]
AnyFloatArray = NDArray[np.floating[Any]]
AnyIntArray = NDArray[np.integer[Any]]
