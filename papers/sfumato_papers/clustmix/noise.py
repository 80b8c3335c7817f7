"""How many records a mixture needs, and how much noise: (8), solved as the paper says, by Nelder and Mead's simplex.

(8) is what a Gaussian mechanism with mu = f / (l sigma) claims, so that it has a solution in closed form,
l sigma = f / mu(epsilon, delta); the tests hold the search against that. The factor f is a reading. The proof of
theorem 2 builds it in three steps, and the figures of the paper fit the printed one badly (`experiments.clustmix`):

    none          1           its first step: one value of one point, "our mechanism is 1 / (l sigma)-GDP"
    per feature   sqrt(C)     a point of each class, but every feature by itself, as if it were released alone
    printed       sqrt(C D)   all features of a point of each class: (8)

Theorem 2 holds, for clusters that are given, with the printed factor alone. With another one the same theorem says how
much more than epsilon is spent: `actual_mu`. Lines 2 and 16 leave C out of the arguments of delta, and (8) out of those
on its left; its right side, which has C, is what counts here.
"""

import math
from functools import cache
from typing import Literal

from scipy.optimize import minimize

from sfumato.trusted.budget import delta_of, mu_of

Factor = Literal["printed", "per feature", "none"]

_OFF = 1e-3  # of delta_0: a search that ends farther away has found no solution
_SMALLEST = 1e-300  # for a delta of 0, which has no logarithm


def factor_of(reading: Factor, classes: int, features: int) -> float:
    """f, by how many values of how many points a record is taken to move."""
    moved = {"printed": classes * features, "per feature": classes, "none": 1}[reading]
    return math.sqrt(moved)


def actual_mu(reading: Factor, epsilon: float, delta_0: float, classes: int, features: int) -> float:
    """The mu that theorem 2 itself gives to noise of this reading: all features of a point of each class count."""
    left_out = factor_of("printed", classes, features) / factor_of(reading, classes, features)
    return mu_of(epsilon, delta_0) * left_out


def delta(epsilon: float, sigma: float, size: int, classes: int, features: int, reading: Factor = "printed") -> float:
    """(8): what is claimed for the mean of `size` records with noise of standard deviation sigma."""
    return delta_of(epsilon, factor_of(reading, classes, features) / (size * sigma))


def smallest_mixture(
    epsilon: float, delta_0: float, sigma_max: float, classes: int, features: int, reading: Factor = "printed"
) -> int | None:
    """Line 2: the fewest records whose mean needs no more noise than sigma_max; None where no solution is found.

    Printed as a minimum over i of |delta_0 - delta|; what is meant is the l at which it lies.
    """
    product = _size_times_sigma(epsilon, delta_0, factor_of(reading, classes, features))
    return None if product is None else max(1, math.ceil(product / sigma_max))


def noise(
    epsilon: float, delta_0: float, size: int, classes: int, features: int, reading: Factor = "printed"
) -> float | None:
    """Line 16, which names (7) and means (8): sigma of a mean of so many records; None where no solution is found."""
    product = _size_times_sigma(epsilon, delta_0, factor_of(reading, classes, features))
    return None if product is None else product / size


@cache
def _size_times_sigma(epsilon: float, delta_0: float, factor: float) -> float | None:
    """The l sigma at which (8) is delta_0. Kept for each budget, as the paper keeps its noise."""

    def off(log_of_product: list[float]) -> float:
        found = delta_of(epsilon, factor / math.exp(log_of_product[0]))
        return abs(math.log(max(found, _SMALLEST) / delta_0))

    solved = minimize(off, [math.log(factor)], method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-12})
    return math.exp(solved.x[0]) if solved.fun < _OFF else None
