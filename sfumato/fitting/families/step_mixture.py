"""The distribution of a row, given the rows above it and the row before.

A mixture in which a column and its value in the row before are one factor; s are columns of what is known of a row
besides, x those of the row, ' marks their values in the row before:

    p(s, x', x) = sum over components k of  pi_k  prod_s theta_ks[s]  prod_x theta_kx[x', x]

A plain mixture would spend components to say that every column resembles its own last value. Here one component is
enough for that, and others are left for what columns have to do with each other. Factors live on coarse cells; inside
a cell a column has one shape.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.fitting.models.table_mixture.code_weights import CodeWeights
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.trusted.arrays import CodeArray, Float32Array, FloatArray, IntArray
from sfumato.trusted.encoding import Batch, Codes
from sfumato.trusted.feature_maps import Grid

_AT_ONCE = 1 << 13
_TINY = 1e-30
_LARGEST = 2**53
_COMPARED = 50  # pairs of columns of which two models are compared


@dataclass(frozen=True, eq=False)
class Shape:
    """How the codes of a column lie inside its coarse cells: pieces of one distribution, each in one cell."""

    grid: Grid
    pieces: Pieces
    cells: IntArray  # of each piece

    @cached_property
    def _line(self) -> tuple[IntArray, FloatArray]:
        """Pieces by cell, and where each of them ends on a line on which cell c is the interval from c to c + 1."""
        order = np.argsort(self.cells, kind="stable")
        held = self.pieces.theta[0, order] + _TINY
        cell = self.cells[order]
        total = np.bincount(cell, weights=held)
        before = np.cumsum(held) - np.cumsum(np.append(0.0, total))[cell]
        return order, cell + before / total[cell]

    def draw(
        self, cells: NDArray[np.integer[Any]], rng: np.random.Generator, most: CodeArray | None = None
    ) -> CodeArray:
        """A code of each of these cells; none above `most`, of which the cell must have some share."""
        order, ends = self._line
        share = np.ones(len(cells)) if most is None else self.shares_up_to(most)[np.arange(len(cells)), cells]
        at = np.searchsorted(ends, cells + share * rng.random(len(cells)), side="right").clip(max=len(ends) - 1)
        first = np.searchsorted(self.cells[order], cells)
        last = np.searchsorted(self.cells[order], cells, side="right") - 1
        piece = order[np.clip(at, first, last)]
        if most is None:
            return self.pieces.draw_one_by_one(piece, rng)
        starts = self.pieces.starts[piece]
        stops = np.clip(most.astype(np.int64) + 1, starts + 1, self.pieces.stops[piece])
        weights = self.pieces.weights
        drawn = rng.integers(starts, stops) if weights is None else weights.draw(starts, stops, rng)
        return drawn.astype(np.int32)

    def shares_up_to(self, codes: CodeArray) -> FloatArray:
        """The share of every cell that lies at or below each of these codes (codes x cells)."""
        held = self.pieces.theta[0] + _TINY
        stops = np.clip(codes[:, None].astype(np.int64) + 1, self.pieces.starts, self.pieces.stops)
        whole = self.pieces.weigh(self.pieces.starts, self.pieces.stops)
        inside = self.pieces.weigh(np.broadcast_to(self.pieces.starts, stops.shape), stops) / whole
        inside = np.where(stops > self.pieces.starts, inside, 0.0)
        summed = np.zeros((len(codes), self.grid.size))
        np.add.at(summed.T, self.cells, (inside * held).T)
        shares: FloatArray = summed / np.bincount(self.cells, weights=held)
        return shares

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        weights = self.pieces.weights
        return {
            "grid": self.grid.to_dict(),
            "starts": self.pieces.starts.tolist(),
            "stops": self.pieces.stops.tolist(),
            "groups": self.pieces.groups.tolist(),
            "noise": self.pieces.noise.tolist(),
            "theta": self.pieces.theta[0].tolist(),
            "weights": None if weights is None else weights.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], codes: Codes) -> "Shape":
        """The shape that `to_dict` wrote, of a column with these codes."""
        if set(content) != {"grid", "starts", "stops", "groups", "noise", "theta", "weights"}:
            raise ValueError("a shape has a grid, pieces and nothing else")
        grid = Grid.from_dict(content["grid"])
        starts, stops, groups = (np.array(content[name], dtype=np.int64) for name in ("starts", "stops", "groups"))
        noise, theta = (np.array(content[name], dtype=np.float64) for name in ("noise", "theta"))
        weights = None if content["weights"] is None else CodeWeights.from_dict(content["weights"], codes)
        pieces = Pieces(starts, stops, groups, noise, theta[None], weights)
        if grid.codes != codes.size or starts[0] != 0 or stops[-1] != codes.size or (starts[1:] != stops[:-1]).any():
            raise ValueError("a shape does not cover the codes of its column")
        return cls.of(grid, pieces)

    @classmethod
    def of(cls, grid: Grid, pieces: Pieces) -> "Shape":
        """The shape of pieces each of which lies in one cell of a grid, and which fill all of them."""
        first, last = (grid.cells_of(ends.astype(np.int32)) for ends in (pieces.starts, pieces.stops - 1))
        if (first != last).any() or len(np.unique(first)) != grid.size:
            raise ValueError("the pieces of a shape do not lie in the cells of its grid")
        return cls(grid, pieces, first.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Factor:
    """A column, or its previous and own value together: the probability of every cell in each component."""

    names: tuple[str, ...]
    theta: FloatArray  # components x cells, or components x previous cells x own cells

    def __post_init__(self) -> None:
        if self.theta.ndim != len(self.names) + 1 or len(self.names) not in (1, 2):
            raise ValueError("a factor has one column, or a column and its value in the row before")
        flat = self.theta.reshape(len(self.theta), -1)
        if not (np.isfinite(flat).all() and (flat > 0).all() and np.allclose(flat.sum(axis=1), 1)):
            raise ValueError("a factor must be a distribution in every component")

    @cached_property
    def log(self) -> Float32Array:
        """Cells x components, for looking up."""
        return np.log(np.moveaxis(self.theta, 0, -1)).astype(np.float32)

    @cached_property
    def log_margins(self) -> tuple[Float32Array, ...]:
        """The same for each of its columns alone."""
        axes = [tuple(axis for axis in range(1, self.theta.ndim) if axis != own) for own in range(1, self.theta.ndim)]
        return tuple(np.log(self.theta.sum(axis=other)).T.astype(np.float32) for other in axes)

    def log_of(self, cells: Mapping[str, IntArray]) -> Float32Array | None:
        """log probability of the cells of records (records x components), as far as its columns are known."""
        known = [name in cells for name in self.names]
        if all(known):
            return self.log[tuple(cells[name] for name in self.names)]
        if not any(known):
            return None
        place = known.index(True)
        return self.log_margins[place][cells[self.names[place]]]


@dataclass(frozen=True, eq=False)
class StepMixture:
    """Component weights, factors, and the shape of every column; `size` is the noisy number of persons."""

    weights: FloatArray
    factors: tuple[Factor, ...]
    shapes: Mapping[str, Shape]
    size: float
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all() and np.isclose(self.weights.sum(), 1)):
            raise ValueError("the weights must be a distribution")
        named = [name for factor in self.factors for name in factor.names]
        if sorted(named) != sorted(self.shapes) or not 0 < self.size < _LARGEST:
            raise ValueError("every column needs a factor and a shape")
        for factor in self.factors:
            sizes = (len(self.weights), *(self.shapes[name].grid.size for name in factor.names))
            if factor.theta.shape != sizes:
                raise ValueError("a factor has other cells than the shapes of its columns")

    @cached_property
    def _factor_of(self) -> Mapping[str, Factor]:
        return {name: factor for factor in self.factors for name in factor.names}

    def cells_of(self, codes: Mapping[str, CodeArray]) -> dict[str, IntArray]:
        """The coarse cell of each code, of the columns that the model has."""
        return {name: self.shapes[name].grid.cells_of(code) for name, code in codes.items() if name in self.shapes}  # type: ignore[misc]

    def log_joint(self, cells: Mapping[str, IntArray], rows: int) -> Float32Array:
        """log of weight times probability of the known columns (records x components)."""
        with np.errstate(divide="ignore"):
            total = np.repeat(np.log(self.weights)[None].astype(np.float32), rows, axis=0)
        for factor in self.factors:
            if (found := factor.log_of(cells)) is not None:
                total += found
        return total

    def history(self, previous: Mapping[str, CodeArray], own: Mapping[str, CodeArray]) -> Float32Array:
        """What a step told of the components that its own row alone, as the row before the next, does not tell."""
        before, now = self.cells_of(previous), self.cells_of(own)
        rows = len(next(iter(own.values())))
        total = np.zeros((rows, len(self.weights)), dtype=np.float32)
        for factor in self.factors:
            if len(factor.names) == 2:
                old, new = factor.names
                if old in before and new in now:
                    as_previous = self.shapes[old].grid.cells_of(own[new])
                    total += factor.log[before[old], now[new]] - factor.log_margins[0][as_previous]
        return total

    def draw(
        self,
        known: Mapping[str, CodeArray],
        names: Sequence[str],
        rng: np.random.Generator,
        memory: Float32Array | None,
        most: Mapping[str, CodeArray] | None = None,
    ) -> tuple[dict[str, CodeArray], IntArray]:
        """Columns given others, and the component of each record.

        memory   what earlier rows told, see `history`
        most     the largest code that each record may have in some of these columns; larger ones have no cell left
        """
        rows = len(next(iter(known.values())))
        codes = {name: np.empty(rows, dtype=np.int32) for name in names}
        component = np.empty(rows, dtype=np.int64)
        for start in range(0, rows, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            cells = self.cells_of({name: code[part] for name, code in known.items()})
            allowed = {name: self.shapes[name].shares_up_to(code[part]) for name, code in (most or {}).items()}
            joint = self.log_joint(cells, min(rows - start, _AT_ONCE))
            for name, held in allowed.items():
                joint += self._log_allowed(name, cells, held)
            component[part] = _draw_log(joint if memory is None else joint + memory[part], rng)
            for name in names:
                drawn = self._draw_cells(name, component[part], cells, rng, allowed.get(name))
                limit = None if most is None or name not in most else most[name][part]
                codes[name][part] = self.shapes[name].draw(drawn, rng, limit)
        return codes, component

    def _given_cells(self, name: str, cells: Mapping[str, IntArray]) -> tuple[FloatArray, IntArray | None]:
        """The factor of a column with its cells last, and the cells of the other column of the factor, if known."""
        factor = self._factor_of[name]
        place = factor.names.index(name)
        if len(factor.names) == 1:
            return factor.theta, None
        other = factor.names[1 - place]
        if other in cells:
            return (factor.theta if place == 1 else np.swapaxes(factor.theta, 1, 2)), cells[other]
        return factor.theta.sum(axis=2 - place), None

    def _log_allowed(self, name: str, cells: Mapping[str, IntArray], allowed: FloatArray) -> Float32Array:
        """log of the probability that a column is no larger than each record may have it, in every component."""
        theta, other = self._given_cells(name, cells)
        given = theta / theta.sum(axis=-1, keepdims=True)
        if other is None:
            held = allowed @ given.T
        else:
            held = np.einsum("rc,rkc->rk", allowed, given[:, other].transpose(1, 0, 2))
        log: Float32Array = np.log(np.maximum(held, _TINY)).astype(np.float32)
        return log

    def _draw_cells(
        self,
        name: str,
        component: IntArray,
        cells: Mapping[str, IntArray],
        rng: np.random.Generator,
        allowed: FloatArray | None = None,
    ) -> IntArray:
        theta, other = self._given_cells(name, cells)
        p = theta[component] if other is None else theta[component, other]
        return _draw(p if allowed is None else p * (allowed + _TINY), rng)

    def pool(self, rows: int, rng: np.random.Generator) -> Batch:
        """Whole records that a fit looks at, settings and previous rows among them."""
        component = rng.choice(len(self.weights), rows, p=self.weights / self.weights.sum())
        cells: dict[str, IntArray] = {}
        for factor in self.factors:
            for name in factor.names:
                cells[name] = self._draw_cells(name, component, cells, rng)
        return Batch(rows, {name: self.shapes[name].draw(found, rng) for name, found in cells.items()})

    def conditional(self, batch: Batch, name: str, memory: Float32Array | None = None) -> FloatArray:
        """The probability of every cell of a column given the others of each record (records x cells)."""
        others = {other: codes for other, codes in batch.codes.items() if other != name}
        factor = self._factor_of[name]
        place = factor.names.index(name)
        other = factor.names[1 - place] if len(factor.names) > 1 else ""
        theta = factor.theta if place == factor.theta.ndim - 2 else np.swapaxes(factor.theta, 1, 2)
        found = np.empty((batch.rows, self.shapes[name].grid.size))
        for start in range(0, batch.rows, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            cells = self.cells_of({column: codes[part] for column, codes in others.items()})
            joint = self.log_joint(cells, min(batch.rows - start, _AT_ONCE)).astype(np.float64)
            share = _share(joint if memory is None else joint + memory[part])
            if theta.ndim == 2:
                found[part] = share @ theta
            elif other in cells:
                given = theta / theta.sum(axis=2, keepdims=True)
                found[part] = np.einsum("rk,rkc->rc", share, given[:, cells[other]].transpose(1, 0, 2))
            else:
                found[part] = share @ theta.sum(axis=1)
        return found

    def class_probabilities(self, batch: Batch, target: str) -> FloatArray:
        """The same, of a target whose classes are its cells."""
        return self.conditional(batch, target)

    def pair(self, first: str, second: str) -> FloatArray:
        """The joint probability of the cells of two columns."""
        factor = self._factor_of[first]
        if second in factor.names:
            joint = np.tensordot(self.weights, factor.theta, axes=1)
            return joint if factor.names[0] == first else joint.T
        left, right = (np.exp(self._margin(name)) for name in (first, second))
        return left @ (self.weights[:, None] * right.T)

    def _margin(self, name: str) -> Float32Array:
        factor = self._factor_of[name]
        return factor.log_margins[factor.names.index(name)]

    def marginal(self, name: str) -> FloatArray:
        """The probability of every cell of a column."""
        return np.exp(self._margin(name)) @ self.weights

    def column_model(self, name: str) -> TableMixture:
        """The distribution of one column by itself, over its pieces."""
        shape, cells = self.shapes[name], self.marginal(name)
        held = shape.pieces.theta[0]
        within = (held + _TINY) / np.bincount(shape.cells, weights=held + _TINY)[shape.cells]
        theta = within * cells[shape.cells]
        pieces = replace(shape.pieces, theta=(theta / theta.sum())[None])
        return TableMixture(np.ones(1), {name: pieces}, self.size)

    def distance(self, other: "StepMixture") -> float:
        """The largest total variation of a pair of columns, or the relative difference of the sizes."""
        if list(self.shapes) != list(other.shapes) or any(
            shape.grid != other.shapes[name].grid for name, shape in self.shapes.items()
        ):
            return 1.0
        apart = [abs(self.size / other.size - 1)]
        apart += [float(np.abs(self.pair(*pair) - other.pair(*pair)).sum() / 2) for pair in self._compared()]
        for name, shape in self.shapes.items():
            mine, theirs = shape.pieces.theta, other.shapes[name].pieces.theta
            apart.append(1.0 if mine.shape != theirs.shape else float(np.abs(mine - theirs).sum() / 2))
        return float(max(apart))

    def _compared(self) -> Iterator[tuple[str, str]]:
        names = list(self.shapes)
        yield from zip(names[:_COMPARED], (names[1:] + names[:1])[:_COMPARED], strict=True)
        yield from ((one.names[0], one.names[1]) for one in self.factors if len(one.names) == 2)

    def to_parts(self) -> tuple[dict[str, Any], pa.Table]:
        """The model as plain content and one Arrow table with a row for each cell of a factor."""
        theta = [factor.theta.reshape(len(self.weights), -1).T for factor in self.factors]
        numbers = np.concatenate([np.full(len(part), place) for place, part in enumerate(theta)])
        stacked = pa.FixedSizeListArray.from_arrays(
            pa.array(np.concatenate(theta).ravel(), pa.float64()), len(self.weights)
        )
        content = {
            "weights": self.weights.tolist(),
            "size": self.size,
            "factors": [list(factor.names) for factor in self.factors],
            "shapes": {name: shape.to_dict() for name, shape in self.shapes.items()},
            "settings": dict(self.settings),
        }
        return content, pa.table([pa.array(numbers, pa.int64()), stacked], schema=_layout(len(self.weights)))

    @classmethod
    def from_parts(cls, content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]) -> "StepMixture":
        """The model that `to_parts` wrote; one that does not fit these columns raises."""
        if set(content) != {"weights", "size", "factors", "shapes", "settings"}:
            raise ValueError("a model of steps has weights, factors, shapes and nothing else")
        weights = np.array(content["weights"], dtype=np.float64)
        if not table.schema.equals(_layout(len(weights))) or set(content["shapes"]) != set(columns):
            raise ValueError("the factors are not stored as they should be, or are of other columns")
        shapes = {name: Shape.from_dict(content["shapes"][name], columns[name]) for name in columns}
        number = table.column("factor").to_numpy()
        theta = table.column("theta").combine_chunks().flatten().to_numpy().reshape(-1, len(weights))
        factors = []
        for place, names in enumerate(content["factors"]):
            sizes = [shapes[name].grid.size for name in names]
            factors.append(Factor(tuple(names), theta[number == place].T.reshape(len(weights), *sizes)))
        return cls(weights, tuple(factors), shapes, float(content["size"]), content["settings"])


def _layout(components: int) -> pa.Schema:
    return pa.schema([("factor", pa.int64()), ("theta", pa.list_(pa.float64(), components))])


def _share(joint: FloatArray) -> FloatArray:
    e = np.exp(joint - joint.max(axis=1, keepdims=True))
    share: FloatArray = e / e.sum(axis=1, keepdims=True)
    return share


def _draw_log(joint: Float32Array, rng: np.random.Generator) -> IntArray:
    return _draw(np.exp(joint - joint.max(axis=1, keepdims=True)), rng)


def _draw(p: NDArray[np.floating[Any]], rng: np.random.Generator) -> IntArray:
    """A place of each row, by its weights."""
    up_to = np.cumsum(p, axis=1)
    place = (up_to <= rng.random(len(p))[:, None] * up_to[:, -1:]).sum(axis=1)
    possible: IntArray = np.minimum(place, (up_to < up_to[:, -1:]).sum(axis=1))
    return possible
