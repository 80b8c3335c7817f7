"""Places on the scales of many columns, worked out value by value: no table of a million steps for each column."""

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import CodeArray, FloatArray
from sfumato.trusted.encoding import NumericCodec


def places_at(scale: NumericCodec, codes: CodeArray) -> FloatArray:
    """What `scale.places` has at these codes."""
    if scale.exact:
        return scale.places[codes]
    left, right = _ends(scale, np.minimum(codes, scale.steps - 1))
    places: FloatArray = (scale.place_of(left) + scale.place_of(right)) / 2
    for number, atom in enumerate(scale.atoms):
        places[codes == scale.steps + number] = scale.place_of(np.array([atom]))
    return places


def slopes_at(scale: NumericCodec, codes: CodeArray) -> FloatArray:
    """What `scale.slope` has at these codes."""
    step = codes.copy()
    for number, atom in enumerate(scale.atoms):
        step[codes == scale.steps + number] = scale.steps_of(np.array([atom]))
    left, right = _ends(scale, step)
    return (scale.place_of(right) - scale.place_of(left)) / (right - left)


def _ends(scale: NumericCodec, step: CodeArray) -> tuple[FloatArray, FloatArray]:
    return scale.ends(step), scale.ends(step + 1)


def at_bounds(scale: NumericCodec, codes: CodeArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each code is that of the lowest value, and whether of the highest."""
    low, high = scale.codes_at(np.array([0.0, 1.0]))
    return codes == low, codes == high
