"""The mean embedding of DP-MERF: what a table looks like on average, in random Fourier features.

A record's features h(x) are two vectors of length 1, one after the other: sines and cosines of its numbers at random
frequencies, whose products are on average those of a Gaussian kernel, and its categories as zeros and ones over the
square root of how many there are. A table's embedding has a column for each class: the sum of h(x) over its records,
divided by the number of all records.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato_papers.baselines.interface import Tensor
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.baselines.networks import ROWS_AT_ONCE, tensor


@dataclass(frozen=True, eq=False)
class Features:
    """h, at these frequencies: a row for each number, a column for each frequency."""

    layout: Layout
    frequencies: FloatArray

    @classmethod
    def random(cls, rng: np.random.Generator, layout: Layout, count: int, bandwidth: float) -> "Features":
        """For the kernel exp(-|x - x'|^2 / 2 bandwidth^2), with half as many frequencies as features."""
        return cls(layout, rng.normal(0, 1 / bandwidth, (len(layout.numbers), count // 2)))

    def __call__(self, rows: Tensor) -> Tensor:
        """h of each row, hard or soft."""
        import torch

        parts = []
        if len(self.layout.numbers):
            angles = rows[:, self.layout.numbers] @ self._frequencies
            parts += [torch.cos(angles), torch.sin(angles)]
            parts = [part / math.sqrt(self.frequencies.shape[1]) for part in parts]
        blocks = self.layout.blocks[:-1]
        parts += [rows[:, place] / math.sqrt(len(blocks)) for place in blocks]
        return torch.cat(parts, dim=1)

    @cached_property
    def _frequencies(self) -> Tensor:
        return tensor(self.frequencies)

    def by_class(self, rows: FloatArray) -> FloatArray:
        """The embedding of a table whose records are laid out as these rows."""
        pieces = [tensor(rows[start : start + ROWS_AT_ONCE]) for start in range(0, len(rows), ROWS_AT_ONCE)]
        total = sum(self(piece).T @ piece[:, self.layout.label] for piece in pieces)
        means: FloatArray = total.cpu().numpy().astype(np.float64) / len(rows)
        return means


def public_bandwidth(layout: Layout) -> float:
    """About the median distance of two records whose numbers are uniform on [0, 1]. The authors look at ten records."""
    return math.sqrt(max(len(layout.numbers), 1) / 6)


def sensitivity(layout: Layout, records: int) -> float:
    """How far one replaced record moves the embedding of a table, in l2, as the authors bound it.

    Twice the longest h over the number of records; h is as long as the square root of its parts, numbers and
    categories.
    """
    parts = (len(layout.numbers) > 0) + (len(layout.blocks) > 1)
    return 2 * math.sqrt(parts) / records
