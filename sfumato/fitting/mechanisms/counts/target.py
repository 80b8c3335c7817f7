"""The target's classes: its own values, or the parts of about equal count that a numeric one is cut into."""

from collections.abc import Mapping

import numpy as np

from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.estimation import inside_groups, project
from sfumato.fitting.mechanisms.counts.plan import Tuning
from sfumato.fitting.mechanisms.counts.weights import pooled_weights
from sfumato.fitting.mechanisms.counts.zoom import Plan, Shape, zoom_into
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Cells


def cut_target(curator: CuratorLike, plan: Plan) -> tuple[Plan, Classes]:
    """The classes of the target; a numeric one is cut, by its noisy histogram, into parts of about equal count.

    The histogram of a long one is on the grid of the plan that comes back.
    """
    if plan.target is None:
        return plan, Classes(np.zeros(1, dtype=np.int64), np.ones(1))
    if plan.mu_target is None:
        size = plan.grids[plan.target].size
        return plan, Classes(np.arange(size), np.ones(size))
    return _cut_numbers(curator, plan, plan.target, plan.mu_target)


def _cut_numbers(curator: CuratorLike, plan: Plan, target: str, mu: float) -> tuple[Plan, Classes]:
    shapes: Mapping[str, Shape] = {}
    if plan.mu_target_zoom is not None:
        plan, shapes = zoom_into(curator, plan, [target], plan.mu_target_zoom, {})
    grid = plan.grids[target]
    measured = curator.measure(Cells(((target,),), {target: grid}, target), mu)
    missing = int(plan.codes[target].missing is not None)
    values = measured.values.astype(float)
    counts = project(values, max(values.sum(), 1.0))
    groups = _equal_parts(counts[: grid.size - missing])
    groups = np.append(groups, np.full(missing, groups.max() + 1))
    inside = inside_groups(values, np.full(grid.size, measured.sigma**2), groups, grid.widths)
    return plan, Classes(groups, inside, pooled_weights(shapes[target]) if shapes else None)


def _equal_parts(counts: FloatArray) -> IntArray:
    """Neighbouring cells in at most so many groups of about the same count."""
    middle = np.cumsum(counts) - counts / 2
    part = np.minimum(Tuning.target_classes * middle / counts.sum(), Tuning.target_classes - 1).astype(np.int64)
    return np.unique(part, return_inverse=True)[1]
