"""A mixture of products over the codes of a table: what the `tables` mechanism releases.

    p(x_1 .. x_d) = sum_k weight_k prod_j theta_kj[cell of x_j] weight_j[x_j] / weight_j of its cell

The target is a column like any other, so conditions and marginals are one and the same sum over components. All of it
is exact: nothing is sampled unless `sample` is asked. Where there is a labeller, it says what the target is wherever
all other columns are known: in predictions, and of the records of a sample if it is made for them. A column that is
tied to another is drawn from that one instead; see `ties.py`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition
from sfumato.fitting.models.logarithms import log_sum
from sfumato.fitting.models.model import Model, register_model
from sfumato.fitting.models.table_mixture.alike_codes import AlikeCodes
from sfumato.fitting.models.table_mixture.code_weights import CodeWeights
from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.marginals import marginal_table, piece_values, pieces_up_to
from sfumato.fitting.models.table_mixture.pool import draw_pool
from sfumato.fitting.models.table_mixture.strata import draw_all_strata, draw_strata
from sfumato.fitting.models.table_mixture.target_rules import Told
from sfumato.fitting.models.table_mixture.ties import (
    Tie,
    check_ties,
    family_density,
    family_of,
    family_pair,
    parent_given,
    read_ties,
    restrict_family,
)
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Codes, NumericCodec
from sfumato.trusted.measurement import Measurement

if TYPE_CHECKING:
    from sfumato.fitting.models.table_mixture.means import GivenColumn

Runs = Sequence[tuple[int, int]]

_MOST = 2.0**100  # of a number that means something
_BISECTIONS = 64
_CONTENT = {"kind", "weights", "size", "code_weights", "labeller", "settings"}
_COMPARED = 2_000  # records of which two models tell the target
_ROWS_AT_ONCE = 1 << 10  # that stay near the processor
_MANY_DRAWS = 1 << 14  # for which a table of the codes that are alike is worth its time


@dataclass(frozen=True, eq=False)
class Pieces:
    """The distribution of one column in every component.

    Piece i holds the codes starts[i] up to stops[i] and has probability theta[k, i] in component k. Pieces of the same
    group were measured as one; `noise` is the standard deviation that the measurement's noise gives the group's
    probability. Inside a piece codes are as likely as their weights, or alike where there are none.
    """

    starts: IntArray
    stops: IntArray
    groups: IntArray
    noise: FloatArray
    theta: FloatArray
    weights: CodeWeights | None = None

    def __post_init__(self) -> None:
        count, falling = (
            len(self.starts),
            (self.stops <= self.starts).any() or (self.starts[1:] < self.stops[:-1]).any(),
        )
        if (
            count == 0
            or falling
            or any(len(part) != count for part in (self.stops, self.groups, self.noise, self.theta.T))
        ):
            raise ValueError("pieces must follow each other without overlap")
        if not (np.isfinite(self.noise) & (self.noise >= 0) & (self.noise < _MOST) & (self.groups >= 0)).all():
            raise ValueError("noise and groups must be numbers from 0 on")
        if not (np.isfinite(self.theta).all() and (self.theta >= 0).all() and np.allclose(self.theta.sum(axis=1), 1)):
            raise ValueError("theta must be a distribution in every component")

    @cached_property
    def theta_of_groups(self) -> FloatArray:
        """The probability of each group in every component: asked for once by every other column."""
        return self.by_group(self.theta)

    def by_group(self, values: FloatArray) -> FloatArray:
        """Values of the pieces (rows x pieces) summed over each group."""
        order = np.argsort(self.groups, kind="stable")
        groups = self.groups[order]
        starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
        summed: FloatArray = np.add.reduceat(values[:, order], starts, axis=1)
        return summed

    def place(self, codes: NDArray[np.integer[Any]]) -> tuple[IntArray, FloatArray]:
        """The piece of each code, and how likely the code is in it; 0 outside the pieces."""
        piece = np.searchsorted(self.starts, codes, side="right") - 1
        inside = (piece >= 0) & (codes < self.stops[piece])
        weight = inside * (1.0 if self.weights is None else self.weights.of(codes))
        return piece, weight / self._weight[piece]

    @cached_property
    def _weight(self) -> FloatArray:
        """Of each piece: asked for with every batch."""
        return self.weigh(self.starts, self.stops, keep=False)

    def density(self, codes: NDArray[np.integer[Any]]) -> FloatArray:
        """The probability of each code in every component (rows x components); 0 outside the pieces."""
        piece, share = self.place(codes)
        return self.theta[:, piece].T * share[:, None]

    def add_log_density(self, codes: NDArray[np.integer[Any]], total: FloatArray) -> None:
        """Adds the logarithm of `density` to `total`, of pieces rather than of records where pieces are fewer."""
        if len(self.starts) > len(codes):
            total += np.log(self.density(codes))
            return
        piece, share = self.place(codes)
        of_pieces, of_share = np.ascontiguousarray(np.log(self.theta).T), np.log(share)[:, None]
        for first in range(0, len(codes), _ROWS_AT_ONCE):
            some = slice(first, first + _ROWS_AT_ONCE)
            total[some] += of_pieces.take(piece[some], axis=0, mode="wrap")
            total[some] += of_share[some]

    def weigh(self, starts: IntArray, stops: IntArray, *, keep: bool = True) -> FloatArray:
        """The weight of runs of codes; for `keep` see `CodeWeights.draw`."""
        if self.weights is None:
            return (stops - starts).astype(np.float64)
        return self.weights.between(starts, stops, keep=keep)

    def draw(self, piece: IntArray, rng: np.random.Generator) -> NDArray[np.int32]:
        """A code of each of these pieces."""
        if self._single is not None:
            return self._single.take(piece)
        if len(piece) < _MANY_DRAWS or not AlikeCodes.serves(self):
            return self.draw_one_by_one(piece, rng)
        return AlikeCodes.of(self).draw(piece, rng)

    def draw_one_by_one(self, piece: IntArray, rng: np.random.Generator, *, keep: bool = True) -> NDArray[np.int32]:
        """The same, slowly and without a table; for `keep` see `CodeWeights.draw`."""
        starts, stops = self.starts[piece], self.stops[piece]
        if self.weights is None:
            return rng.integers(starts, stops).astype(np.int32)
        return self.weights.draw(starts, stops, rng, keep=keep).astype(np.int32)

    @cached_property
    def _single(self) -> NDArray[np.int32] | None:
        """The code of every piece, where each has one."""
        return self.starts.astype(np.int32) if (self.stops - self.starts == 1).all() else None

    def parts(self, runs: Runs) -> list[tuple[int, int, int]]:
        """What the runs, which go up, have in common with each piece: start, stop and number of the piece."""
        lows, highs = np.array(runs, dtype=np.int64).reshape(-1, 2).T
        first = np.searchsorted(highs, self.starts, side="right")
        last = np.searchsorted(lows, self.stops, side="left")
        return [
            (max(int(start), int(lows[run])), min(int(stop), int(highs[run])), place)
            for place, (start, stop) in enumerate(zip(self.starts, self.stops, strict=True))
            for run in range(first[place], last[place])
        ]

    def within(self, runs: Runs) -> tuple[FloatArray, "Pieces | None"]:
        """The probability of the codes in `runs` in every component, and the distribution given that they hold."""
        parts = self.parts(runs)
        if not parts:
            return np.zeros(len(self.theta)), None
        starts, stops, places = np.array(sorted(parts)).T
        weight = self.weigh(starts, stops)
        theta = self.theta[:, places] * (weight / self.weigh(self.starts, self.stops)[places])
        mass = theta.sum(axis=1)
        # a component that gives the runs no probability gets weight 0; it still needs some distribution
        given = np.where(mass[:, None] > 0, theta, weight)
        given /= given.sum(axis=1, keepdims=True)
        return mass, Pieces(starts, stops, self.groups[places], self.noise[places], given, self.weights)


@register_model
@dataclass(frozen=True, eq=False, repr=False)
class TableMixture(Model):
    """Component weights, the pieces of every column, the noisy number of records, the labeller if there is one.

    The groups of the target's pieces are the labeller's classes. `ties` holds what the tied columns are drawn from.
    """

    weights: FloatArray
    columns: Mapping[str, Pieces]
    size: float
    labeller: Labeller | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # how it was fitted
    ties: Mapping[str, Tie] = field(default_factory=dict)

    kind: ClassVar = "table-mixture"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all() and np.isclose(self.weights.sum(), 1)):
            raise ValueError("the weights must be a distribution")
        if any(len(pieces.theta) != len(self.weights) for pieces in self.columns.values()):
            raise ValueError("every column needs a distribution for every component")
        if not 0 < self.size < 2**53:
            raise ValueError("the size must be a number of records")
        if self.labeller is not None and self.columns[self.labeller.target].groups.max() >= len(self.labeller.share):
            raise ValueError("the labeller lacks a class of the target")
        if self.labeller is not None and self.labeller.target in self.ties:
            raise ValueError("the target of a labeller cannot be tied")
        check_ties(self.columns, self.ties)

    def sample(self, rows: int, rng: np.random.Generator) -> Batch:
        """Records, as codes; the target is drawn by the labeller where there is one for samples."""
        counts = np.bincount(draw_strata(self.weights[None], np.array([rows]), rng), minlength=len(self.weights))
        order = rng.permutation(rows)
        free = {name: pieces for name, pieces in self.columns.items() if name not in self.ties}
        drawn = draw_all_strata([pieces.theta for pieces in free.values()], counts, rng)
        codes = {name: free[name].draw(piece, rng).take(order) for name, piece in zip(free, drawn, strict=True)}
        for child, tie in self.ties.items():
            place, _ = self.columns[tie.parent].place(codes[tie.parent])
            codes[child] = self._draw_each(replace(self.columns[child], theta=tie.table), place, rng)
        codes = {name: codes[name] for name in self.columns}
        if self.labeller is None or not self.labeller.of_samples:
            return Batch(rows, codes)
        told = self._told(Batch(rows, codes), self.labeller)
        component = np.repeat(np.arange(len(counts)), counts)
        row = told.rows(self.labeller.draw(told.classes, component[order], rng))
        inside = replace(self.columns[self.labeller.target], theta=told.theta)
        target = self._draw_each(inside, row, rng)
        return Batch(rows, {**codes, self.labeller.target: target})

    def pool(self, rows: int, rng: np.random.Generator) -> Batch:
        """Records that a fit looks at, see `draw_pool`."""
        return draw_pool(self, rows, rng)

    def _told(self, batch: Batch, labeller: Labeller) -> Told:
        """What the labeller tells of each record's target, within the rules that name it."""
        inside = self._inside_classes(labeller)
        told = Told(labeller.probabilities(batch), inside.theta, np.zeros(batch.rows, dtype=np.int64))
        if labeller.rules is None:
            return told
        met, pattern = labeller.rules.meet(batch)
        return replace(told, pattern=pattern).within(labeller.rules.allowed(met, inside.starts, inside.stops))

    def _inside_classes(self, labeller: Labeller) -> Pieces:
        """The distribution of the target within each of its classes; a class that nothing is left of is spread out."""
        pieces = self.columns[labeller.target]
        own = pieces.groups == np.arange(len(labeller.share))[:, None]
        theta = np.where(own, self.marginal(labeller.target), 0.0)
        theta[theta.sum(axis=1) <= 0] = 1.0
        return replace(pieces, theta=theta / theta.sum(axis=1, keepdims=True))

    def _draw_each(self, pieces: Pieces, row: IntArray, rng: np.random.Generator) -> NDArray[np.int32]:
        """A code for each record, by the row of theta that it names."""
        if (np.count_nonzero(pieces.theta, axis=1) == 1).all():
            return pieces.draw(pieces.theta.argmax(axis=1).take(row), rng)
        order = np.argsort(row, kind="stable")
        drawn = np.empty(len(row), dtype=np.int32)
        counts = np.bincount(row, minlength=len(pieces.theta))
        drawn[order] = pieces.draw(draw_strata(pieces.theta, counts, rng), rng)
        return drawn

    def log_joint(self, batch: Batch) -> FloatArray:
        """log of weight times probability of each record's codes in every component.

        Columns not given are summed out.
        """
        with np.errstate(divide="ignore"):
            total = np.repeat(np.log(self.weights)[None], batch.rows, axis=0)
            for family in dict.fromkeys(family_of(self.ties, name) for name in batch.codes):
                given = [name for name in family if name in batch.codes]
                if len(given) == 1:
                    self.columns[given[0]].add_log_density(batch.codes[given[0]], total)
                else:
                    total += np.log(family_density(self.columns, self.ties, batch.codes, family))
        return total

    def log_prob(self, batch: Batch) -> FloatArray:
        """log probability of each record's codes; -inf where the model excludes them."""
        return log_sum(self.log_joint(batch))

    def log_density(self, batch: Batch, columns: Mapping[str, Codes]) -> FloatArray:
        """See `Model`."""
        width = sum(np.log(columns[name].width(codes)) for name, codes in batch.codes.items())
        return self.log_prob(batch) - width

    def predict(self, batch: Batch, target: str, codes: Codes) -> FloatArray:
        """See `Model`."""
        pieces, share = self.columns[target], self.conditional(batch, target)
        if isinstance(codes, CategoricalCodec):
            probabilities = np.zeros((batch.rows, codes.size))
            probabilities[:, pieces.starts] = share
            return probabilities
        value, known = piece_values(target, codes, pieces)
        share = share[:, known]
        if (without := share.sum(axis=1) <= 0).any():  # rules may leave a record no value: then it tells nothing
            share[without] = self.marginal(target)[known]
        means: FloatArray = share @ value[known] / share.sum(axis=1)
        return means

    def conditional(self, batch: Batch, name: str) -> FloatArray:
        """The probability of every piece of column `name` given each record's other columns (rows x pieces)."""
        if self.labeller is not None and name == self.labeller.target and self.labeller.knows(batch):
            return self._told(batch, self.labeller).pieces()
        family = family_of(self.ties, name)
        others = Batch(batch.rows, {other: codes for other, codes in batch.codes.items() if other not in family})
        joint = self.log_joint(others)
        total = log_sum(joint)
        # a record that the model excludes tells nothing: the components keep their weights
        known = np.where(np.isfinite(total)[:, None], joint, np.log(np.maximum(self.weights, 1e-300)))
        share = np.exp(known - log_sum(known)[:, None])
        if len(family) == 1:
            return share @ self.columns[name].theta
        relatives = {other: codes for other, codes in batch.codes.items() if other != name}
        parent = parent_given(self.columns, self.ties, share @ self.columns[family[0]].theta, relatives, family)
        left = parent.sum(axis=1, keepdims=True)
        told = np.isfinite(total)[:, None] & (left > 0)
        parent = np.where(told, parent / np.where(told, left, 1.0), self.marginal(family[0]))
        return parent @ self.ties[name].table if name in self.ties else parent

    def class_probabilities(self, batch: Batch, target: str) -> FloatArray:
        """The probability of every group of the target's pieces given each record's other columns (rows x groups)."""
        return self.columns[target].by_group(self.conditional(batch, target))

    def condition(self, given: Sequence[Condition]) -> "TableMixture":
        """See `Model`."""
        return self.restrict([(condition.column, condition.runs) for condition in given])

    def restrict(self, given: Iterable[tuple[str, Runs]]) -> "TableMixture":
        """The same table given that each named column has one of these codes (runs of start, stop). Exact.

        The labeller keeps to the classes of the target that are allowed, each by the share of it that is.
        """
        model = self
        for name, allowed in given:
            made = restrict_family(model.columns, model.ties, name, allowed)
            weights = model.weights * (0.0 if made is None else made[0])
            if made is None or weights.sum() <= 0:
                raise RequestError("the released table gives this condition no probability; ask for a wider one")
            labeller = model.labeller
            if labeller is not None and name == labeller.target:
                labeller = labeller.given(model._inside_classes(labeller).within(allowed)[0])
            model = replace(
                model,
                weights=weights / weights.sum(),
                columns=made[1],
                size=model.size * float(weights.sum()),
                labeller=labeller,
                ties=made[2],
            )
        return model

    def pair(self, first: str, second: str) -> FloatArray:
        """The joint probability of two columns' groups."""
        family = family_of(self.ties, first)
        if first != second and second in family:
            return family_pair(self.columns, self.ties, self.marginal(family[0]), first, second)
        left, right = (self.columns[name].theta_of_groups for name in (first, second))
        return left.T @ (self.weights[:, None] * right)

    def dependence(self, first: str, second: str) -> float:
        """How much one column tells of another, from 0 to 1: sqrt(1 - exp(-2 I)), I their mutual information in nats.

        For two normal variables it is the absolute correlation.
        """
        joint = self.pair(first, second)
        product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        there = joint > 0
        information = float((joint[there] * np.log(joint[there] / product[there])).sum())
        return math.sqrt(max(0.0, 1 - math.exp(-2 * information)))

    def marginal(self, name: str) -> FloatArray:
        """The probability of every piece of a column."""
        return self.weights @ self.columns[name].theta

    def estimate_mean(
        self, column: str, codes: Codes, given: Sequence[Condition], measured: Sequence[Measurement]
    ) -> tuple[float, float, float]:
        """See `Model`."""
        return self._given(column, codes, given, measured).mean()

    def summarise(
        self,
        column: str,
        shares: Sequence[float],
        codes: Codes,
        given: Sequence[Condition],
        measured: Sequence[Measurement],
    ) -> list[tuple[float, float, float]]:
        """See `Model`."""
        asked = self._given(column, codes, given, measured)
        return [asked.mean(), asked.spread(), *map(asked.quantile, shares)]

    def _given(
        self, column: str, codes: Codes, given: Sequence[Condition], measured: Sequence[Measurement]
    ) -> "GivenColumn":
        from sfumato.fitting.models.table_mixture.means import GivenColumn

        return GivenColumn(self, column, codes, given, measured)

    def describe(
        self, column: str, codes: Codes, given: Sequence[Condition] = (), measured: Sequence[Measurement] = ()
    ) -> pa.Table:
        """See `Model`."""
        if not given:
            return marginal_table(self, column, codes)
        from sfumato.fitting.models.table_mixture.means import deviations_of_groups

        model = self.condition(given)
        return marginal_table(model, column, codes, deviations_of_groups(self, model, column, given, measured))

    def cdf(self, column: str, numbers: FloatArray, codes: Codes) -> FloatArray:
        """See `Model`."""
        return pieces_up_to(_measured(column, codes), self.columns[column], self.marginal(column), numbers)

    def quantile(self, column: str, shares: FloatArray, codes: Codes) -> FloatArray:
        """See `Model`."""
        scale = _measured(column, codes)
        low, high = np.full(len(shares), scale.low), np.full(len(shares), scale.high)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            middle = np.floor(middle) if scale.whole else middle
            enough = self.cdf(column, middle, codes) >= shares - 1e-12
            low, high = np.where(enough, low, middle + scale.whole), np.where(enough, middle, high)
        return high

    def distance(self, other: "TableMixture") -> float:
        """See `Model`: the largest total variation of a pair of columns, or of the target of a record.

        A fit takes many steps, so its last digits grow; what it says of the table must not differ.
        """
        if list(self.columns) != list(other.columns) or any(
            not np.array_equal(getattr(pieces, part), getattr(other.columns[name], part))
            for name, pieces in self.columns.items()
            for part in ("starts", "stops", "groups")
        ):
            return 1.0
        if not all(_weigh_alike(pieces, other.columns[name]) for name, pieces in self.columns.items()):
            return 1.0
        if {child: tie.parent for child, tie in self.ties.items()} != {
            child: tie.parent for child, tie in other.ties.items()
        }:
            return 1.0
        names = list(self.columns)
        pairs = [(first, second) for first, second in zip(names, names[1:] + names[:1], strict=True)]
        pairs += [(tie.parent, child) for child, tie in self.ties.items()]
        apart = [np.abs(self.pair(*pair) - other.pair(*pair)).sum() / 2 for pair in pairs]
        apart.append(abs(self.size / other.size - 1))
        if (self.labeller is None) != (other.labeller is None):
            return 1.0
        if self.labeller is not None:
            records = self.pool(_COMPARED, np.random.default_rng(0))
            told = [model.class_probabilities(records, self.labeller.target) for model in (self, other)]
            apart.append(float(np.abs(told[0] - told[1]).sum(axis=1).mean() / 2))
        return float(max(apart))

    def to_parts(self) -> tuple[dict[str, Any], pa.Table]:
        """The model as plain content and one Arrow table with a row for each piece."""
        fields: dict[str, list[Any]] = {key: [] for key in ("column", "start", "stop", "group", "noise", "theta")}
        for name, pieces in self.columns.items():
            fields["column"] += [name] * len(pieces.starts)
            fields["start"] += pieces.starts.tolist()
            fields["stop"] += pieces.stops.tolist()
            fields["group"] += pieces.groups.tolist()
            fields["noise"] += pieces.noise.tolist()
            fields["theta"] += pieces.theta.T.tolist()
        theta = pa.array(fields.pop("theta"), pa.list_(pa.float64(), len(self.weights)))
        table = pa.table({**fields, "theta": theta}, schema=_layout(len(self.weights)))
        content = {
            "kind": self.kind,
            "weights": self.weights.tolist(),
            "size": self.size,
            "code_weights": {
                name: pieces.weights.to_dict() for name, pieces in self.columns.items() if pieces.weights is not None
            },
            "labeller": None if self.labeller is None else self.labeller.to_dict(),
            "settings": dict(self.settings),
        }
        if self.ties:
            content["ties"] = {child: tie.to_dict() for child, tie in self.ties.items()}
        return content, table

    def _must_fit(self, codes: Mapping[str, Codes]) -> None:
        """Refuse a model that is not over the codes of these columns."""
        if list(self.columns) != list(codes):
            raise ValueError("model and schema have different columns")
        if any(pieces.stops[-1] > codes[name].size or pieces.starts[0] < 0 for name, pieces in self.columns.items()):
            raise ValueError("the model has codes that the schema does not have")
        if self.labeller is not None and not self.labeller.fits(codes):
            raise ValueError("the labeller looks at other columns than the schema has")

    @classmethod
    def from_parts(cls, content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]) -> "TableMixture":
        """See `Model`."""
        if content["kind"] != cls.kind or set(content) - {"ties"} != _CONTENT:
            raise ValueError(f"a model of kind {content['kind']!r} is not known to this version; update sfumato")
        weights = np.array(content["weights"], dtype=np.float64)
        if not table.schema.equals(_layout(len(weights))):
            raise ValueError("the pieces of the columns are not stored as they should be")
        column = np.array(table.column("column").to_pylist())
        theta = table.column("theta").combine_chunks().flatten().to_numpy().reshape(-1, len(weights))
        plain = {key: table.column(key).to_numpy() for key in ("start", "stop", "group", "noise")}
        weighed = {name: CodeWeights.from_dict(one, columns[name]) for name, one in content["code_weights"].items()}
        pieces = {}
        for name in dict.fromkeys(column.tolist()):
            at = column == name
            start, stop, group, noise = (part[at] for part in plain.values())
            pieces[name] = Pieces(start, stop, group, noise, theta[at].T, weighed.get(name))
        labeller = None if content["labeller"] is None else Labeller.from_dict(content["labeller"])
        ties = read_ties(content.get("ties", {}), pieces)
        model = cls(weights, pieces, float(content["size"]), labeller, content["settings"], ties)
        model._must_fit(columns)
        return model


def _layout(components: int) -> pa.Schema:
    """How a bundle stores the pieces."""
    plain = [(name, pa.int64()) for name in ("start", "stop", "group")]
    theta = pa.list_(pa.float64(), components)
    return pa.schema([("column", pa.string()), *plain, ("noise", pa.float64()), ("theta", theta)])


def _measured(column: str, codes: Codes) -> NumericCodec:
    if not isinstance(codes, NumericCodec):
        raise RequestError(f"the values of column {column!r} have no order; use marginal")
    return codes


def _weigh_alike(one: Pieces, other: Pieces) -> bool:
    """Whether two columns have the same weights inside their pieces, but for last digits."""
    if one.weights is None or other.weights is None:
        return one.weights is other.weights
    same = np.array_equal(one.weights.starts, other.weights.starts)
    return same and bool(np.allclose(one.weights.rates, other.weights.rates, rtol=1e-6))
