"""Rows as distributions over the groups of their columns, which follow the rows without a jump.

A number between the middles of two groups belongs to both, to each the more the nearer it is; beyond the first or last
middle it belongs to that group alone. Categories and missing numbers are wholly in their group. So the histograms of
rows have slopes by the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.fitting.generators.columnwise import Tensor
from sfumato.fitting.generators.evidence import Column, Evidence
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch, Codes, NumericCodec

_FAR = 1e6  # in units of a scale, which runs from 0 to 1
_LEAST_GAP = 1 / 64  # between the middles of two groups, in standard deviations of the column
_LEAST_SPREAD = 1e-6  # of a column that has one value


@dataclass(frozen=True, eq=False)
class Middles:
    """Of a numeric column: the place of every group's middle on its scale, infinite for that of missing numbers, and
    the mean and standard deviation that was released."""

    places: FloatArray
    mean: float
    spread: float

    @classmethod
    def of(cls, column: Column, codec: NumericCodec, share: FloatArray) -> "Middles":
        """`share` is the distribution over its groups."""
        starts = np.array(column.grid.starts)
        ends = np.append(starts[1:], column.grid.codes)
        group = column.groups[np.array(column.grid.cells)]
        there = starts < len(codec.places)  # all but the missing value
        last = len(codec.places) - 1
        ends = np.minimum(ends, last + 1)
        middle = (codec.places[starts.clip(max=last)] + codec.places[(ends - 1).clip(0, last)]) / 2
        weight = np.bincount(group, there * (ends - starts).clip(0), column.size)
        places = np.bincount(group, there * middle * (ends - starts).clip(0), column.size)
        places = np.divide(places, weight, out=np.full(column.size, np.inf), where=weight > 0)
        known = np.isfinite(places)
        held = share[known].sum()
        p = share[known] / held if held > 0 else np.full(known.sum(), 1 / max(known.sum(), 1))
        mean = float(p @ places[known])
        return cls(places, mean, max(float(np.sqrt(p @ (places[known] - mean) ** 2)), _LEAST_SPREAD))


class SoftRows:
    """From places of numbers on their scales to distributions over the groups of all columns, side by side."""

    def __init__(self, seen: Evidence, codes: Mapping[str, Codes], device: str) -> None:
        import torch

        self.names = list(seen.columns)
        starts = np.cumsum(seen.layout.sizes)[:-1]
        shares = np.split((seen.totals / seen.size) @ seen.marginals, starts)
        self.middles: dict[str, Middles] = {}
        shape = (len(self.names), max(seen.layout.sizes))
        middle, left, right = (np.full(shape, place * _FAR) for place in (3.0, 2.0, 4.0))  # where no number comes
        for row, (name, share) in enumerate(zip(self.names, shares, strict=True)):
            codec = codes[name]
            if isinstance(codec, NumericCodec):
                self.middles[name] = found = Middles.of(seen.columns[name], codec, share)
                order = np.argsort(found.places)[: int(np.isfinite(found.places).sum())]
                gap = _LEAST_GAP * found.spread * np.arange(len(order))
                rising = np.maximum.accumulate(found.places[order] - gap) + gap
                middle[row, order] = rising
                left[row, order] = np.append(rising[0] - _FAR, rising[:-1])
                right[row, order] = np.append(rising[1:], rising[-1] + _FAR)
        there = np.arange(shape[1]) < np.array(seen.layout.sizes)[:, None]
        self._there = torch.tensor(there, device=device)
        self._middle, self._left, self._right = (
            torch.tensor(part, dtype=torch.float32, device=device) for part in (middle, left, right)
        )
        self._groups = {name: column.groups for name, column in seen.columns.items()}
        self._grids = {name: column.grid for name, column in seen.columns.items()}

    def groups_of(self, batch: Batch) -> IntArray:
        """Rows x columns: the group of each, -1 for a number that is there and can move."""
        found = np.empty((batch.rows, len(self.names)), dtype=np.int64)
        for place, name in enumerate(self.names):
            group = self._groups[name][self._grids[name].cells_of(batch.codes[name])]
            still = ~np.isfinite(self.middles[name].places[group]) if name in self.middles else True
            found[:, place] = np.where(still, group, -1)
        return found

    def theta(self, places: Tensor, groups: Tensor) -> Tensor:
        """Rows x groups of all columns. `places` has a column for each column of the table, `groups` as `groups_of`."""
        import torch

        at = places[:, :, None]
        from_left = (at - self._left) / (self._middle - self._left)
        from_right = (self._right - at) / (self._right - self._middle)
        soft = torch.minimum(from_left, from_right).clamp(0, 1)
        if bool((groups >= 0).any()):
            whole = torch.nn.functional.one_hot(groups.clamp_min(0), self._middle.shape[1]).float()
            soft = torch.where((groups >= 0)[:, :, None], whole, soft)
        return soft[:, self._there]
