"""Histograms along directions, measured and expected ones smoothed by the same Gaussian."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.fitting.generators.columnwise import Tensor
from sfumato.fitting.generators.evidence import Histograms
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import AnyFloatArray


class Tuning(TuningConstants, group="generators.smoothing"):
    """See `sfumato.fitting.tuning`."""

    width = 0.35  # of the smoothing, in average bins of a direction
    least_width = 1e-3  # where all records have one place
    points = 16  # in a bin, when the measured histogram is smoothed


@dataclass(frozen=True, eq=False)
class SmoothedSlices:
    """The smoothed measured shares of some directions (directions x bins x classes) and one over their variance."""

    places: Tensor
    ends: Tensor
    width: Tensor
    shares: Tensor
    precision: Tensor

    @classmethod
    def of(cls, seen: Histograms, size: float, chosen: NDArray[np.intp], device: str) -> "SmoothedSlices":
        """The directions that are chosen."""
        import torch

        made = (seen.places[chosen], seen.ends[chosen], *(part[chosen] for part in smooth(seen, size)))
        return cls(*(torch.tensor(part, dtype=torch.float32, device=device) for part in made))

    def expected(self, mean: Tensor, variance: Tensor, member: Tensor) -> Tensor:
        """The smoothed shares of rows whose places are normal, each of which counts for the classes as `member` says.

        A place is the sum over all columns of what each gives it, and at a latent point columns are independent: the
        more of them, the nearer the sum is to normal, and smoothing brings it nearer still.
        """
        import torch

        wide = torch.sqrt(variance + self.width**2)[:, None]
        below = torch.special.ndtr((self.ends.T[None] - mean[:, None]) / wide)  # rows x ends x directions
        first, last = torch.zeros_like(below[:, :1]), torch.ones_like(below[:, :1])
        bins = torch.diff(torch.cat((first, below, last), dim=1), dim=1)
        return torch.einsum("kbs,kc->sbc", bins, member)


def smooth(seen: Histograms, size: float) -> tuple[AnyFloatArray, AnyFloatArray, AnyFloatArray]:
    """The width of every direction's smoothing, the smoothed measured shares, and one over their variance.

    Sampling adds the variance of a share among so many records.
    """
    ends, outer = seen.ends, seen.outer
    width = np.maximum(Tuning.width * (outer[:, 1] - outer[:, 0]) / (ends.shape[1] + 1), Tuning.least_width)
    smoothing = smoothing_of(ends, outer, width)
    shares = np.einsum("sab,sac->sbc", smoothing, seen.shares)
    variance = seen.noise * (smoothing**2).sum(axis=1)[:, :, None] + np.maximum(shares, 1 / size) / size
    return width, shares, 1 / variance


def smoothing_of(ends: AnyFloatArray, outer: AnyFloatArray, width: AnyFloatArray) -> AnyFloatArray:
    """Directions x bins x bins: into which bins Gaussian noise takes the records of a bin, spread evenly in it."""
    low, high = np.minimum(outer[:, :1], ends[:, :1]), np.maximum(outer[:, 1:], ends[:, -1:])
    edges = np.concatenate((low, ends, high), axis=1)
    inside = (np.arange(Tuning.points) + 0.5) / Tuning.points
    points = edges[:, :-1, None] + np.diff(edges, axis=1)[:, :, None] * inside  # directions x bins x points
    below = ndtr((ends[:, None, None, :] - points[..., None]) / width[:, None, None, None]).mean(axis=2)
    first, last = np.zeros_like(below[..., :1]), np.ones_like(below[..., :1])
    smoothing: AnyFloatArray = np.diff(np.concatenate((first, below, last), axis=2), axis=2)
    return smoothing
