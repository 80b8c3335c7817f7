"""What is released of private images: their slices, by the published ways and by ours.

The labelled images of the other set are public. They say where images are centred, how long they may be, in which
directions digits differ, and in which range a slice is looked at; nothing of that comes from private rows.

    SliceWass                 noisy projections of each image, noise by the authors' bound       one replaced image
    SliceWass, exact noise    the same, noise by the exact profile                               one replaced image
    slicing as published      the same along directions at right angles                          one replaced image
    ours                      noisy counts of all images along each direction                    one replaced image
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.trusted.arrays import FloatArray

if TYPE_CHECKING:
    from sfumato.trusted.statistics import Slices

DELTA = 1e-5
SLICES = 64
AXES = 32  # principal directions of the public images; as many random ones among them
BINS = 32
LEVELS = 512  # quantiles that stand for a slice
REACH = 4.0  # standard deviations of a public slice, on either side of its mean
GREYS = 256
STEPS = 1 << 16  # of a slice's range
INSIDE = 0.95  # share of public images that are not shortened


@dataclass(frozen=True, eq=False)
class Released:
    """Slices as quantiles: what the images of a translator are compared with.

    directions   pixels x slices
    quantiles    levels x slices, of the centred and scaled images
    noise        standard deviation that each projection of the release has, and each translated one must get
    """

    directions: FloatArray
    quantiles: FloatArray
    noise: float

    def save(self, path: Path) -> None:
        """One file, for a machine that trains and releases nothing."""
        np.savez_compressed(path, directions=self.directions, quantiles=self.quantiles, noise=self.noise)

    @classmethod
    def load(cls, path: Path) -> "Released":
        """What `save` wrote."""
        with np.load(path) as file:
            return cls(file["directions"], file["quantiles"], float(file["noise"]))


@dataclass(frozen=True, eq=False)
class Public:
    """What the public images say: a centre, a length, principal directions and the spread along them."""

    centre: FloatArray
    radius: float
    axes: FloatArray

    @classmethod
    def of(cls, source: FloatArray) -> "Public":
        """All by the labelled set alone."""
        centre = source.mean(axis=0)
        away = source - centre
        values, vectors = np.linalg.eigh(away.T @ away / len(away))
        radius = float(np.quantile(np.linalg.norm(away, axis=1), INSIDE))
        return cls(centre, radius, vectors[:, np.argsort(-values)[:AXES]])

    def scaled(self, images: FloatArray) -> FloatArray:
        """Centred, and 1 long where they are as long as most public ones."""
        moved: FloatArray = (images - self.centre) / self.radius
        return moved


def slice_wass(target: FloatArray, public: Public, epsilon: float, seed: int, exact: bool) -> Released:
    """Noisy projections of each private image, released once. An infinite epsilon has no noise."""
    from sfumato_papers.slicing.mechanism import Slicing
    from sfumato_papers.slicing.slice_wass import SliceWass

    method = SliceWass("exact" if exact else "published", Slicing(SLICES, frame="independent"))
    sigma = 0.0 if math.isinf(epsilon) else method.sigma(target.shape[1], epsilon, DELTA)
    found = method.slicing(np.random.default_rng(seed), public.scaled(target), sigma)
    return Released(found.directions, np.quantile(found.values, _levels(), axis=0), sigma)


def published(target: FloatArray, public: Public, epsilon: float, seed: int) -> Released:
    """Noisy projections along an orthonormal frame, released once, noise by the exact profile."""
    from sfumato_papers.slicing.mechanism import Slicing

    slicing = Slicing(SLICES)
    sigma = 0.0 if math.isinf(epsilon) else slicing.sigma(target.shape[1], epsilon, DELTA)
    found = slicing(np.random.default_rng(seed), public.scaled(target), sigma)
    return Released(found.directions, np.quantile(found.values, _levels(), axis=0), sigma)


def ours(target: FloatArray, source: FloatArray, public: Public, epsilon: float, seed: int) -> Released:
    """Counts of all private images in bins along public directions, through the door; without noise if epsilon is inf.

    Formal guarantees
        Those of `Slices`, for one replaced image. Directions and bins are public.
    """
    import pyarrow as pa

    from sfumato.trusted.adjacency import Adjacency
    from sfumato.trusted.budget import Budget
    from sfumato.trusted.curator import Curator
    from sfumato.trusted.noise import SecureNoise
    from sfumato.trusted.privacy_filter import PrivacyFilter
    from sfumato.trusted.schema import Schema
    from sfumato.trusted.sources import open_source

    directions = public_directions(np.random.default_rng(seed), public)
    known = public.scaled(source) @ directions
    low, high = (known.mean(axis=0) + side * REACH * known.std(axis=0) for side in (-1, 1))
    pixels = [f"p_{place}" for place in range(target.shape[1])]
    run = {"name": f"p_{{0..{len(pixels) - 1}}}", "type": "integer", "bounds": [0, GREYS - 1]}
    schema = Schema.from_dict({"sfumato": 1, "name": "digits", "columns": [run]})
    rows = dict(zip(pixels, np.rint(target * (GREYS - 1)).astype(np.int64).T, strict=True))
    asked = along(directions, public, low, high, pixels)
    source_of_images = open_source(pa.table(rows), schema, declared=True)
    if math.isinf(epsilon):
        values = source_of_images.sum(asked)
    else:
        budget = Budget(epsilon, DELTA)
        curator = Curator(source_of_images, Adjacency.REPLACE, PrivacyFilter(budget.units), SecureNoise())
        values = curator.measure(asked, budget.mu).values
    return Released(directions, quantiles_of(asked.split(values.astype(np.float64))[:, :, 0].T, low, high), 0.0)


def along(directions: FloatArray, public: Public, low: FloatArray, high: FloatArray, pixels: list[str]) -> "Slices":
    """Histograms along these directions: where every grey of every pixel lies on each, in whole steps."""
    from sfumato.trusted.feature_maps import Grid
    from sfumato.trusted.statistics import Slices

    step = (high - low) / STEPS
    grey = np.arange(GREYS) / (GREYS - 1)
    moved = directions.T[:, :, None] * (grey - public.centre[:, None]) / public.radius  # slices x pixels x greys
    places = np.rint(moved.reshape(len(step), -1) / step[:, None]).astype(np.int32)
    ends = np.rint((low[:, None] + (high - low)[:, None] * np.arange(1, BINS) / BINS) / step[:, None])
    grid = Grid.of_cells(np.arange(GREYS))
    return Slices(dict.fromkeys(pixels, grid), places, ends.astype(np.int32), None, None)


def public_directions(rng: np.random.Generator, public: Public) -> FloatArray:
    """Principal axes of the public images, and random directions among them, each 1 long."""
    mixed = public.axes @ rng.standard_normal((AXES, SLICES - AXES))
    return np.concatenate((public.axes, mixed / np.linalg.norm(mixed, axis=0)), axis=1)


def quantiles_of(counts: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Levels x slices, from noisy counts (bins x slices) that are brought to what counts can be."""
    total = counts.sum(axis=0).mean()
    found = []
    for column, start, end in zip(counts.T, low, high, strict=True):
        below = np.concatenate(([0.0], np.cumsum(_nearest_counts(column, max(total, 1.0)))))
        edges = np.linspace(start, end, len(column) + 1)
        found.append(np.interp(_levels(), below / below[-1], edges))
    return np.stack(found, axis=1)


def _nearest_counts(noisy: FloatArray, total: float) -> FloatArray:
    """Those that are nowhere below 0, add up to the total, and are nearest."""
    ordered = -np.sort(-noisy)
    over = (np.cumsum(ordered) - total) / np.arange(1, len(noisy) + 1)
    nearest: FloatArray = (noisy - over[ordered > over][-1]).clip(0)
    return nearest


def _levels() -> FloatArray:
    return (np.arange(LEVELS) + 0.5) / LEVELS
