"""Whether two questions are the same but for the last digits of numbers that follow from earlier answers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.trusted.feature_maps import Whitening
from sfumato.trusted.feature_maps.packing import unpack
from sfumato.trusted.statistics import Statistic

_SAME = 1e-3  # what the last digits of another processor may add up to


def approx_equal(asked: Statistic, recorded: Statistic) -> bool:
    """Whether everything is the same, whitenings to a thousandth of a whitened unit and numbers of their size."""
    return type(asked) is type(recorded) and _alike(asked.to_dict(), recorded.to_dict())


def _alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    match one:
        case {"centre": _, "matrix": _, "shift": _}:
            return _apart(Whitening.from_dict(one), Whitening.from_dict(other)) < _SAME
        case {"shape": _, "int32": _}:
            return _near(unpack(one), unpack(other))
        case Mapping():
            return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
        case [float(), *_]:
            return _near(np.array(one), np.array(other))
        case list():
            return len(one) == len(other) and all(map(_alike, one, other))
        case float():
            return _near(np.array(one), np.array(other))
        case _:
            return bool(one == other)


def _near(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether arrays of numbers differ by a thousandth of their largest at most."""
    if one.shape != other.shape:
        return False
    mine, theirs = one.astype(np.float64), other.astype(np.float64)
    return bool((np.abs(mine - theirs) <= _SAME * np.abs(mine).max(initial=0.0)).all())


def _apart(one: Whitening, other: Whitening) -> float:
    """How far two whitenings are apart in the units of the first."""
    if len(one.centre) != len(other.centre):
        return np.inf
    turned = (other.exact_matrix - one.exact_matrix) @ np.linalg.pinv(one.exact_matrix)  # some look along few axes
    moved = one.exact_matrix @ (one.exact_centre - other.exact_centre)
    return float(max(np.abs(turned).max(), np.abs(moved).max()))
