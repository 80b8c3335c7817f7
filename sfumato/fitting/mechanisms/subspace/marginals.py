"""How the values of each column are spread, over all classes together."""

from typing import NamedTuple

import numpy as np

from sfumato.fitting.mechanisms.subspace.plan import SubspacePlan
from sfumato.fitting.models.subspace.model import CELLS
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Cells


class Tuning(TuningConstants, group="subspace.marginals"):
    """See `sfumato.fitting.tuning`."""

    above_noise = 2.0  # deviations that a cell must have, and what it gets otherwise
    half_a_record = 0.5


def marginal_cells(plan: SubspacePlan) -> Cells:
    """Each column in the cells of the model, as far as its codes fill them."""
    scales = plan.places.scales
    grids = {key: Grid.of_cells(np.unique(cells, return_inverse=True)[1]) for key, cells in _cells(plan).items()}
    named = {name: grids[id(scale)] for name, scale in scales.items()}
    return Cells(tuple((name,) for name in scales), named, plan.target)


def _cells(plan: SubspacePlan) -> dict[int, IntArray]:
    """The cell of every code, once for each scale, which like columns share."""
    distinct = {id(scale): scale for scale in plan.places.scales.values()}
    return {key: cell_of_code(scale) for key, scale in distinct.items()}


def cell_of_code(scale: NumericCodec) -> IntArray:
    """The lowest code is the first cell and the highest the last; between them lie equal parts of the scale."""
    inside = CELLS - 2
    cells: IntArray = 1 + np.clip(scale.places * inside, 0, inside - 1).astype(np.int64)
    low, high = scale.lowest_and_highest
    cells[low], cells[high] = 0, CELLS - 1
    return cells


class MarginalShares(NamedTuple):
    """Probabilities (columns x cells), and the deviation of their noise."""

    shares: FloatArray
    deviation: float


def measure_marginals(curator: CuratorLike, plan: SubspacePlan, records: float, mu: float) -> MarginalShares:
    """What each column is like. A cell that does not stand above its noise has half a record, never none."""
    statistic, scales = marginal_cells(plan), plan.places.scales
    answer = curator.measure(statistic, mu)
    filled = {key: np.unique(cells) for key, cells in _cells(plan).items()}
    counts = statistic.split(answer.values)
    found = np.zeros((plan.columns, CELLS))
    for row, (name, scale) in zip(found, scales.items(), strict=True):
        noisy = counts[(name,)].astype(np.float64)
        kept = np.where(noisy > Tuning.above_noise * answer.sigma, noisy, Tuning.half_a_record)
        kept[noisy.argmax()] = max(float(noisy.max()), 1.0)
        row[filled[id(scale)]] = kept / kept.sum()
    return MarginalShares(found, answer.sigma / records)
