"""Pictures of each class, aligned: what records are drawn from, and what tells the class of a picture.

An aligned picture and its moves, from 0 to 1, are of class c
    g = means[c] + basis u + e,   u ~ N(centres[c], covs[c]),   e in the pixels alone
and a picture is g with its moves, see `statistics.aligned`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.fitting.models.subspace.maths import log_normals
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps.alignment import MOVES, ImageFrame, Moves, align_images, set_back

_PROBES = 100  # random pictures at which two models are compared


@dataclass(frozen=True, eq=False)
class AlignedImageModel:
    """Means, basis and covariances of aligned pictures with their moves, in the order of `align_images`.

    whitening   directions (pixels and moves x r) along which an aligned picture's place in the subspace is read
    residual    the variance of each aligned pixel outside the subspace
    paper       the share of the pixels that are blank, about
    """

    frame: ImageFrame
    means: FloatArray
    basis: FloatArray
    whitening: FloatArray
    centres: FloatArray
    covs: FloatArray
    residual: FloatArray
    paper: float

    ARRAYS: ClassVar = ("means", "basis", "whitening", "centres", "covs", "residual")

    def __post_init__(self) -> None:
        for name in self.ARRAYS:  # in the order of a bundle, so that products have the same digits before and after
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))
        wanted = self.shapes(self.frame, len(self.means), self.basis.shape[-1])
        if any(getattr(self, name).shape != shape for name, shape in wanted.items()):
            raise ValueError("an array of aligned pictures does not have the shape that classes and directions ask")
        if not all(np.isfinite(getattr(self, name)).all() for name in wanted):
            raise ValueError("the arrays of aligned pictures must be finite")
        if np.linalg.eigvalsh(self.covs).min(initial=1.0) <= 0 or self.residual.min() < 0:
            raise ValueError("variances of aligned pictures must be positive in every direction")
        if not 0 <= self.paper <= 1:
            raise ValueError("the blank share of aligned pictures must lie between 0 and 1")

    @staticmethod
    def shapes(frame: ImageFrame, classes: int, directions: int) -> dict[str, tuple[int, ...]]:
        """The shape of every array."""
        wide = frame.pixels + MOVES
        return {
            "means": (classes, wide),
            "basis": (wide, directions),
            "whitening": (wide, directions),
            "centres": (classes, directions),
            "covs": (classes, directions, directions),
            "residual": (frame.pixels,),
        }

    @cached_property
    def _roots(self) -> FloatArray:
        return np.linalg.cholesky(self.covs).astype(np.float64)

    def log_densities(self, places: FloatArray) -> FloatArray:
        """Of every class (records x classes), for pictures (records x pixels) from 0 to 1."""
        return self._told(align_images(places.T, self.frame).T)

    def _told(self, aligned: FloatArray) -> FloatArray:
        start = self.means.mean(axis=0)
        middles = self.centres + (self.means - start) @ self.whitening
        return log_normals((aligned - start) @ self.whitening, middles, self._roots)

    def draw(self, owner: IntArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The ink of pictures (pixels x records) of these classes, from 0 to 1; still ones have the residual.

        Beside them the log densities of each class where they were drawn: where classes overlap, a record of one may be
        likelier to be of another.
        """
        u = rng.standard_normal((len(owner), self.basis.shape[1]))
        for c, root in enumerate(self._roots):
            u[owner == c] = self.centres[c] + u[owner == c] @ root.T
        g = self.means[owner] + u @ self.basis.T
        ink, moves = g[:, :-MOVES].T, Moves.from_places(g[:, -MOVES:].T, self.frame)
        if self.frame.still:
            ink = ink + np.sqrt(self.residual)[:, None] * rng.standard_normal(ink.shape)
        return set_back(np.clip(ink, 0.0, 1.0), moves, self.frame), self._told(g)

    def distance(self, other: "AlignedImageModel") -> float:
        """By what they say of the same pictures, relative; directions may have other signs."""
        if self.means.shape != other.means.shape or self.basis.shape != other.basis.shape:
            return 1.0
        probes = np.random.default_rng(0).random((_PROBES, self.frame.pixels))
        mine, theirs = self.log_densities(probes), other.log_densities(probes)
        middles = (one.means + one.centres @ one.basis.T for one in (self, other))
        apart = np.abs(np.subtract(*middles)).max()
        return float(max((np.abs(mine - theirs) / (1 + np.abs(mine))).max(), apart))

    def to_dict(self) -> dict[str, Any]:
        """What is not an array."""
        return {"frame": asdict(self.frame), "directions": self.basis.shape[1], "paper": self.paper}


def frame_from(content: Mapping[str, Any], columns: int) -> ImageFrame:
    """The frame that `to_dict` wrote, of so many columns."""
    frame = ImageFrame(**content["frame"])
    if frame.pixels != columns:
        raise ValueError("aligned pictures have other columns than the model")
    return frame
