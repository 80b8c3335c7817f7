"""What the `subspace` mechanism releases of a wide table: a Gaussian for each class, in a few of its directions.

On the scales of the columns, from 0 to 1, a record of class c is
    g = means[c] + basis u + e,   u ~ N(centres[c], covs[c]) in r directions,   e ~ N(0, diag(residual))

Without marginals its places are g, set to the bound beyond the bounds. With marginals each column is bent to the
distribution that was measured of it, x = Q(F(g)), see `subspace_marginals`; this restores its variance, so that records
are drawn without e, while densities keep it.

The class of a record is told by its places in the subspace alone, w_c N(whitening'(x - means[c]); centres[c], covs[c]),
and the label of a synthetic record is the likeliest class of what was drawn.

Pictures have a second law, see `aligned`: whole pictures are drawn from it and told by it. The first one is there for
single pixels and for parts of pictures.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition
from sfumato.fitting.models.gaussian_mixture.gaussians import over_normal
from sfumato.fitting.models.logarithms import log_sum
from sfumato.fitting.models.model import Model, register_model
from sfumato.fitting.models.subspace.alignment import AlignedImageModel
from sfumato.fitting.models.subspace.column import Certain, ColumnLaw
from sfumato.fitting.models.subspace.images import DrawnPictures
from sfumato.fitting.models.subspace.laws import Laws, Records
from sfumato.fitting.models.subspace.marginals import CELLS, Marginals
from sfumato.fitting.models.subspace.maths import LowRankGaussians, draw_stratified, log_normals
from sfumato.fitting.models.subspace.parts import arrays_of, fields_of, must_be_sound, to_table
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Codes, NumericCodec
from sfumato.trusted.measurement import Measurement

__all__ = ["CELLS", "SubspaceModel"]

_NUMBERS_AT_ONCE = 1 << 21
_EDGE = 1e-13  # of a scale: less than a whole number takes up, more than rounding
_PROBES = 100  # records at which two models are compared


class _Value(NamedTuple):
    """The one value that a column has been given."""

    code: int
    number: float


class _View(NamedTuple):
    """The classes and values that conditions leave, and the law under them."""

    allowed: NDArray[np.bool_]
    fixed: Mapping[int, _Value]
    law: LowRankGaussians


@register_model
@dataclass(frozen=True, eq=False, repr=False)
class SubspaceModel(Model):
    """Means, directions and covariances of the classes on the scales of the columns; `given` is what has been asked.

    size          the noisy number of records
    whitening     directions (columns x r) along which a record's place in the subspace is read
    mean_sds      standard deviations of the noise in means + basis centres
    marginals     the probability of ten cells of each column, see `subspace_marginals`, or None
    aligned       the law of whole pictures, or None
    count_sd, marginal_sd   standard deviations of the noise in the count of a class and in a probability of a cell
    """

    scales: Mapping[str, NumericCodec]
    target: str | None
    classes: int
    size: float
    weights: FloatArray
    means: FloatArray
    basis: FloatArray
    whitening: FloatArray
    centres: FloatArray
    covs: FloatArray
    residual: FloatArray
    mean_sds: FloatArray
    marginals: FloatArray | None = None
    aligned: AlignedImageModel | None = None
    count_sd: float = 0.0
    marginal_sd: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[Condition, ...] = ()

    kind: ClassVar = "subspace"

    def __post_init__(self) -> None:
        must_be_sound(self)

    @property
    def columns(self) -> list[str]:
        """The columns in the order of the means."""
        return list(self.scales)

    @cached_property
    def _laws(self) -> Laws:
        roots = np.asarray(np.linalg.cholesky(self.covs), dtype=np.float64)
        law = LowRankGaussians(self.weights, self.means, self.basis, self.centres, roots, self.residual)
        scales = tuple(self.scales.values())
        marginals = None if self.marginals is None else Marginals.of(self.marginals, scales)
        return Laws(scales, law, marginals, self.aligned)

    @cached_property
    def _view(self) -> _View:
        return self._viewed(self.given)

    def _viewed(self, given: Sequence[Condition]) -> _View:
        fixed, allowed = dict[int, _Value](), np.ones(self.classes, dtype=np.bool_)
        for condition in given:
            if condition.column == self.target:
                classes = [code for start, stop in condition.runs for code in range(start, stop)]
                allowed &= np.isin(np.arange(self.classes), classes)
            else:
                value = _single_value(condition)
                allowed &= fixed.setdefault(self.columns.index(condition.column), value).code == value.code
        weights = np.where(allowed, self.weights, 0.0)
        records = Records(1, {column: np.array([value.code], dtype=np.int32) for column, value in fixed.items()})
        g = self._laws.gaussian(records)
        if not allowed.any() or not np.isfinite(self._laws.log_units(records, g)).all():
            raise RequestError("the released model gives this condition no probability; ask for a wider one")
        law = replace(self._laws.likely, weights=weights / weights.sum())
        return _View(allowed, fixed, law.given(g[0], records.columns) if fixed else law)

    def condition(self, given: Sequence[Condition]) -> "SubspaceModel":
        """The model given classes and single values of columns, both exact.

        A value that lies on the bound of a column with marginals counts as the middle of that bound's mass. The size is
        that of the classes that are left; a single value of a continuous column has no share of the records, and leaves
        the size as it is.
        """
        both = (*self.given, *given)
        view = self._viewed(both)
        share = float(self.weights[view.allowed].sum() / self.weights[self._view.allowed].sum())
        asked = replace(self, given=both, size=max(self.size * share, 1e-9))
        asked.__dict__.update(_laws=self._laws, _view=view)  # not worked out again
        return asked

    @property
    def class_shares(self) -> FloatArray:
        """The probability of every class."""
        return self._view.law.weights

    @property
    def counts(self) -> FloatArray:
        """The noisy number of records of every class, whatever has been asked."""
        counts: FloatArray = self.size / self.weights[self._view.allowed].sum() * self.weights
        return counts

    def sample(self, rows: int, rng: np.random.Generator) -> Batch:
        """Records, as codes."""
        fixed, law = self._view.fixed, replace(self._view.law, residual=self._laws.drawn.residual)
        if not fixed and (pictures := self._laws.pictures) is not None:
            return self._draw_pictures(pictures, rows, rng)
        owner = draw_stratified(law.weights, rows, rng)
        codes = np.empty((len(self.scales), rows), dtype=np.int32)
        for start in range(0, rows, self._rows_at_once):
            at = slice(start, start + self._rows_at_once)
            g = law.draw(owner[at], rng)
            for j, scale in enumerate(self.scales.values()):
                codes[j, at] = fixed[j].code if j in fixed else scale.codes_at(self._laws.drawn_places(j, g[:, j]))
        batch = Batch(rows, dict(zip(self.scales, codes, strict=True)))
        if self.target is None:
            return batch
        label = self._by_parts(batch, self._class_probabilities).argmax(axis=1).astype(np.int32)
        return Batch(rows, {**batch.codes, self.target: label})

    def _draw_pictures(self, pictures: DrawnPictures, rows: int, rng: np.random.Generator) -> Batch:
        """Whole pictures, each of the class that is likeliest where it was drawn."""
        owner = draw_stratified(self.class_shares, rows, rng)
        codes, label = np.empty((len(self.scales), rows), dtype=np.int32), np.empty(rows, dtype=np.int32)
        for start in range(0, rows, self._rows_at_once):
            at = slice(start, start + self._rows_at_once)
            drawn, told = pictures.draw(owner[at], rng)
            label[at] = self._shares(told + np.log(self.weights)).argmax(axis=1)
            for row, scale, places in zip(codes, self.scales.values(), drawn, strict=True):
                row[at] = scale.codes_at(places)
        batch = dict(zip(self.scales, codes, strict=True))
        return Batch(rows, batch if self.target is None else {**batch, self.target: label})

    @property
    def _rows_at_once(self) -> int:
        return max(1, _NUMBERS_AT_ONCE // len(self.scales))

    def _by_parts(self, batch: Batch, ask: Callable[[Batch], FloatArray]) -> FloatArray:
        """The answers for all records, so many at a time as memory bears."""
        if batch.rows <= self._rows_at_once:
            return ask(batch)
        return np.concatenate([ask(part) for part in batch.parts(self._rows_at_once, batch.codes)])

    def _known(self, batch: Batch, but: str | None = None) -> Records:
        """Records in the columns that they have or that have been given a value, but for one."""
        fixed = {j: np.full(batch.rows, value.code, dtype=np.int32) for j, value in self._view.fixed.items()}
        known = {j: fixed.get(j, batch.codes.get(name)) for j, name in enumerate(self.scales) if name != but}
        return Records(batch.rows, {j: codes for j, codes in known.items() if codes is not None})

    def log_density(self, batch: Batch, columns: Mapping[str, Codes]) -> FloatArray:  # noqa: ARG002
        """The log density of each record, per unit of its columns; columns not given are summed out.

        With marginals: that of the normal scores' copula times the marginals. A value on a bound then has a probability
        of its own, and counts with it, not per unit; its score is that of the middle of this probability.
        """
        return self._by_parts(batch, self._log_density)

    def _log_density(self, batch: Batch) -> FloatArray:
        fixed, scales = self._view.fixed, list(self.scales.values())
        codes = {j: batch.codes[name] for j, name in enumerate(self.scales) if name in batch.codes}
        free = Records(batch.rows, {j: values for j, values in codes.items() if j not in fixed})
        g = self._laws.gaussian(free)
        joint = self._of_known_class(self._view.law.log_joint(g, free.columns), batch)
        density = log_sum(joint) + self._laws.log_units(free, g)
        for j in fixed.keys() & codes.keys():  # a value that is certain is so for its step
            density = np.where(codes[j] == fixed[j].code, density - np.log(scales[j].width(codes[j])), -np.inf)
        return density

    def _of_known_class(self, joint: FloatArray, batch: Batch) -> FloatArray:
        """Records whose class is known belong to no other."""
        if self.target is None or self.target not in batch.codes:
            return joint
        return np.where(np.arange(self.classes) == batch.codes[self.target][:, None], joint, -np.inf)

    def predict(self, batch: Batch, target: str, codes: Codes) -> FloatArray:
        """The probability of every class given each record's other columns, or the mean of a numeric target.

        Where a column has been asked to have a value, this is its value in every record.
        """
        if isinstance(codes, CategoricalCodec):
            return self._by_parts(batch, self._class_probabilities)
        return self._by_parts(batch, lambda part: self._told_mean(part, target))

    def _class_probabilities(self, batch: Batch) -> FloatArray:
        records = self._known(batch)
        if len(records.codes) < len(self.scales):
            return self._shares(self._laws.likely.log_joint(self._laws.places(records), records.columns))
        places = self._laws.places(records)
        if self.aligned is not None:
            return self._shares(self.aligned.log_densities(places) + np.log(self.weights))
        return self._shares(self._log_joint_in_subspace(places))

    def _shares(self, joint: FloatArray) -> FloatArray:
        """What each class has of a record, among those that are left; a record that has none of them tells nothing."""
        left = np.where(self._view.allowed, joint, -np.inf)
        lost = ~np.isfinite(log_sum(left))
        left[lost] = np.log(np.maximum(self.class_shares, 1e-300))
        shares: FloatArray = np.exp(left - log_sum(left)[:, None])
        return shares

    def _log_joint_in_subspace(self, places: FloatArray) -> FloatArray:
        """log of w_c N(whitening'(x - means[c]); centres[c], covs[c]) for every class."""
        start = self.weights @ self.means
        centres = self.centres + (self.means - start) @ self.whitening
        u = (places - start) @ self.whitening
        return log_normals(u, centres, self._laws.likely.roots) + np.log(self.weights)

    def _told_mean(self, batch: Batch, target: str) -> FloatArray:
        """By regression in every class."""
        j = self.columns.index(target)
        if j in self._view.fixed:
            return np.full(batch.rows, self.mean(target))
        records, direction = self._known(batch, but=target), self.basis[j]
        seen = list(self._laws.likely.marginalise(self._laws.gaussian(records), records.columns))
        shares = self._shares(self._of_known_class(np.array([one.log_joint for one in seen]).T, batch))
        means = np.array([mean + one.centres @ direction for mean, one in zip(self.means[:, j], seen, strict=True)]).T
        sds = np.sqrt([((direction @ one.root) ** 2).sum() + self.residual[j] for one in seen])
        value = self.value_at(target)
        each = over_normal(lambda g: value(self._laws.likely_places(j, g)), means, sds)
        return np.asarray((shares * each).sum(axis=1))

    def value_at(self, column: str) -> Callable[[FloatArray], FloatArray]:
        """What a column's value is at places of its scale; a whole number is the middle of its unit."""
        scale = self.scales[column]
        return lambda places: np.clip(scale.number_at(places) - 0.5 * scale.whole, scale.low, scale.high)

    def mean(self, column: str) -> float:
        """The mean of a column, clamped as its values are."""
        return self.law_of(column).mean(self.value_at(column))

    def law_of(self, column: str) -> ColumnLaw | Certain:
        """The law of one column, as records are drawn."""
        j, laws = self.columns.index(column), self._laws
        if j in self._view.fixed:
            scale, number = self.scales[column], self._view.fixed[j].number
            return Certain(float(scale.place_of(np.array([number + 0.5 * scale.whole]))[0]))
        normals = replace(self._view.law, residual=laws.drawn.residual).of_column(j)
        if laws.marginals is None:
            return ColumnLaw(normals)
        scores = laws.drawn_scores.of_column(j) if self.given else None
        return ColumnLaw(normals, laws.marginals.of_column(j), scores)

    def cdf(self, column: str, numbers: FloatArray, codes: Codes) -> FloatArray:  # noqa: ARG002
        """The probability that a column is at or below each number."""
        scale = self.scales[column]
        ends = np.floor(numbers) + 1 if scale.whole else numbers
        place = scale.place_of(np.clip(ends, scale.low, scale.high + scale.whole))
        share = self.law_of(column).up_to(place)
        return np.where(numbers >= scale.high, 1.0, np.where(numbers < scale.low, 0.0, share))

    def quantile(self, column: str, shares: FloatArray, codes: Codes) -> FloatArray:  # noqa: ARG002
        """The number below which each share of the records lies."""
        scale, places = self.scales[column], self.law_of(column).quantile(shares)
        number = np.floor(scale.number_at(places - _EDGE)) if scale.whole else scale.number_at(places)
        return np.clip(number, scale.low, scale.high)

    def estimate_mean(
        self,
        column: str,
        codes: Codes,
        given: Sequence[Condition],
        measured: Sequence[Measurement],  # noqa: ARG002 - the model knows its noise
    ) -> tuple[float, float, float]:
        """See `Model`."""
        from sfumato.fitting.models.subspace.tables import mean_of

        if not isinstance(codes, NumericCodec):
            raise RequestError(f"the values of column {column!r} are no numbers and have no mean; use marginal")
        return mean_of(self.condition(given), column)

    def tabulate_parameters(self, columns: Mapping[str, Codes], level: float) -> pa.Table:
        """See `Model`."""
        from sfumato.fitting.models.subspace.tables import class_means

        return class_means(self, columns, level)

    def describe(
        self,
        column: str,
        codes: Codes,
        given: Sequence[Condition] = (),
        measured: Sequence[Measurement] = (),  # noqa: ARG002
    ) -> pa.Table:
        """See `Model`."""
        from sfumato.fitting.models.subspace.tables import marginal_of

        return marginal_of(self.condition(given), column, codes)

    def dependence(self, first: str, second: str) -> float:
        """How much one column tells of another, from 0 to 1: the absolute correlation, or the correlation ratio."""
        if first == second:
            return 1.0
        law, fixed = self._view.law, self._view.fixed
        columns = [self.columns.index(name) for name in (first, second) if name != self.target]
        if any(j in fixed for j in columns):
            return 0.0
        if len(columns) == 1:
            return math.sqrt(min(1.0, law.between(columns[0]) / law.covariance(columns[0], columns[0])))
        i, j = columns
        return min(1.0, abs(law.covariance(i, j)) / math.sqrt(law.covariance(i, i) * law.covariance(j, j)))

    def distance(self, other: "SubspaceModel") -> float:
        """See `Model`: by Pinsker's inequality from the KL divergence of matching classes; relative for the rest.

        The directions of the subspace may have other signs or be turned: only what they say of records counts.
        """
        mine, theirs = arrays_of(self), arrays_of(other)
        if self.columns != other.columns or self.target != other.target or mine.keys() != theirs.keys():
            return 1.0
        if any(mine[name].shape != theirs[name].shape for name in mine):
            return 1.0
        one, two = self._laws.likely, other._laws.likely
        probes = one.draw(draw_stratified(one.weights, _PROBES, np.random.default_rng(0)), np.random.default_rng(1))
        seen, also = (model._log_joint_in_subspace(probes.astype(np.float64)) for model in (self, other))
        apart = [
            float(np.abs(self.weights - other.weights).sum()),
            math.sqrt(max(float(one.kl(two).max()), 0.0) / 2),
            float((np.abs(seen - also) / (1 + np.abs(seen))).max()),
            *(_relative(getattr(self, name), getattr(other, name)) for name in ("size", "count_sd", "marginal_sd")),
            _relative(self.mean_sds, other.mean_sds),
        ]
        if self.aligned is not None and other.aligned is not None:
            apart.append(self.aligned.distance(other.aligned))
        if self.marginals is not None and other.marginals is not None:
            apart.append(float(np.abs(self.marginals - other.marginals).sum(axis=1).max()) / 2)
        return max(apart)

    def to_parts(self) -> tuple[dict[str, Any], pa.Table]:
        """The model as plain content and one Arrow table: a row for each array, flattened."""
        content = {
            "kind": self.kind,
            "columns": self.columns,
            "target": self.target,
            "classes": self.classes,
            "directions": self.basis.shape[1],
            "size": self.size,
            "count_sd": self.count_sd,
            "marginal_sd": self.marginal_sd,
            "aligned": None if self.aligned is None else self.aligned.to_dict(),
            "settings": dict(self.settings),
        }
        return content, to_table(arrays_of(self))

    @classmethod
    def from_parts(cls, content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]) -> "SubspaceModel":
        """The model that `to_parts` wrote, on the scales of the schema."""
        if content["kind"] != cls.kind:
            raise ValueError(f"a model of kind {content['kind']!r} is not known to this version; update sfumato")
        return cls(**fields_of(content, table, columns))


def _single_value(condition: Condition) -> _Value:
    if condition.low is None or condition.low != condition.high:
        raise RequestError(
            f"a subspace release is conditioned on single values and on classes, and of column {condition.column!r} a "
            "range or several values are asked; sample, and keep the rows that have them"
        )
    return _Value(condition.runs[-1][0], condition.low)  # an atom comes after its step


def _relative(one: FloatArray | float, other: FloatArray | float) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(np.subtract(one, other)).max() / max(float(np.abs(one).max()), 1e-300))
