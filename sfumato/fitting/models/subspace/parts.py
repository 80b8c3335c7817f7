"""The arrays of a subspace release: their shapes, what makes them sound, and how a bundle holds them."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.fitting.models.subspace.alignment import AlignedImageModel, frame_from
from sfumato.fitting.models.subspace.marginals import CELLS
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import CategoricalCodec, Codes, NumericCodec

if TYPE_CHECKING:
    from sfumato.fitting.models.subspace.model import SubspaceModel


_CONTENT = {"kind", "columns", "target", "classes", "directions", "size", "count_sd", "marginal_sd", "settings"}
_ALIGNED = "aligned "  # before the names of its arrays
_SAME = 1e-9


def shapes(classes: int, columns: int, directions: int) -> dict[str, tuple[int, ...]]:
    """The shape of every array of a model."""
    return {
        "weights": (classes,),
        "means": (classes, columns),
        "basis": (columns, directions),
        "whitening": (columns, directions),
        "centres": (classes, directions),
        "covs": (classes, directions, directions),
        "residual": (columns,),
        "mean_sds": (classes, columns),
        "marginals": (columns, CELLS),
    }


def arrays_of(model: "SubspaceModel") -> dict[str, FloatArray]:
    """The arrays that a model has."""
    aligned = model.aligned
    also = {} if aligned is None else {f"{_ALIGNED}{name}": getattr(aligned, name) for name in aligned.ARRAYS}
    return _own_arrays(model) | also


def _own_arrays(model: "SubspaceModel") -> dict[str, FloatArray]:
    return {name: array for name in shapes(0, 0, 0) if (array := getattr(model, name)) is not None}


def must_be_sound(model: "SubspaceModel") -> None:
    """Refuse a model whose parts do not fit together."""
    arrays, basis = _own_arrays(model), model.basis
    wanted = shapes(model.classes, len(model.scales), basis.shape[1] if basis.ndim == 2 else 0)
    if any(array.shape != wanted[name] or array.dtype != np.float64 for name, array in arrays.items()):
        raise ValueError("an array of the model does not have the shape that its classes, columns and directions ask")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("the arrays of the model must be finite")
    _must_fit(model)
    if model.weights.min() <= 0 or not _adds_up(model.weights):
        raise ValueError("the weights must be a distribution in which every class has a part")
    if model.residual.min() <= 0 or model.mean_sds.min() < 0:
        raise ValueError("residual variances must be above 0, and deviations not below")
    if np.abs(model.covs - model.covs.transpose(0, 2, 1)).max(initial=0.0) > _SAME:
        raise ValueError("covariances must be symmetric")
    _must_be_positive(model.covs)
    if model.marginals is not None and (model.marginals.min() < 0 or not _adds_up(model.marginals)):
        raise ValueError("marginals must be distributions")


def _must_fit(model: "SubspaceModel") -> None:
    if model.classes < 1 or (model.target is None and model.classes > 1) or model.target in model.scales:
        raise ValueError("records are of one class, or are parted by a target that is no column of the subspace")
    if not model.scales or any(scale.missing is not None for scale in model.scales.values()):
        raise ValueError("every column of a subspace has a place for every value, and a missing value has none")
    if not (0 < model.size < 2**53 and 0 <= model.count_sd < 2**53 and 0 <= model.marginal_sd < 2**53):
        raise ValueError("the size must be above 0 and finite, and deviations not below 0")
    aligned = model.aligned
    if aligned is not None and (aligned.frame.pixels, len(aligned.means)) != (len(model.scales), model.classes):
        raise ValueError("aligned pictures have other columns or classes than the model")


def _must_be_positive(covs: FloatArray) -> None:
    try:
        np.linalg.cholesky(covs)
    except np.linalg.LinAlgError:
        raise ValueError("a covariance must be positive in every direction") from None


def _adds_up(probabilities: FloatArray) -> bool:
    return bool((np.abs(probabilities.sum(axis=-1) - 1) <= _SAME).all())


def to_table(arrays: Mapping[str, FloatArray]) -> pa.Table:
    """A row for each array, its numbers in one list."""
    values = [array.ravel() for array in arrays.values()]
    return pa.table({"part": list(arrays), "values": pa.array(values, pa.list_(pa.float64()))})


def fields_of(content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]) -> dict[str, Any]:
    """The fields of the model that content and table hold, on the scales of the schema."""
    if set(content) - {"aligned"} != _CONTENT or table.column_names != ["part", "values"]:
        raise ValueError("the model has parts that are not known to this version; update sfumato")
    names, target, classes = content["columns"], content["target"], int(content["classes"])
    scales = {name: codes for name, codes in columns.items() if isinstance(codes, NumericCodec)}
    if list(scales) != names or set(columns) - set(names) != ({target} - {None}):
        raise ValueError("the model has other columns than the schema")
    listed = None if target is None else columns[target]
    if classes != (listed.size if isinstance(listed, CategoricalCodec) else 1):
        raise ValueError("the model has other classes than the schema")
    pictured = content.get("aligned") or {}
    frame = frame_from(pictured, len(names)) if pictured else None
    wanted = shapes(classes, len(names), int(content["directions"]))
    if frame is not None:
        also = AlignedImageModel.shapes(frame, classes, int(pictured["directions"]))
        wanted |= {f"{_ALIGNED}{name}": shape for name, shape in also.items()}
    arrays = _arrays(table, wanted)
    parts = {name: arrays.pop(f"{_ALIGNED}{name}") for name in AlignedImageModel.ARRAYS} if frame is not None else {}
    numbers = {name: float(content[name]) for name in ("size", "count_sd", "marginal_sd")}
    return {
        **arrays,
        **numbers,
        "scales": scales,
        "target": target,
        "classes": classes,
        "aligned": None if frame is None else AlignedImageModel(frame, **parts, paper=float(pictured["paper"])),
        "settings": content["settings"],
    }


def _arrays(table: pa.Table, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, FloatArray]:
    """The arrays of the table, of these shapes; marginals may be missing."""
    parts = table.column("part").to_pylist()
    if parts not in (list(wanted), [name for name in wanted if name != "marginals"]):
        raise ValueError("the model lacks an array or has one that is not known")
    return {name: _array(table, row, wanted[name]) for row, name in enumerate(parts)}


def _array(table: pa.Table, row: int, shape: tuple[int, ...]) -> FloatArray:
    values = table.column("values")[row].values
    if values is None or values.type != pa.float64() or len(values) != math.prod(shape):
        raise ValueError("an array of the model is not as long as its classes, columns and directions ask")
    array: FloatArray = values.to_numpy(zero_copy_only=False).reshape(shape)
    return array
