"""What is public about `X` and `y`: the names of the columns, their bounds, the classes. From these, a schema."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.schema import ESTIMATE, Schema


class DataDependentWarning(UserWarning):
    """Something that the promise treats as public was read off the private rows."""


def bounds_of(bounds: Any, features: int) -> FloatArray:
    """The bounds as one row (low, high) for each feature.

    bounds   a tuple (low, high), each a number or an array of one number for each feature; or an array of shape
             (features, 2). A tuple of two arrays is always (lows, highs).
    """
    try:
        if isinstance(bounds, tuple) and len(bounds) == 2:
            low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (features,)) for end in bounds)
            box = np.column_stack((low, high))
        else:
            box = np.array(bounds, dtype=np.float64)
            box = np.tile(box, (features, 1)) if box.shape == (2,) else box
    except (TypeError, ValueError):
        box = np.empty(0)
    if box.shape != (features, 2) or not np.isfinite(box).all():
        raise ValueError(
            f"bounds do not fit {features} features; give (low, high), numbers or one of each for every feature, "
            "or an array of shape (n_features, 2)"
        )
    for place, (low, high) in enumerate(box):
        if not low < high:
            raise ValueError(f"bounds of feature {place}: {low:g} is not below {high:g}; write the lower one first")
    return box


def classes_of(classes: Any, y: NDArray[Any]) -> NDArray[Any]:
    """The classes, sorted: those that are named, or those that occur, with a warning unless somebody allowed it."""
    if classes is None:
        warnings.warn(
            "which labels occur is read off the private rows, and the promise treats it as public knowledge; name the "
            "labels, classes=[...], or say classes='observed' if everybody may know them",
            DataDependentWarning,
            stacklevel=4,
        )
    if classes is None or isinstance(classes, str):
        return np.unique(y)
    named = np.unique(np.asarray(classes))
    if named.ndim != 1 or not len(named):
        raise ValueError("classes names no class; list every label that may occur")
    return named


def codes_of(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int32]:
    """The place of every label among the classes."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([place.get(label, -1) for label in y.tolist()], dtype=np.int32)
    if (codes < 0).any():
        raise ValueError("y has a label that classes does not name; name every label that may occur")
    return codes


def names_of(given: Sequence[str] | None, features: int) -> tuple[str, ...]:
    """The names of the columns: those of the frame where a schema can hold them, else x0, x1, ..."""
    if given is not None and len(set(given)) == features and all(given) and not any("{" in name for name in given):
        return tuple(map(str, given))
    return tuple(f"x{place}" for place in range(features))


def target_of(names: Sequence[str]) -> str:
    """A name for the labels that no feature has."""
    name = "y"
    while name in names:
        name += "_"
    return name


def schema_of(dataset: str, names: Sequence[str], box: FloatArray | None, classes: NDArray[Any] | None) -> Schema:
    """The schema: a number for every feature, and the classes as target. Without a box, bounds are to be estimated."""
    bounds: list[Any] = [ESTIMATE] * len(names) if box is None else box.tolist()
    columns: list[dict[str, Any]] = [
        {"name": name, "type": "number", "bounds": ends} for name, ends in zip(names, bounds, strict=True)
    ]
    target = None
    if classes is not None:
        target = target_of(names)
        columns.append({"name": target, "type": "category", "values": values_of(classes)})
    return Schema.from_dict({"sfumato": 1, "name": dataset, "columns": columns, "target": target}, "X, y")


def values_of(classes: NDArray[Any]) -> list[str | int | float]:
    """The classes as a schema lists them: text and numbers as they are, the rest as text."""
    return [
        label if isinstance(label, str | int | float) and not isinstance(label, bool) else str(label)
        for label in classes.tolist()
    ]
