"""How far a generator is from what was released.

A generator is read at latent points. Each gives every column a distribution, and within a point columns are
independent, so averages of one column are linear in these distributions and tables of two columns are products of
them: both are exact, and so are mean and variance along a direction, and the embedding in Fourier features.

All of them are chi-squared divergences: what is off, squared, over the variance, to which the noise adds its own; or,
but for embeddings, another one of their family, see `divergence.py`.
Averages and tables are compared cell by cell; histograms along directions are smoothed first.
"""

from typing import Any

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.generators.columnwise import Columnwise, Tensor
from sfumato.fitting.generators.divergence import CHI_SQUARED, cost_of
from sfumato.fitting.generators.evidence import Evidence
from sfumato.fitting.generators.products import Tables, tables_of
from sfumato.fitting.generators.smoothing import SmoothedSlices
from sfumato.fitting.generators.waves import WavesOfColumns
from sfumato.fitting.public_rng import PublicRng, public_rng

_HELD_BACK = {"directions": 0.125, "pairs": 0.05, "averages": 0.05}
_STREAM = 29


class Loss:
    """The loss of a generator, and what it makes of slices that are held back from it.

    Held back is an eighth of the directions, or of the frequencies of an embedding; without either a twentieth of the
    cells of pairs, or of averages. `counted` says how many cells are learnt from, and held back.
    """

    def __init__(self, seen: Evidence, device: str, divergence: str = CHI_SQUARED) -> None:
        import torch

        self._cost = cost_of(divergence, seen.size)
        averages = seen.waves is not None or any(part.features is not None for part in seen.linear)
        if divergence != CHI_SQUARED and averages:
            raise RequestError(
                f"{divergence} compares shares, and this release has averages of waves; use {CHI_SQUARED}"
            )

        def tensor(values: Any) -> Tensor:
            return torch.tensor(np.asarray(values), dtype=torch.float32, device=device)

        self._columns = Columnwise(seen.layout, device)
        self._base = tensor(np.log(seen.marginals))
        self._marginals = tensor(seen.marginals)
        self.totals = tensor(seen.totals / seen.size)
        self._prior = seen.prior
        rng = public_rng(_STREAM)
        self._slices: list[SmoothedSlices | None] = [None, None]  # for learning, held back
        if seen.histograms is not None:
            back = _chosen(rng, len(seen.histograms.ends), _HELD_BACK["directions"])
            self._slices = [
                SmoothedSlices.of(seen.histograms, seen.size, np.flatnonzero(where), device) if where.any() else None
                for where in (~back, back)
            ]
        self._waves: list[WavesOfColumns | None] = [None, None]
        if seen.waves is not None:
            back = _chosen(rng, len(seen.waves.angles), _HELD_BACK["directions"])
            self._waves = [
                WavesOfColumns.of(seen.waves, np.flatnonzero(where), self._columns, device) for where in (~back, back)
            ]
        self._pairs: Tables | None = None
        if seen.pairs is not None:
            cells = len(seen.pairs.precision)
            share = 0.0 if seen.histograms is not None or seen.waves is not None else _HELD_BACK["pairs"]
            upper = np.triu(rng.random((cells, cells)) < share)
            self._pairs = tables_of(seen.pairs, seen.layout, upper | upper.T, tensor, self._cost)
        last = seen.histograms is None and seen.waves is None and seen.pairs is None
        self._linear = []
        for part in seen.linear:
            back = rng.random(part.values.shape) < (_HELD_BACK["averages"] if last else 0.0)
            precisions = [tensor(part.precision * where) for where in (~back, back)]
            features = None if part.features is None else tensor(part.features)
            self._linear.append((features, tensor(part.values), precisions))
        self.counted = [
            sum(int((precisions[back] > 0).sum()) for _, _, precisions in self._linear)
            + (0 if self._pairs is None else self._pairs.counted(back) * seen.classes)
            + (0 if slices is None else slices.shares.numel())
            + (0 if waves is None else 2 * waves.shares[0].numel())
            for back, slices, waves in zip((False, True), self._slices, self._waves, strict=True)
        ]
        self.cells = sum(part.values.size for part in seen.linear) + (
            0 if seen.pairs is None else int((seen.pairs.precision > 0).sum()) * seen.classes // 2
        )

    def logits(self, raw: Tensor, owner: Tensor) -> Tensor:
        """What a generator gives is added to the marginals of the class, so that one that gives nothing has those."""
        return self._base[owner] + raw

    def theta(self, logits: Tensor) -> Tensor:
        """The distribution of every column at each latent point."""
        return self._columns.softmax(logits)

    def loss(self, logits: Tensor, owner: Tensor, held_back: bool = False) -> Tensor:
        """Minus the log-posterior up to a constant; without the prior of what is held back."""
        import torch

        theta = self.theta(logits)
        total = self.divergence(theta, owner, held_back)
        if held_back:
            return total
        each = self._prior / torch.bincount(owner, minlength=len(self.totals)).float()[owner]
        prior = (self._marginals[owner] * torch.log(theta.clamp_min(1e-30))).sum(dim=1)
        return total - (each * prior).sum()

    def divergence(self, theta: Tensor, owner: Tensor, held_back: bool = False) -> Tensor:
        """Between what was released and the histograms of latent points, or rows, that have these distributions."""
        import torch

        member = torch.nn.functional.one_hot(owner, len(self.totals)).float()
        member = member * (self.totals / member.sum(dim=0))
        total = torch.zeros((), device=theta.device)
        for features, values, precisions in self._linear:
            shares = theta.T @ member
            off = (shares if features is None else features.T @ shares) - values
            total = total + self._cost(off, values, precisions[held_back])
        if self._pairs is not None:
            cells = self._pairs.cells(theta)
            for c in range(len(self.totals)):
                own = owner == c
                total = total + self._pairs.loss(cells[own], member[own, c], c, held_back)
        slices = self._slices[held_back]
        if slices is not None:
            off = slices.expected(*self._columns.moments(theta, slices.places), member) - slices.shares
            total = total + self._cost(off, slices.shares, slices.precision)
        waves = self._waves[held_back]
        if waves is not None:
            total = total + waves.loss(self._columns.rectangle(theta), member)
        return total


def _chosen(rng: PublicRng, count: int, share: float) -> Any:
    """So many of them at random, at least one where there are several."""
    back = np.zeros(count, dtype=bool)
    if count > 1:
        back[rng.permutation(count)[: max(1, round(share * count))]] = True
    return back
