"""How many records a mixture needs, and how much noise: (8), solved as the paper says, by Nelder and Mead's simplex.

(8) is what a Gaussian mechanism with mu = sqrt(C D) / (l sigma) claims, so that it has a solution in closed form,
l sigma = sqrt(C D) / mu(epsilon, delta); the tests hold the search against that.
"""

import math
from functools import cache

from scipy.optimize import minimize

from sfumato.trusted.budget import delta_of

_OFF = 1e-3  # of delta_0: a search that ends farther away has found no solution
_SMALLEST = 1e-300  # for a delta of 0, which has no logarithm


def delta(epsilon: float, sigma: float, size: int, classes: int, features: int) -> float:
    """(8): what is claimed for the mean of `size` records with noise of standard deviation sigma."""
    return delta_of(epsilon, math.sqrt(classes * features) / (size * sigma))


def smallest_mixture(epsilon: float, delta_0: float, sigma_max: float, classes: int, features: int) -> int | None:
    """Line 2: the fewest records whose mean needs no more noise than sigma_max; None where no solution is found.

    Printed as a minimum over i of |delta_0 - delta|; what is meant is the l at which it lies.
    """
    product = _size_times_sigma(epsilon, delta_0, classes, features)
    return None if product is None else max(1, math.ceil(product / sigma_max))


def noise(epsilon: float, delta_0: float, size: int, classes: int, features: int) -> float | None:
    """Line 16, which names (7) and means (8): sigma of a mean of so many records; None where no solution is found."""
    product = _size_times_sigma(epsilon, delta_0, classes, features)
    return None if product is None else product / size


@cache
def _size_times_sigma(epsilon: float, delta_0: float, classes: int, features: int) -> float | None:
    """The l sigma at which (8) is delta_0. Kept for each budget, as the paper keeps its noise."""

    def off(log_of_product: list[float]) -> float:
        found = delta_of(epsilon, math.sqrt(classes * features) / math.exp(log_of_product[0]))
        return abs(math.log(max(found, _SMALLEST) / delta_0))

    start = math.log(math.sqrt(classes * features))
    solved = minimize(off, [start], method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-12})
    return math.exp(solved.x[0]) if solved.fun < _OFF else None
