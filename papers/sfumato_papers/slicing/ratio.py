"""The ratio r = p / q of two densities on a line, from points of each, in closed form and for many slices at once.

Points are slices x points; the numerator p is that of the records, q of the made points. Nothing is trained against
anything: each estimate is the solution of one linear system.
"""

from dataclasses import dataclass
from typing import Protocol

from sfumato_papers.baselines.interface import Tensor

Widths = tuple[float, ...]
_TAIL = 0.005  # of the records lies outside of the first and of the last atom, each


def bumps(points: Tensor, centres: Tensor, widths: Widths) -> Tensor:
    """exp(-(x - c)^2 / 2 h^2), slices x points x (centres for each width)."""
    import torch

    squares = (points[:, :, None] - centres[:, None, :]) ** 2
    return torch.cat([(squares / (-2 * h * h)).exp() for h in widths], dim=2)


def kernel(points: Tensor, others: Tensor, widths: Widths) -> Tensor:
    """The sum of Gaussian kernels of these widths, slices x points x others."""
    squares = (points[:, :, None] - others[:, None, :]) ** 2
    return sum((squares / (-2 * h * h)).exp() for h in widths)


@dataclass(frozen=True, eq=False)
class Ratio:
    """A weighted sum of bumps in each slice, as a function of the place."""

    centres: Tensor
    widths: Widths
    weights: Tensor

    def __call__(self, points: Tensor) -> Tensor:
        """Its values, in the form of the points."""
        return (bumps(points, self.centres, self.widths) @ self.weights[:, :, None]).squeeze(2)


class Estimator(Protocol):
    """A way to find the ratio. Widths are in units of `scale`, the spread of the records' slices."""

    def ratio(self, made: Tensor, real: Tensor, scale: float) -> Ratio:
        """As a function of the place."""

    def at_made(self, made: Tensor, real: Tensor, scale: float) -> Tensor:
        """At the made points."""


@dataclass(frozen=True)
class LeastSquares:
    """uLSIF (Kanamori, Hido and Sugiyama 2009): the sum of bumps nearest to p / q in the square mean under q.

    With features phi: weights (E_q phi phi' + ridge I)^-1 E_p phi. Atoms lie evenly over the middle 99 % of records.
    """

    widths: Widths = (0.1, 0.3)
    atoms: int = 24
    ridge: float = 1e-3

    def ratio(self, made: Tensor, real: Tensor, scale: float) -> Ratio:
        """As a function of the place."""
        import torch

        widths = tuple(width * scale for width in self.widths)
        centres = self.places(real)
        of_made, of_real = bumps(made, centres, widths), bumps(real, centres, widths)
        products = of_made.transpose(1, 2) @ of_made / made.shape[1]
        diagonal = self.ridge * torch.eye(products.shape[1], dtype=made.dtype, device=made.device)
        return Ratio(centres, widths, torch.linalg.solve(products + diagonal, of_real.mean(dim=1)))

    def at_made(self, made: Tensor, real: Tensor, scale: float) -> Tensor:
        """At the made points."""
        return self.ratio(made, real, scale)(made)

    def places(self, real: Tensor) -> Tensor:
        """Of the atoms."""
        import torch

        ordered = real.detach().sort(dim=1).values
        low = round(_TAIL * (real.shape[1] - 1))
        first, last = ordered[:, low, None], ordered[:, real.shape[1] - 1 - low, None]
        return first + (last - first) * torch.linspace(0, 1, self.atoms, dtype=real.dtype, device=real.device)


@dataclass(frozen=True)
class MomentMatching:
    """Weights on the made points whose kernel mean is that of the records: r = (K_qq + ridge I)^-1 K_qp 1 n_q / n_p.

    From (K_qq + ridge I) r = K_qp 1 n_q / n_p, row by row, ridge r(x) = n_q / n_p sum_p k(x, .) - sum_q k(x, .) r: so r
    is also a function of the place. The cost grows with the cube of the made points.
    """

    widths: Widths = (0.1, 0.3, 1.0)
    ridge: float = 1.0

    def ratio(self, made: Tensor, real: Tensor, scale: float) -> Ratio:
        """As a function of the place."""
        import torch

        at_made = self.at_made(made, real, scale)
        weights = torch.cat((-at_made, torch.full_like(real, made.shape[1] / real.shape[1])), dim=1) / self.ridge
        widths = tuple(width * scale for width in self.widths)
        return Ratio(torch.cat((made, real), dim=1), widths, weights.repeat(1, len(widths)))

    def at_made(self, made: Tensor, real: Tensor, scale: float) -> Tensor:
        """At the made points."""
        import torch

        widths = tuple(width * scale for width in self.widths)
        diagonal = self.ridge * torch.eye(made.shape[1], dtype=made.dtype, device=made.device)
        wanted = kernel(made, real, widths).mean(dim=2) * made.shape[1]
        return torch.linalg.solve(kernel(made, made, widths) + diagonal, wanted)
