"""Arrays of whole numbers inside JSON: shape and the bytes of little-endian 32-bit integers, as text."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(values: NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Plain content from which `unpack` makes the same numbers."""
    return {"shape": list(values.shape), "int32": base64.b64encode(values.astype("<i4").tobytes()).decode("ascii")}


def unpack(content: Mapping[str, Any]) -> NDArray[np.int32]:
    """The numbers that `pack` wrote."""
    values = np.frombuffer(base64.b64decode(content["int32"], validate=True), dtype="<i4")
    return values.reshape(content["shape"]).astype(np.int32)
