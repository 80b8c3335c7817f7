"""The mean embedding as evidence on a mixture of products, of which it is known exactly.

    E exp(i sum_j a_j(x_j)) = prod_j sum_g theta_j[g] exp(i a_j[g])    for independent columns j with groups g

So neither a mixture of products nor a generator, which is one at its latent points, needs to be sampled in a fit.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.generators.evidence import Waves
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.trusted.arrays import Float32Array


@dataclass(frozen=True, eq=False)
class EmbeddingEvidence:
    """The embedding on the scale of probabilities, for a mixture of products; see `WholeRecords`."""

    seen: Waves
    one_way: OneWays
    sigma: float

    @cached_property
    def _shares(self) -> NDArray[np.complex64]:
        return self.seen.shares.astype(np.complex64)

    @cached_property
    def _precision(self) -> Float32Array:
        return self.seen.precision.astype(np.float32)

    @cached_property
    def _waves(self) -> list[tuple[slice, Float32Array, Float32Array]]:
        """Of each column: where its groups stand, and cosines and sines of their angles (groups x frequencies)."""
        cosines, sines = (wave(self.seen.angles.T).astype(np.float32) for wave in (np.cos, np.sin))
        return [(at, cosines[at], sines[at]) for at in self.one_way.spans]

    def add_error(
        self,
        theta: Float32Array,
        pi: Float32Array,
        member: Float32Array,
        by_theta: Float32Array,
        by_pi: Float32Array,
    ) -> float:
        """See `WholeRecords`."""
        factors = [theta[:, at] @ cosines + 1j * (theta[:, at] @ sines) for at, cosines, sines in self._waves]
        after = [np.ones_like(factors[0])]  # products of the factors from each column on, last first
        for factor in reversed(factors[1:]):
            after.append(after[-1] * factor)
        whole = factors[0] * after[-1]
        off = (pi[:, None] * member).T @ whole - self._shares
        push = self._precision * off
        mine = member @ push.conj()
        by_pi += (mine * whole).real.sum(axis=1)
        before = pi[:, None] * mine
        for (at, cosines, sines), factor in zip(self._waves, factors, strict=True):
            pushed = before * after.pop()
            by_theta[:, at] += pushed.real @ cosines.T - pushed.imag @ sines.T
            before = before * factor
        return 0.5 * float((push * off.conj()).real.sum())
