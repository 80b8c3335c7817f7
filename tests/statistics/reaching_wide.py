"""A search, many neighbours at a time, for those that move a sum of wide records further than claimed."""

from typing import NamedTuple

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import ScaledColumns
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.clipping import clip_to_ball, lengths
from sfumato.trusted.statistics import AtBounds, ClippedSums, DistanceHistogram, Scatter
from sfumato.trusted.statistics import scatter as scatters

Wide = AtBounds | DistanceHistogram | ClippedSums | Scatter


class Records(NamedTuple):
    """Values from 0 to 1 (columns x records), and labels."""

    x: np.ndarray
    label: np.ndarray

    def batch(self, places: ScaledColumns, target: str) -> Batch:
        codes = {name: scale.codes_at(x) for x, (name, scale) in zip(self.x, places.scales.items(), strict=True)}
        return Batch(len(self.label), {**codes, target: self.label.astype(np.int32)})

    def taken(self, which: np.ndarray) -> "Records":
        return Records(self.x[:, which], self.label[which])


class Hunt(NamedTuple):
    """What is hunted: a statistic of `places` and a target of so many classes."""

    statistic: Wide
    places: ScaledColumns
    target: str
    classes: int

    def vectors(self, records: Records) -> np.ndarray:
        """What each record adds (vector x records), in the blocks' weights; summed up, it is the statistic's answer."""
        batch, blocks = records.batch(self.places, self.target), self.statistic.blocks
        found = _each(self.statistic, batch)
        assert np.array_equal(found.sum(axis=1), self.statistic(batch))
        return np.repeat([block.weight for block in blocks], [block.size for block in blocks])[:, None] * found

    def moves(self, adjacency: Adjacency, here: Records, there: Records) -> np.ndarray:
        """How far the sum moves when a record goes, or the other takes its place."""
        gone = self.vectors(here)
        return np.linalg.norm(gone if adjacency == Adjacency.ADD_REMOVE else gone - self.vectors(there), axis=0)

    @property
    def centres(self) -> np.ndarray:
        """Columns x classes."""
        middle = self.statistic.view.exact_centres.T if hasattr(self.statistic, "view") else np.full((1, 1), 0.5)
        return np.broadcast_to(middle, (len(self.places.names), self.classes))

    @property
    def back(self) -> np.ndarray:
        """From directions to columns."""
        seen = hasattr(self.statistic, "view")
        return np.linalg.pinv(self.statistic.view.exact_directions) if seen else np.eye(len(self.places.names))


def _each(statistic: Wide, batch: Batch) -> np.ndarray:
    if isinstance(statistic, AtBounds):
        ends = {name: scale.lowest_and_highest for name, scale in statistic.places.scales.items()}
        return np.sum([np.isin(batch.codes[name], ends[name]) for name in ends], axis=0, dtype=np.float64)[None]
    parts = list(statistic.view.parts(batch))
    z, classes = np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])
    if isinstance(statistic, DistanceHistogram):
        cell = np.searchsorted(statistic.ends, lengths(z))
        return np.equal.outer(np.arange(len(statistic.ends) + 1), cell).astype(np.float64)
    member = np.equal.outer(np.arange(statistic.view.parting.size), classes).astype(np.float64)
    if isinstance(statistic, ClippedSums):
        sums = _by_group(member, clip_to_ball(z, statistic.radius, UNIT))
        return np.vstack((member, sums)) if statistic.count_weight else sums
    v = clip_to_ball(z, statistic.radius, scatters.LENGTH)
    member = member if statistic.apart else np.ones((1, batch.rows))
    one, other = np.triu_indices(len(v), 1)
    return np.vstack((_by_group(member, v * v), _by_group(member, v[one] * v[other])))


def _by_group(member: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (member[:, None] * values).reshape(-1, values.shape[1])


def draw(hunt: Hunt, adjacency: Adjacency, rng: np.random.Generator, count: int) -> tuple[Records, Records]:
    """Neighbours: anywhere, at bounds, around a centre or between two; on the other side, at a right angle, near."""
    label, other = rng.integers(0, hunt.classes, (2, count))
    mine, yours = hunt.centres[:, label], hunt.centres[:, other]
    home = np.where(rng.random(count) < 0.7, mine, (mine + yours) / 2)
    u, w = _unit(rng, hunt.back.shape[1], count), _unit(rng, hunt.back.shape[1], count)
    w -= np.einsum("ij,ij->j", u, w) * u
    far, farther = (10 ** rng.uniform(-3, 2, (2, count))) * (rng.random((2, count)) < 0.95)
    size = (len(hunt.places.names), count)
    x = _one_of(rng, rng.random(size), rng.integers(0, 2, size), home + hunt.back @ (far * u)).clip(0, 1)
    around = yours + hunt.back @ (farther * w)
    step = x + 1e-6 * rng.integers(-1, 2, size)
    y = _one_of(rng, rng.random(size), rng.integers(0, 2, size), 2 * yours - x, around, step)
    return Records(x, label), Records(x if adjacency == Adjacency.LABEL else y.clip(0, 1), other)


def _unit(rng: np.random.Generator, width: int, count: int) -> np.ndarray:
    """Directions: half of them along one axis."""
    turned = rng.normal(size=(width, count))
    along = np.equal.outer(np.arange(width), rng.integers(0, width, count)) * rng.choice([-1.0, 1.0], count)
    return np.where(rng.random(count) < 0.5, turned / np.linalg.norm(turned, axis=0), along)


def _one_of(rng: np.random.Generator, *kinds: np.ndarray) -> np.ndarray:
    return np.choose(rng.integers(0, len(kinds), kinds[0].shape[1]), kinds)


def farthest(hunt: Hunt, adjacency: Adjacency, tries: int, seed: int = 0) -> float:
    """The largest move found: half of the tries are drawn, half climb from the worst of those."""
    rng = np.random.default_rng(seed)
    kept = max(1, min(200, tries // 10))
    steps = tries // 2 // kept
    here, there = draw(hunt, adjacency, rng, tries - kept * steps)
    found = hunt.moves(adjacency, here, there)
    worst = np.argsort(found)[-kept:]
    here, there, found = here.taken(worst), there.taken(worst), found[worst]
    for _ in range(steps):
        new = _shaken(here, rng), _shaken(there, rng)
        new = (new[0], Records(new[0].x, there.label)) if adjacency == Adjacency.LABEL else new
        further = hunt.moves(adjacency, *new)
        better = further > found
        for side, other in zip((here, there), new, strict=True):
            side.x[:, better] = other.x[:, better]
        found[better] = further[better]
    return float(found.max())


def _shaken(records: Records, rng: np.random.Generator) -> Records:
    kept = len(records.label)
    reach = 10.0 ** rng.uniform(-6.5, 0, kept) * (rng.random(kept) < 0.6)
    return Records((records.x + reach * rng.normal(size=records.x.shape)).clip(0, 1), records.label)
