"""The fit of a `ProductMixture`, step for step, by torch: for wide tables, where the products of a step fill a GPU.

Everything lies the other way round, groups x components, because torch adds up the rows of a column's groups in a fixed
order: the same GPU gives the same fit.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.fitting.devices import torch_or_error
from sfumato.fitting.mechanisms.tables.product_mixture import Evidence, ProductMixture, Tuning, rate_of
from sfumato.fitting.mechanisms.tables.triple_evidence import TripleEvidence

Tensor = Any


def fit_by_torch(mixture: ProductMixture, seen: Evidence, steps: int, device: str) -> None:
    """As `ProductMixture.fit`, on a device of torch's. Without `seen.whole`: waves along directions have no such step.

    Whatever stops torch, such as a lack of memory, comes as its RuntimeError and leaves the mixture as it was.
    """
    run = _Run(mixture, seen, device)
    memories = [(run.torch.zeros_like(parameter), run.torch.zeros_like(parameter)) for parameter in run.parameters]
    for t in range(steps):
        for parameter, slope, (mean, square) in zip(run.parameters, run.slope(), memories, strict=True):
            mean.mul_(Tuning.fade).add_(slope, alpha=1 - Tuning.fade)
            square.mul_(Tuning.fade_square).addcmul_(slope, slope, value=1 - Tuning.fade_square)
            size = square.sqrt().mul_(1 / math.sqrt(1 - Tuning.fade_square ** (t + 1))).add_(1e-8)
            parameter.sub_((mean / size).mul_(rate_of(t, steps) / (1 - Tuning.fade ** (t + 1))))
    logits, weights = (parameter.cpu().numpy() for parameter in run.parameters)
    mixture.logits, mixture.weight_logits = np.ascontiguousarray(logits.T), weights


class _Run:
    """Logits and evidence on the device, and the gradient there."""

    def __init__(self, mixture: ProductMixture, seen: Evidence, device: str) -> None:
        self.torch = torch_or_error()

        def there(part: Any) -> Tensor:
            kind = np.float32 if part.dtype.kind == "f" else np.int64
            return self.torch.tensor(np.ascontiguousarray(part, dtype=kind), device=device)

        self.parameters = (there(mixture.logits.T), there(mixture.weight_logits))
        sizes = np.diff(np.append(mixture.offsets, mixture.logits.shape[1]))
        self._sizes, self._column = there(sizes), there(np.repeat(np.arange(len(sizes)), sizes))
        self._marginals, self._member = there(mixture.marginals.T), there(mixture.member(seen))
        self._one_way, self._one_way_precision = there(seen.one_way), there(seen.one_way_precision)
        self._coarse, self._precision = there(seen.coarse.matrix), there(seen.pair_precision)
        self._pairs = [(own, there(table)) for own, table in zip(mixture.classes(seen), seen.pairs, strict=True)]
        self._triples = [_Triple(triple, there) for triple in seen.triples]
        self._prior = there(np.broadcast_to(np.float32(mixture.prior_records), (len(mixture.owner), 1)).T)
        self._families = families = mixture.families
        if families is not None:
            self._family, self._closed, self._shares = map(there, (families.of, families.closed.T, families.shares))
            self._members = there(np.bincount(families.of))

    @property
    def theta(self) -> Tensor:
        """Groups x components."""
        logits = self.parameters[0]
        if self._families is not None:
            logits = logits[:, self._family] + self._closed
        theta = self.torch.exp(logits - self._by_column(logits, "max"))
        return theta / self._by_column(theta, "sum")

    def slope(self) -> tuple[Tensor, Tensor]:
        """See `ProductMixture.slope`."""
        theta, pi = self.theta, self.torch.softmax(self.parameters[1], 0)
        push = self._one_way_precision * (theta @ (pi[:, None] * self._member) - self._one_way)
        by_theta = push @ self._member.T
        by_pi = (theta * by_theta).sum(0)
        by_theta *= pi
        cells = self._coarse.T @ theta
        by_cells = self.torch.zeros_like(cells)
        for own, table in self._pairs:
            off = self._precision * ((cells[:, own] * pi[own]) @ cells[:, own].T - table)
            pushed = off @ cells[:, own]
            by_pi[own] += 0.5 * (pushed * cells[:, own]).sum(0)
            by_cells[:, own] = pushed * pi[own]
        by_theta += self._coarse @ by_cells
        for triple in self._triples:
            triple.add_slope(theta, pi, by_theta, by_pi)
        by_theta *= theta
        by_theta -= self._by_column(by_theta, "sum") * theta
        by_theta += (theta - self._marginals) * self._prior
        by_weights = pi * (by_pi - pi @ by_pi)
        if self._families is None:
            return by_theta, by_weights
        by_weights += Tuning.prior * (pi / self._by_family(pi)[self._family] - self._shares)
        return self._by_family(by_theta.T.contiguous()).T, by_weights

    def _by_column(self, values: Tensor, how: str) -> Tensor:
        """The largest or the sum of each column, for each of its groups."""
        return self.torch.segment_reduce(values.contiguous(), how, lengths=self._sizes, axis=0)[self._column]

    def _by_family(self, values: Tensor) -> Tensor:
        """What the components of each family add up to; the first axis is that of components."""
        return self.torch.segment_reduce(values, "sum", lengths=self._members, axis=0)


class _Triple:
    """A table of three columns on the device; see `TripleEvidence`."""

    def __init__(self, triple: TripleEvidence, there: Callable[[Any], Tensor]) -> None:
        self._groups, self._maps = triple.groups, [there(seen.T) for seen in triple.maps]
        self._precision = triple.precision
        self._table = there(triple.table.reshape(*(len(seen.T) for seen in triple.maps)))

    def add_slope(self, theta: Tensor, pi: Tensor, by_theta: Tensor, by_pi: Tensor) -> None:
        """Adds its gradient to the last two."""
        torch = torch_or_error()
        first, second, third = (seen @ theta[at] for at, seen in zip(self._groups, self._maps, strict=True))
        outer = torch.einsum("ak,bk->abk", first, second)
        push = self._precision * (torch.einsum("abk,ck->abc", outer * pi, third) - self._table)
        by_outer = torch.einsum("abc,ck->abk", push, third)
        by_third = torch.einsum("abc,abk->ck", push, outer)
        parts = ((by_outer * second).sum(1), (by_outer * first[:, None]).sum(0), by_third)
        for at, seen, part in zip(self._groups, self._maps, parts, strict=True):
            by_theta[at] += seen.T @ (part * pi)
        by_pi += (by_third * third).sum(0)
