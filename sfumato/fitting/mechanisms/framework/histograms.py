"""Histograms along directions as evidence on a mixture of products.

As a generator reads them (`sfumato/fitting/generators/smoothing.py`): along a direction the place of a record is a sum
over columns, whose mean and variance within a component are exact and whose shape is taken to be normal.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from sfumato.fitting.generators.evidence import Histograms
from sfumato.fitting.generators.smoothing import smooth
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.trusted.arrays import Float32Array


@dataclass(frozen=True, eq=False)
class HistogramEvidence:
    """Smoothed histograms on the scale of probabilities, for a mixture of products; see `WholeRecords`."""

    seen: Histograms
    one_way: OneWays

    @classmethod
    def of(cls, seen: Histograms, one_way: OneWays) -> "HistogramEvidence":
        """In one order of memory: sums then round alike whether they were measured or read from a file."""
        places, ends, outer, shares = map(np.ascontiguousarray, (seen.places, seen.ends, seen.outer, seen.shares))
        return cls(Histograms(places, ends, outer, shares, seen.noise), one_way)

    @property
    def sigma(self) -> float:
        """The noise of one answer, in records."""
        return self.one_way.size * math.sqrt(self.seen.noise)

    @cached_property
    def _smoothed(self) -> tuple[Float32Array, Float32Array, Float32Array]:
        """Width, shares and precision, the last two directions x bins x classes."""
        width, shares, precision = (part.astype(np.float32) for part in smooth(self.seen, self.one_way.size))
        return width, shares, precision

    @cached_property
    def _columns(self) -> list[tuple[slice, Float32Array]]:
        """Of each column: where its groups stand, and their places (groups x directions)."""
        places = self.seen.places.T.astype(np.float32)
        return [(at, places[at]) for at in self.one_way.spans]

    def add_error(
        self,
        theta: Float32Array,
        pi: Float32Array,
        member: Float32Array,
        by_theta: Float32Array,
        by_pi: Float32Array,
    ) -> float:
        """See `WholeRecords`."""
        width, shares, precision = self._smoothed
        means = [theta[:, at] @ places for at, places in self._columns]
        squares = [theta[:, at] @ places**2 for at, places in self._columns]
        mean, variance = np.sum(means, axis=0), np.sum(squares, axis=0) - np.sum(np.square(means), axis=0)
        wide = np.sqrt(np.maximum(variance, 0.0) + width**2)
        ends = self.seen.ends.T.astype(np.float32)
        z = (ends - mean[:, None]) / wide[:, None]  # components x ends x directions
        below = ndtr(z)
        bins = np.diff(below, axis=1, prepend=np.float32(0), append=np.float32(1))
        off = np.einsum("kc,kbs->sbc", pi[:, None] * member, bins) - shares
        push = precision * off
        mine = np.einsum("kc,sbc->kbs", member, push)
        by_pi += np.einsum("kbs,kbs->k", mine, bins)
        by_z = pi[:, None, None] * (mine[:, :-1] - mine[:, 1:]) * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        by_mean = -by_z.sum(axis=1) / wide
        by_variance = -(by_z * z).sum(axis=1) / (2 * wide**2)
        for (at, places), own in zip(self._columns, means, strict=True):
            by_theta[:, at] += (by_mean - 2 * by_variance * own) @ places.T + by_variance @ (places**2).T
        return 0.5 * float((push * off).sum())
