"""ClustMix, all of it: algorithm 2, and the search around it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from sfumato.errors import BudgetError, DataError, RequestError
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato_papers.clustmix.clustering import gmm_constrained
from sfumato_papers.clustmix.framework import Synthetic, ThreeA
from sfumato_papers.clustmix.inducing_points import KernelInducingPoints, no_adaptation
from sfumato_papers.clustmix.mixing import ClusterMixing
from sfumato_papers.clustmix.noise import Factor, smallest_mixture
from sfumato_papers.clustmix.scaling import Scaled, Scaling


@dataclass(frozen=True)
class Setting:
    """The free parameters of a run.

    sigma_max   the most noise that a point may get, from which the smallest cluster follows
    alpha       between the records' fit (0) and the centres as they were (1); None leaves adaptation out
    slices      at how many records the data is cut; 0 for no cut
    factor      how (8) is read: by how many values a record counts, see `noise`
    """

    sigma_max: float
    alpha: float | None = None
    slices: int = 0
    scaling: Scaling = "min-max"
    factor: Factor = "printed"

    def __post_init__(self) -> None:
        if not 0 < self.sigma_max < math.inf:
            raise RequestError(f"sigma_max is {self.sigma_max!r}; it must be a number above 0")
        if self.alpha is not None and not 0 <= self.alpha <= 1:
            raise RequestError(f"alpha is {self.alpha!r}; it must lie between 0 and 1, or be None")
        if isinstance(self.slices, bool) or not isinstance(self.slices, int | np.integer) or self.slices < 0:
            raise RequestError(f"slices is {self.slices!r}; it must be a whole number, 0 or more")
        for name, allowed in (("scaling", get_args(Scaling)), ("factor", get_args(Factor))):
            if getattr(self, name) not in allowed:
                raise RequestError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}")


@dataclass(frozen=True, eq=False)
class PublishedPoints:
    """Released points in [0, 1], the scale on which records compare with them, and what the paper says of both."""

    synthetic: Synthetic
    scale: Scaled
    setting: Setting

    @property
    def guarantee(self) -> str:
        """What the paper says, and what is to be thought of it."""
        return self.synthetic.guarantee

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with it."""
        return self.synthetic.faults


def clustmix(
    rng: np.random.Generator,
    X: FloatArray,  # noqa: N803 - X and y as in the paper
    y: IntArray,
    classes: int,
    epsilon: float,
    delta: float,
    setting: Setting,
) -> PublishedPoints:
    """Algorithm 2 on records X with labels y from 0 to classes - 1, scaled as the setting says.

    Formal guarantees
        None. The paper claims (epsilon, delta)-differential privacy for one replaced record; the result carries the
        claim and its faults. `rng` may be seeded: nothing here keeps a secret.
    Edge cases
        Rows that are not finite, labels that are not whole: `DataError`. No class with enough records for a mixture:
        `DataError`; one class with too few has no points. A budget for which (8) has no solution: `BudgetError`.
    """
    _check_finite(X)
    smallest = smallest_mixture(epsilon, delta, setting.sigma_max, classes, X.shape[1], setting.factor)
    if smallest is None:
        raise BudgetError(f"no noise gives a delta of {delta:g} at an epsilon of {epsilon:g}; change one of them")
    scale = Scaled.to(X, setting.scaling)
    adapt = no_adaptation if setting.alpha is None else KernelInducingPoints(setting.alpha)
    mixing = ClusterMixing(epsilon, delta, classes, setting.factor)
    run = ThreeA(gmm_constrained, adapt, mixing, smallest, setting.slices)
    return PublishedPoints(run(rng, scale(X), y, classes), scale, setting)


def searched(
    rng: np.random.Generator,
    X: FloatArray,  # noqa: N803
    y: IntArray,
    classes: int,
    epsilon: float,
    delta: float,
    settings: Sequence[Setting],
    score: Callable[[PublishedPoints], float],
) -> PublishedPoints:
    """The run among several that scores best on the training records, as the paper chooses.

    Each run looks at all records and the choice at the scores of all, and none of it is paid for. Settings for which a
    mixture would need more records than any class has are passed over.
    """
    _check_finite(X)
    found = []
    for setting, own in zip(settings, rng.spawn(len(settings)), strict=True):
        try:
            points = clustmix(own, X, y, classes, epsilon, delta, setting)
        except DataError:
            continue
        found.append((score(points), points))
    if not found:
        raise DataError("no setting leaves enough records for a mixture; allow more noise")
    return max(found, key=lambda one: one[0])[1]


def _check_finite(X: FloatArray) -> None:  # noqa: N803
    if not np.isfinite(X).all():
        raise DataError("records must be finite numbers")
