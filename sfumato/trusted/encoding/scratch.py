"""Room for large arrays that live for a moment."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def scratch_array(count: int, kind: Any = np.float64) -> NDArray[Any]:
    """An array without content, in memory of Arrow's pool.

    The pool keeps what is given back. Numpy's own memory goes back to the system each time, at least where threads ask
    for it, and to get a page anew takes longer than what is done with it here.
    """
    return np.frombuffer(pa.allocate_buffer(count * np.dtype(kind).itemsize), dtype=kind)
