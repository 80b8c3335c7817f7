"""The privacy blanket of clipped shadows with Gaussian noise (Balle, Bell, Gascón and Nissim, arXiv 1903.02837).

In units of sigma, c = kappa / 2. Whatever the record, its noisy shadow has at least the density

    omega(y) = inf over |x| <= c of phi(y - x) = (2 pi)^(-m/2) exp(-(|y| + c)^2 / 2),

so with probability gamma, the integral of omega, it comes from omega / gamma and tells nothing. For a record that moves
from x_0 to x_1, with L = gamma (phi(y - x_0) - e^epsilon phi(y - x_1)) / omega(y) and y from omega / gamma,

    delta <= E[(L_1 + ... + L_M)_+] / (gamma n),    M ~ Binomial(n, gamma)         (lemma 5.3 there).

For x_0 = -x_1 of norm c:  phi(y - x_0) / omega(y) = exp(c (|y| + y_1)).

Not proven: that opposite records are the worst (they were in every search in one and two dimensions), and the integral
over y is a sum over cells whose error is not bounded.
"""

import math

import numpy as np
from scipy.special import betainc, gammaln

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import mu_of
from sfumato_papers.accounting.shuffling.excess import mean_excess
from sfumato_papers.accounting.shuffling.verdict import Shuffled, checked, greatest

NOT_PROVEN = "that opposite records are worst is a numerical finding, and the integrals are not bounded"
_SHELLS = 1_500
_ANGLES = 801


def blanket(records: int, epsilon: float, delta: float, width: int) -> Shuffled:
    """The greatest kappa for shadows of this width, shuffled as whole records."""
    checked(records, epsilon, delta, width)
    least = mu_of(epsilon, delta)
    kappa = greatest(lambda kappa: blanket_delta(records, epsilon, kappa, width), delta, least)
    return Shuffled(kappa, False, NOT_PROVEN)


def blanket_delta(records: int, epsilon: float, kappa: float, width: int) -> float:
    """The bound at opposite records."""
    masses, one, other = _blanket(kappa / 2, width)
    gamma = float(masses.sum())
    loss = gamma * (one / (masses @ one) - math.exp(epsilon) * other / (masses @ other))
    values, weights = np.append(loss, 0.0), np.append(masses, max(0.0, 1 - gamma))
    return min(1.0, mean_excess(values, weights, records) / gamma)


def _blanket(c: float, width: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cells of omega by |y| and the angle to x_0: masses, and there phi(y - x_0) / omega, phi(y - x_1) / omega."""
    edges = np.linspace(0.0, math.sqrt(width - 1 + c * c / 4) + 3 * c + 11, _SHELLS + 1)
    radius = (edges[1:] + edges[:-1]) / 2
    sphere = math.log(2) + width / 2 * math.log(math.pi) - gammaln(width / 2)
    log_shell = sphere + (width - 1) * np.log(radius) - width / 2 * math.log(2 * math.pi) - (radius + c) ** 2 / 2
    cosine, share = _angles(width)
    masses = np.exp(log_shell + math.log(edges[1]))[:, None] * share
    one = np.exp(c * radius[:, None] * (1 + cosine))
    other = np.exp(c * radius[:, None] * (1 - cosine))
    return masses.ravel(), one.ravel(), other.ravel()


def _angles(width: int) -> tuple[FloatArray, FloatArray]:
    """Cosines of a uniform direction to a fixed one and their probabilities: (1 + cos) / 2 ~ Beta((m-1)/2, (m-1)/2)."""
    if width == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    edges = np.sin(np.linspace(-math.pi / 2, math.pi / 2, _ANGLES + 1))
    half = (width - 1) / 2
    below: FloatArray = np.diff(betainc(half, half, (1 + edges) / 2))
    share = np.where(edges[1:] <= 0, below, below[::-1])
    return (edges[1:] + edges[:-1]) / 2, share
