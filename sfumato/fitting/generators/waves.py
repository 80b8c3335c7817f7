"""The mean embedding that products of distributions have, against the one that was measured."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.generators.columnwise import Columnwise, Tensor
from sfumato.fitting.generators.evidence import Waves


@dataclass(frozen=True, eq=False)
class WavesOfColumns:
    """Some frequencies: cosines and sines of the angles of every column's groups, and what was measured of them.

    cosines, sines    columns x largest size x frequencies
    shares            cosine and sine, each classes x frequencies
    precision         classes x 1
    """

    cosines: Tensor
    sines: Tensor
    shares: tuple[Tensor, Tensor]
    precision: Tensor

    @classmethod
    def of(cls, seen: Waves, chosen: NDArray[np.intp], columns: Columnwise, device: str) -> "WavesOfColumns":
        """The frequencies that are chosen."""
        import torch

        def tensor(values: NDArray[np.floating]) -> Tensor:
            return torch.tensor(values, dtype=torch.float32, device=device)

        angles, shares = seen.angles[chosen], seen.shares[:, chosen]
        cosines, sines = (columns.rectangle(tensor(wave(angles))).permute(1, 2, 0) for wave in (np.cos, np.sin))
        return cls(cosines, sines, (tensor(shares.real), tensor(shares.imag)), tensor(seen.precision))

    def loss(self, theta: Tensor, member: Tensor) -> Tensor:
        """Half of what is off, squared, times its precision.

        theta    rows x columns x largest size: at a row the embedding is the product of those of the columns
        member   how much each row counts for each class
        """
        by_column = theta.transpose(0, 1)
        factors = zip(by_column @ self.cosines, by_column @ self.sines, strict=True)
        real, imaginary = next(factors)
        for cosine, sine in factors:
            real, imaginary = real * cosine - imaginary * sine, real * sine + imaginary * cosine
        off = [member.T @ made - seen for made, seen in zip((real, imaginary), self.shares, strict=True)]
        return 0.5 * sum((self.precision * part**2).sum() for part in off)
