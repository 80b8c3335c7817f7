"""The first look at long columns: broad cells, narrow cells and kinds of values, in one question."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.encoding.kinds import Kinds, kinds_of
from sfumato.trusted.feature_maps import Grid, KindGrid
from sfumato.trusted.feature_maps.grid import CellMap
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Cells


class Tuning(TuningConstants, group="counts.looks"):
    """See `sfumato.fitting.tuning`."""

    weights = (1.0, 1.0, 0.7)  # of broad cells, narrow cells and kinds
    narrow = 1 << 14  # narrow cells of one column, at most
    all_narrow = 1 << 18  # of all columns together


class Counts(NamedTuple):
    """Noisy counts, and the deviation of their noise."""

    values: FloatArray
    sigma: float


@dataclass(frozen=True, eq=False)
class Look:
    """What was asked of one long column: its public grid, narrow cells, the kinds of its values."""

    codes: NumericCodec
    grid: Grid
    narrow_grid: Grid
    broad: Counts
    narrow: Counts
    by_kind: Counts

    @property
    def kinds(self) -> Kinds:
        """The kind of every code."""
        return kinds_of(self.codes)

    @property
    def size(self) -> float:
        """The noisy number of records."""
        return max(float(self.broad.values.sum()), 1.0)


def kind_axis(plan: CountsPlan, name: str) -> str:
    """The name of the axis of a column's kinds."""
    return plan.axis(name, "kinds")


def take_looks(
    curator: CuratorLike, plan: CountsPlan, names: list[str], mu: float, by_class: Mapping[str, Grid]
) -> Mapping[str, Look]:
    """Ask for all named columns at once, for each class where there are any, and add the classes up."""
    classes = math.prod(grid.size for grid in by_class.values())
    narrow = _narrow_grids(plan, names, classes)
    axes = {name: (name, plan.axis(name, "narrow"), kind_axis(plan, name)) for name in names}
    grids: dict[str, CellMap] = {}
    for name in names:
        grids |= zip(axes[name], (plan.grids[name], narrow[name], KindGrid(plan.columns[name])), strict=True)
    tables = tuple((axis, *by_class) for name in names for axis in axes[name])
    of = {axis: name for name in names for axis in axes[name][1:]}
    question = Cells(tables, {**grids, **by_class}, plan.target, tuple(Tuning.weights) * len(names), of)
    measured = curator.measure(question, mu)
    summed = {
        table[0]: values.reshape(-1, classes).sum(axis=1)
        for table, values in question.split(measured.values.astype(float)).items()
    }
    noise = [measured.sigma / weight * math.sqrt(classes) for weight in Tuning.weights]
    return {
        name: Look(
            _scale(plan, name),
            plan.grids[name],
            narrow[name],
            *(Counts(summed[axis], sigma) for axis, sigma in zip(axes[name], noise, strict=True)),
        )
        for name in names
    }


def _scale(plan: CountsPlan, name: str) -> NumericCodec:
    codes = plan.codes[name]
    assert isinstance(codes, NumericCodec)  # noqa: S101 - long columns are
    return codes


def _narrow_grids(plan: CountsPlan, names: list[str], classes: int) -> Mapping[str, Grid]:
    most = max(1, min(Tuning.narrow, Tuning.all_narrow // (len(names) * classes)))
    shared = {id(plan.codes[name]): _narrow_grid(_scale(plan, name), most) for name in names}
    return {name: shared[id(plan.codes[name])] for name in names}


def _narrow_grid(codes: NumericCodec, most: int) -> Grid:
    """Even cells of the steps, then every atom and missing alone."""
    width = math.ceil(codes.steps / most)
    starts = (*range(0, codes.steps, width), *range(codes.steps, codes.size))
    return Grid(starts, tuple(range(len(starts))), codes.size)
