"""Samples a second of the noise, beside OpenDP's exact sampler and numpy's inexact one.

`python -m benchmarks.noise`
"""

import time
from collections.abc import Callable

import numpy as np
import opendp.prelude as dp

from sfumato.trusted.noise import SecureNoise

dp.enable_features("contrib")
SIGMA = 2.0**20


def rate(draw: Callable[[int], object], count: int, repeats: int = 3) -> float:
    """The best of some runs, in samples per CPU second."""
    draw(100)
    best = 0.0
    for _ in range(repeats):
        begin = time.process_time()
        draw(count)
        best = max(best, count / (time.process_time() - begin))
    return best


def opendp_draw(count: int) -> object:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return dp.m.make_gaussian(*space, scale=SIGMA)([0] * count)


def main() -> None:
    secure = SecureNoise()
    rows = {
        "sfumato, 10,000,000 draws": rate(lambda count: secure.rounded_gaussian(SIGMA, count), 10_000_000),
        "sfumato, 1,000 draws": rate(
            lambda _: [secure.rounded_gaussian(SIGMA, 1_000) for _ in range(1_000)], 1_000_000
        ),
        "OpenDP Gaussian, 100,000 draws": rate(opendp_draw, 100_000),
        "numpy normal (inexact), 10,000,000 draws": rate(np.random.default_rng().standard_normal, 10_000_000),
    }
    peer = rows["OpenDP Gaussian, 100,000 draws"]
    for name, speed in rows.items():
        print(f"{name:42s} {speed:14,.0f} samples per CPU second   {speed / peer:8.1f} x OpenDP")


if __name__ == "__main__":
    main()
