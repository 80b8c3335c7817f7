"""Fit the mixture of a step to the noisy tables of its view. Post-processing.

The error is that of `approximation`, with factors in the place of columns: a cell (i, j) of a factor reads as cell i of
the previous value and cell j of the own one in all pair tables. What single-column tables say of the two comes in as
pairs with a column that has one cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from sfumato.fitting.families.step_mixture import Factor, Shape, StepMixture
from sfumato.fitting.mechanisms.counts.assembly import pieces_of, without_unseen_tails
from sfumato.fitting.mechanisms.counts.estimation import distributions
from sfumato.fitting.mechanisms.counts.grids import is_long
from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.tables.coarse_map import CoarseMap
from sfumato.fitting.mechanisms.tables.fit import count_components
from sfumato.fitting.mechanisms.tables.product_mixture import Evidence, ProductMixture
from sfumato.fitting.mechanisms.tables.product_mixture import Tuning as Approximation
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import Float32Array, FloatArray, IntArray
from sfumato.trusted.encoding import codes_of
from sfumato.trusted.families import View
from sfumato.trusted.feature_maps import Grid


class Tuning(TuningConstants, group="families.step_fit"):
    """See `sfumato.fitting.tuning`."""

    components = 56  # the most that a fit gets
    fits = 3  # whose average is taken
    steps = 600
    prior = 12.0  # records of the lag tables that draw every component
    same_shape = 0.99  # level at which noisy counts speak against the shape of first rows


@dataclass(frozen=True, eq=False)
class _Part:
    """The table of one factor: noisy counts, their variance, and the coarse cells that each of its cells reads as."""

    names: tuple[str, ...]
    counts: FloatArray
    variance: FloatArray
    reads: tuple[IntArray, ...]

    @property
    def prior(self) -> FloatArray:
        """The distribution that the table tells by itself."""
        total = np.maximum(self.counts.sum(keepdims=True), 1.0)
        told: FloatArray = distributions(self.counts[:, None], self.variance, total)[0]
        return told


def fit_steps(view: View, one_way: OneWays, pairs: PairTables, first: OneWays | None) -> StepMixture:
    """The mixture that explains the tables of a view best; `first` are the tables of first rows, for their shapes."""
    levels = {name: int(pairs.coarse[name].max()) + 1 for name in one_way.columns}
    starts = dict(zip(levels, np.cumsum([0, *levels.values()]).tolist(), strict=False))
    parts = _parts(view, one_way, pairs)
    seen = _evidence(parts, one_way, pairs, starts, sum(levels.values()))
    (components,) = count_components(one_way, pairs.typical_sigma, Tuning.components)
    prior = np.concatenate([*(part.prior for part in parts), [1.0]]).astype(np.float32)
    made = [_fit(seen, prior, components, number) for number in range(Tuning.fits)]
    weights = np.concatenate([pi for pi, _ in made]) / Tuning.fits
    thetas = np.split(np.concatenate([theta for _, theta in made]), seen.offsets[1:], axis=1)
    factors = []
    for part, theta in zip(parts, thetas, strict=False):
        sizes = [levels[name] for name in part.names]
        held = np.maximum(theta, 1e-12)
        factors.append(Factor(part.names, (held / held.sum(axis=1, keepdims=True)).reshape(len(weights), *sizes)))
    shapes = {name: _shape(view, one_way, pairs, name, first) for name in one_way.columns}
    settings = {"components": components, "fits": Tuning.fits, "steps": Tuning.steps}
    return StepMixture(weights / weights.sum(), tuple(factors), shapes, max(one_way.size, 1.0), settings)


def _parts(view: View, one_way: OneWays, pairs: PairTables) -> list[_Part]:
    """A factor for every column, or for a column and its previous value."""
    before = {one.column: one.name for one in view.columns if one.which == "previous"}
    joint = {before[one.column]: one.name for one in view.columns if one.which == "own" and one.column in before}
    joint = {old: own for old, own in joint.items() if (old, own) in pairs.tables}
    alone = [name for name in one_way.columns if name not in joint and name not in joint.values()]
    parts = []
    for name in alone:
        column, coarse = one_way.columns[name], pairs.coarse[name]
        counts, variance = (sum_groups(part, coarse) for part in (column.grouped[:, 0], column.variance))
        parts.append(_Part((name,), counts, variance, (np.arange(len(counts)),)))
    for old, own in joint.items():
        table = pairs.tables[old, own][0]
        i, j = np.divmod(np.arange(table.size), table.shape[1])
        variance = np.full(table.size, float(pairs.sigma[old, own] ** 2))
        parts.append(_Part((old, own), table.ravel(), variance, (i, j)))
    return parts


def _evidence(
    parts: list[_Part], one_way: OneWays, pairs: PairTables, starts: Mapping[str, int], width: int
) -> Evidence:
    """All tables on the scale of probabilities; the last coarse cell is that of a column which has one cell."""
    size = one_way.size
    counts = np.concatenate([*(part.counts for part in parts), [size]])
    sampled = np.concatenate([*(part.variance + part.counts.clip(1) for part in parts), [size]])
    offsets = np.cumsum([0, *(len(part.counts) for part in parts)])
    read = [(slice(len(counts) - 1, len(counts)), np.array([width]), np.ones((1, 1)))]
    for part, offset in zip(parts, offsets, strict=False):
        for name, cells in zip(part.names, part.reads, strict=True):
            seen = np.eye(cells.max() + 1)[cells]
            read.append((slice(offset, offset + len(cells)), starts[name] + np.arange(seen.shape[1]), seen))
    tables = np.zeros((1, width + 1, width + 1), dtype=np.float32)
    precision = np.zeros((width + 1, width + 1), dtype=np.float32)
    own = {part.names for part in parts}
    for (one, other), table in pairs.tables.items():
        if (one, other) in own:
            continue
        rows, across = (
            slice(starts[name], starts[name] + length)
            for name, length in zip((one, other), table.shape[1:], strict=True)
        )
        tables[0, rows, across], tables[0, across, rows] = table[0] / size, table[0].T / size
        precision[rows, across] = precision[across, rows] = (size / pairs.sigma[one, other]) ** 2
    for part in parts:
        for name in part.names if len(part.names) > 1 else ():
            column, at = one_way.columns[name], starts[name] + pairs.coarse[name]
            margin = np.bincount(at, weights=column.grouped[:, 0], minlength=width + 1)
            variance = np.bincount(at, weights=column.variance + column.grouped[:, 0].clip(1), minlength=width + 1)
            there = np.flatnonzero(variance)
            tables[0, -1, there] = tables[0, there, -1] = margin[there] / size
            precision[-1, there] = precision[there, -1] = size**2 / variance[there]
    return Evidence(
        (counts / size).astype(np.float32)[:, None],
        (size**2 / sampled).astype(np.float32)[:, None],
        CoarseMap.of((len(counts), width + 1), read),
        tables,
        precision,
        offsets,
        np.ones(len(counts), dtype=bool),
    )


def _fit(seen: Evidence, prior: Float32Array, components: int, number: int) -> tuple[FloatArray, FloatArray]:
    """Weights and factors of one fit; another number is another jitter around the start."""
    rng = public_rng(200 + number)  # apart from the streams of other fits
    marginals = np.repeat(prior[None], components, axis=0)
    jitter = Approximation.jitter * (components > 1)
    logits = (np.log(np.maximum(marginals, 1e-9)) + jitter * rng.normal(size=marginals.shape)).astype(np.float32)
    owner = np.zeros(components, dtype=np.int64)
    start = np.zeros(components, dtype=np.float32)
    mixture = ProductMixture(logits, start, owner, marginals, seen.offsets, prior=Tuning.prior)
    mixture.fit(seen, Tuning.steps)
    return mixture.pi.astype(np.float64), mixture.theta.astype(np.float64)


def _shape(view: View, one_way: OneWays, pairs: PairTables, name: str, first: OneWays | None) -> Shape:
    """The fine cells of a column inside its coarse ones."""
    column = one_way.columns[name]
    held = (column.theta[:, column.groups] * column.inside)[0]
    coarse = pairs.coarse[name][column.groups]
    known = None if first is None else first.columns.get(name.removeprefix("previous "))
    if known is not None and view.by_name[name].column != "":
        held = _shapes_of_first(held, column, coarse, _on_cells_of(known, column.grid))
    if is_long(codes_of(view.by_name[name].definition)):
        held = without_unseen_tails(held[None], column)[0]
    noise = (np.sqrt(column.variance) / one_way.size)[column.groups]
    pieces = pieces_of(column.grid, column.groups, noise, (held / held.sum())[None], column.weights)
    return Shape.of(pairs.grids[name], pieces)


def _on_cells_of(first: OneWay, grid: Grid) -> FloatArray:
    """The distribution of first rows over the cells of another grid of the same codes.

    First rows may have one code more, of those who have none. Inside a cell of theirs codes are alike.
    """
    held = (first.theta[:, first.groups] * first.inside)[0]
    starts, cells = np.array(first.grid.starts), np.array(first.grid.cells)
    ends = np.append(starts, first.grid.codes)
    width = np.bincount(cells, weights=np.diff(ends))
    up_to = np.append(0.0, np.cumsum((held / width)[cells] * np.diff(ends)))
    own = np.append(np.array(grid.starts), grid.codes)
    mass = np.diff(np.interp(own, ends, up_to))
    found: FloatArray = np.bincount(np.array(grid.cells), weights=mass).astype(np.float64)
    return found


def _shapes_of_first(held: FloatArray, column: OneWay, coarse: IntArray, first: FloatArray) -> FloatArray:
    """The shape of first rows inside every coarse cell whose own noisy counts do not speak against it."""
    counts, variance, held = column.counts[:, 0], column.sigma**2, held.copy()
    for cell in range(int(coarse.max()) + 1):
        at = np.flatnonzero(coarse == cell)
        if len(at) < 2 or first[at].sum() <= 0:
            continue
        shape = first[at] / first[at].sum()
        expected = max(float(counts[at].sum()), 1.0) * shape
        off = float(((counts[at] - expected) ** 2 / (variance + expected)).sum())
        if off <= 2 * gammaincinv((len(at) - 1) / 2, Tuning.same_shape):
            held[at] = held[at].sum() * shape
    return held
