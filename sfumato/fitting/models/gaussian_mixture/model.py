"""What the `mixture` mechanism releases: Gaussians for every class of the target, on the scales of the columns.

The same release reads in three ways, its actions:
    mixture    one Gaussian for each class, least expected KL(released || data): parameters, and the paper's measure
    wide       one Gaussian for each class, least expected KL(data || released): covers what is uncertain
    detailed   up to three Gaussians for each class where the class has heavy tails: sampling, likelihood, prediction

A draw beyond the bounds of a column is set to the bound, as a record's value was; a whole number takes up its unit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition
from sfumato.fitting.models.gaussian_mixture.gaussians import SLICES, Gaussians, gaussian_kl, over_normal
from sfumato.fitting.models.logarithms import log_sum
from sfumato.fitting.models.model import Model, register_model
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Codes, NumericCodec
from sfumato.trusted.measurement import Measurement

ACTIONS = ("mixture", "wide", "detailed")
_MOST_COMPONENTS = 4096  # that ranges are cut into
_EDGE = 1e-13  # of a scale: less than a whole number takes up, more than rounding
_DRAWS_OF_KL = 100_000
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from what is known of every class's own count, mean and covariance (draws x classes x ...)."""

    counts: FloatArray
    means: FloatArray
    covs: FloatArray

    def __post_init__(self) -> None:
        draws, classes, columns = self.means.shape
        if self.counts.shape != (draws, classes) or self.covs.shape != (draws, classes, columns, columns):
            raise ValueError("every draw needs a count, a mean and a covariance of every class")
        if not all(np.isfinite(part).all() for part in (self.counts, self.means, self.covs)) or self.counts.min() <= 0:
            raise ValueError("draws must be finite and counts above 0")
        if np.linalg.eigvalsh(self.covs).min() < -1e-9:
            raise ValueError("a covariance must not be negative in any direction")


class _View(NamedTuple):
    """The mixture under a condition: what values and classes leave, the ranges, and the share of the records."""

    core: Gaussians
    ranges: Mapping[int, tuple[float, float]]
    points: frozenset[str]  # columns that have single values
    sliced: Gaussians
    share: float
    inside: float  # probability of the ranges given the rest

    def cut(self, places: FloatArray, column: int) -> FloatArray:
        """Places of a column within the range that has been asked of it."""
        low, high = self.ranges.get(column, (-math.inf, math.inf))
        return np.clip(places, low + _EDGE, high - _EDGE)

    def marginalise(self, columns: IntArray) -> tuple[Gaussians, float]:
        """The mixture in which only the ranges of other columns are cut into slices; and their log probability."""
        others = {j: span for j, span in self.ranges.items() if j not in columns}
        sliced, inside = (self.sliced, self.inside) if others == self.ranges else _sliced(self.core, others)
        return sliced, math.log(inside)


@register_model
@dataclass(frozen=True, eq=False, repr=False)
class GaussianMixture(Model):
    """Gaussians by action, the posterior's draws, and the schema's scales; `given` is what has been asked of it."""

    scales: Mapping[str, NumericCodec]
    target: str | None
    classes: int
    size: float
    actions: Mapping[str, Gaussians]
    draws: Draws
    action: str = "mixture"
    settings: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[Condition, ...] = ()

    kind: ClassVar = "gaussian-mixture"

    def __post_init__(self) -> None:
        columns = len(self.scales)
        if set(self.actions) != set(ACTIONS) or self.action not in ACTIONS:
            raise ValueError(f"a Gaussian mixture has the actions {', '.join(ACTIONS)}")
        if any(one.means.shape[1] != columns or one.owner.max() >= self.classes for one in self.actions.values()):
            raise ValueError("every component needs a mean for every column and a class of the target")
        if any(not np.array_equal(np.sort(self.actions[one].owner), np.arange(self.classes)) for one in ACTIONS[:2]):
            raise ValueError("mixture and wide have one Gaussian for each class")
        if self.draws.means.shape[1:] != (self.classes, columns) or not 0 < self.size < 2**53:
            raise ValueError("draws and size must fit the classes and columns")
        if not (self.draws.counts < 2**53).all():
            raise ValueError("the counts of a draw must be numbers of records")

    @property
    def columns(self) -> list[str]:
        """The columns in the order of the means."""
        return list(self.scales)

    @property
    def gaussians(self) -> Gaussians:
        """The components of the chosen action under the condition."""
        return self._view.sliced

    @cached_property
    def _view(self) -> _View:
        return _viewed(self, self.actions[self.action])

    def choose_estimate(self, name: str) -> "GaussianMixture":
        """See `Model`."""
        if name not in ACTIONS:
            raise RequestError(f"the estimate is {name!r}; use one of {', '.join(ACTIONS)}")
        return replace(self, action=name)

    def condition(self, given: Sequence[Condition]) -> "GaussianMixture":
        """The mixture given a condition: a value is exact, a range is cut into up to 32 slices."""
        conditioned = replace(self, given=(*self.given, *given))
        share = conditioned._view.share / max(self._view.share, 1e-300)  # without probability: refused now
        return replace(conditioned, size=min(max(self.size * share, 1e-9), self.size))

    def sample(self, rows: int, rng: np.random.Generator) -> Batch:
        """Records, as codes."""
        places, label = self.gaussians.sample(rows, rng)
        codes = {
            name: scale.codes_at(self._view.cut(places[:, j], j)) for j, (name, scale) in enumerate(self.scales.items())
        }
        if self.target is not None:
            codes[self.target] = label.astype(np.int32)
        return Batch(rows, codes)

    def log_density(self, batch: Batch, columns: Mapping[str, Codes]) -> FloatArray:  # noqa: ARG002
        """The log density of each record, per unit of its columns; columns not given are summed out."""
        places, at = self._places(batch)
        gaussians, inside = self._view.marginalise(at)
        joint = gaussians.log_joint(places, at)
        if self.target is not None and self.target in batch.codes:
            joint = np.where(gaussians.owner == batch.codes[self.target][:, None], joint, -np.inf)
        density = log_sum(joint) + inside - math.log(self._view.inside)
        for condition in self.given:
            if condition.column in batch.codes:
                code = batch.codes[condition.column][:, None]
                starts, stops = np.array(condition.runs).T
                density = np.where(((starts <= code) & (code < stops)).any(axis=1), density, -np.inf)
        for name, scale in self.scales.items():
            if name in batch.codes:
                codes = batch.codes[name]
                # a value that is certain is so for its step
                density = density + np.log(1 / scale.width(codes) if name in self._view.points else scale.slope(codes))
        return density

    def _places(self, batch: Batch) -> tuple[FloatArray, IntArray]:
        """The places of each record (records x columns) in the columns that it has, and which these are."""
        names = [name for name in self.scales if name in batch.codes]
        places = np.empty((batch.rows, len(names)))
        for j, name in enumerate(names):
            places[:, j] = self.scales[name].places[batch.codes[name]]
        return places, np.array([self.columns.index(name) for name in names], dtype=np.int64)

    def predict(self, batch: Batch, target: str, codes: Codes) -> FloatArray:
        """The probability of every class given each record's other columns, or the mean of a numeric target."""
        rest = Batch(batch.rows, {name: values for name, values in batch.codes.items() if name != target})
        places, at = self._places(rest)
        gaussians, _ = self._view.marginalise(at)
        if isinstance(codes, CategoricalCodec):
            return gaussians.class_probabilities(places, at, self.classes)
        column = self.columns.index(target)
        share, means, sds = gaussians.conditionals(places, at, column)
        return np.asarray((share * self._mean(target, means, sds)).sum(axis=1))

    def mean(self, column: str) -> float:
        """The mean of a column, clamped as its values are."""
        gaussians, j = self.gaussians, self.columns.index(column)
        return float(gaussians.weights @ self._mean(column, gaussians.means[:, j], gaussians.sds[:, j]))

    def _mean(self, column: str, means: FloatArray, sds: FloatArray) -> FloatArray:
        """The mean value of a column for Gaussians on its scale; a whole number is the middle of its unit."""
        scale, j = self.scales[column], self.columns.index(column)

        def value(places: FloatArray) -> FloatArray:
            number = scale.number_at(np.clip(self._view.cut(places, j), 0.0, 1.0)) - 0.5 * scale.whole
            return np.clip(number, scale.low, scale.high)

        return over_normal(value, means, sds)

    def cdf(self, column: str, numbers: FloatArray, codes: Codes) -> FloatArray:  # noqa: ARG002
        """The probability that a column is at or below each number."""
        scale = self.scales[column]
        ends = np.floor(numbers) + 1 if scale.whole else numbers
        place = scale.place_of(np.clip(ends, scale.low, scale.high + scale.whole))
        share = self.up_to(column, place)
        return np.where(numbers >= scale.high, 1.0, np.where(numbers < scale.low, 0.0, share))

    def up_to(self, column: str, places: FloatArray) -> FloatArray:
        """The probability that a column lies at or below each place."""
        j = self.columns.index(column)
        low, high = self._view.ranges.get(j, (-math.inf, math.inf))
        share = self.gaussians.cdf(j, places)
        return np.where(places >= high - _EDGE, 1.0, np.where(places <= low + _EDGE, 0.0, share))

    def quantile(self, column: str, shares: FloatArray, codes: Codes) -> FloatArray:  # noqa: ARG002
        """The number below which each share of the records lies."""
        scale, j = self.scales[column], self.columns.index(column)
        number = scale.number_at(self._view.cut(self.gaussians.quantile(j, shares), j))
        return np.clip(np.floor(number) if scale.whole else number, scale.low, scale.high)

    def estimate_mean(
        self,
        column: str,
        codes: Codes,
        given: Sequence[Condition],
        measured: Sequence[Measurement],  # noqa: ARG002 - the model knows its noise
    ) -> tuple[float, float, float]:
        """See `Model`."""
        from sfumato.fitting.models.gaussian_mixture.tables import mean_of

        if not isinstance(codes, NumericCodec):
            raise RequestError(f"the values of column {column!r} are no numbers and have no mean; use marginal")
        return mean_of(self.condition(given), column)

    def tabulate_parameters(self, columns: Mapping[str, Codes], level: float) -> pa.Table:
        """See `Model`."""
        from sfumato.fitting.models.gaussian_mixture.tables import parameter_table

        return parameter_table(self, columns, level)

    def describe(
        self,
        column: str,
        codes: Codes,
        given: Sequence[Condition] = (),
        measured: Sequence[Measurement] = (),  # noqa: ARG002
    ) -> pa.Table:
        """See `Model`."""
        from sfumato.fitting.models.gaussian_mixture.tables import marginal_of

        return marginal_of(self.condition(given), column, codes)

    def dependence(self, first: str, second: str) -> float:
        """How much one column tells of another, from 0 to 1: the absolute correlation, or the correlation ratio."""
        if first == second:
            return 1.0
        if self.target in (first, second):
            return self._ratio(first if second == self.target else second)
        _, cov = self.gaussians.moments()
        i, j = self.columns.index(first), self.columns.index(second)
        return float(min(1.0, abs(cov[i, j]) / math.sqrt(max(cov[i, i] * cov[j, j], 1e-300))))

    def _ratio(self, column: str) -> float:
        """How much of a column's spread lies between the classes, as a correlation."""
        gaussians, j = self.gaussians, self.columns.index(column)
        mean, cov = gaussians.moments()
        weights = gaussians.by_class(self.classes)
        sums = np.bincount(gaussians.owner, weights=gaussians.weights * gaussians.means[:, j], minlength=self.classes)
        centres = sums / np.maximum(weights, 1e-300)
        between = float(weights @ (centres - mean[j]) ** 2)
        return math.sqrt(min(1.0, between / max(float(cov[j, j]), 1e-300)))

    def kl(self, other: Model) -> float:
        """KL(this || other) in nats; exact where both have one Gaussian for each class, else the mean over draws."""
        if not isinstance(other, GaussianMixture):
            return other.kl(self)  # says that it is none
        if dict(self.scales) != dict(other.scales) or self.columns != other.columns:
            raise RequestError("the two releases have different columns or scales; both need the same schema")
        if self.target != other.target or self.classes != other.classes:
            raise RequestError("the two releases have different targets or classes; both need the same schema")
        rng, mine, theirs = np.random.default_rng(0), self._view, other._view
        if not mine.ranges and not theirs.ranges:
            return mine.core.kl(theirs.core, rng)
        places, label = mine.sliced.sample(_DRAWS_OF_KL, rng)
        for j in mine.ranges:
            places[:, j] = mine.cut(places[:, j], j)
        inside = np.array([(theirs.cut(places[:, j], j) == places[:, j]).all() for j in theirs.ranges])
        if not inside.all():
            return math.inf
        apart = mine.core.log_density(places, label) - theirs.core.log_density(places, label)
        return float(apart.mean()) - math.log(mine.inside) + math.log(theirs.inside)

    def distance(self, other: "GaussianMixture") -> float:
        """See `Model`: by Pinsker's inequality from the KL divergence of matching components, over all actions.

        Of the draws the quartiles count, in units of ten times what lies between them: other digits may turn a few.
        """
        if self.columns != other.columns or self.target != other.target or self.classes != other.classes:
            return 1.0
        apart = [abs(self.size / other.size - 1)]
        for action, mine in self.actions.items():
            theirs = other.actions[action]
            if not np.array_equal(mine.owner, theirs.owner):
                return 1.0
            apart.append(float(np.abs(mine.weights - theirs.weights).sum()))
            apart += [
                math.sqrt(max(gaussian_kl(*one, *two), 0.0) / 2)
                for one, two in zip(
                    zip(mine.means, mine.covs, strict=True), zip(theirs.means, theirs.covs, strict=True), strict=True
                )
            ]
        if self.draws.counts.shape != other.draws.counts.shape:
            return 1.0
        for part in ("counts", "means", "covs"):
            one, two = (np.quantile(getattr(model.draws, part), _QUARTILES, axis=0) for model in (self, other))
            apart.append(float((np.abs(one - two) / (one[2] - one[0] + 1e-9)).max()) / 10)
        return max(apart)

    def to_parts(self) -> tuple[dict[str, Any], pa.Table]:
        """The model as plain content and one Arrow table: a row for each component, then for each draw and class."""
        draws, classes = self.draws.counts.shape
        rows = [(action, one.owner, one.weights, one.means, one.covs) for action, one in self.actions.items()]
        means, covs = (part.reshape(draws * classes, *part.shape[2:]) for part in (self.draws.means, self.draws.covs))
        rows.append(("draw", np.tile(np.arange(classes), draws), self.draws.counts.ravel(), means, covs))
        i, j = np.triu_indices(len(self.scales))
        means = np.concatenate([row[3] for row in rows])
        covs = np.concatenate([row[4] for row in rows])[:, i, j]
        table = pa.table(
            {
                "part": [name for name, owner, *_ in rows for _ in owner],
                "class": np.concatenate([row[1] for row in rows]),
                "weight": np.concatenate([row[2] for row in rows]),
                "mean": pa.FixedSizeListArray.from_arrays(means.ravel(), means.shape[1]),
                "covariance": pa.FixedSizeListArray.from_arrays(covs.ravel(), covs.shape[1]),
            }
        )
        content = {
            "kind": self.kind,
            "columns": self.columns,
            "target": self.target,
            "classes": self.classes,
            "size": self.size,
            "action": self.action,
            "settings": dict(self.settings),
        }
        return content, table

    @classmethod
    def from_parts(cls, content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]) -> "GaussianMixture":
        """The model that `to_parts` wrote, on the scales of the schema."""
        known = {"kind", "columns", "target", "classes", "size", "action", "settings"}
        if content["kind"] != cls.kind or set(content) != known:
            raise ValueError(f"a model of kind {content['kind']!r} is not known to this version; update sfumato")
        names, classes = content["columns"], int(content["classes"])
        scales = {name: codes for name, codes in columns.items() if isinstance(codes, NumericCodec)}
        listed = None if content["target"] is None else columns[content["target"]]
        if list(scales) != names or [*names, *([] if listed is None else [content["target"]])] != sorted(
            columns, key=lambda name: name == content["target"] and listed is not None
        ):
            raise ValueError("the model has other columns than the schema")
        if classes != (listed.size if isinstance(listed, CategoricalCodec) else classes):
            raise ValueError("the model has other classes than the schema")
        part = np.array(table.column("part").to_pylist())
        owner, weight = table.column("class").to_numpy(), table.column("weight").to_numpy()
        if set(part.tolist()) != {*ACTIONS, "draw"} or owner.dtype.kind != "i" or weight.dtype.kind != "f":
            raise ValueError("a row of the model is a component of an action or a draw, with its class and weight")
        means = _wide(table, "mean", len(names))
        covs = _symmetric(_wide(table, "covariance", len(names) * (len(names) + 1) // 2), len(names))
        actions = {
            action: Gaussians(
                owner[part == action], weight[part == action], means[part == action], covs[part == action]
            )
            for action in ACTIONS
        }
        at = part == "draw"
        shape = (int(at.sum()) // classes, classes)
        if not np.array_equal(owner[at], np.tile(np.arange(classes), shape[0])):
            raise ValueError("every draw needs all classes in order")
        draws = Draws(
            weight[at].reshape(shape),
            means[at].reshape(*shape, len(names)),
            covs[at].reshape(*shape, len(names), len(names)),
        )
        return cls(
            scales,
            content["target"],
            classes,
            float(content["size"]),
            actions,
            draws,
            content["action"],
            content["settings"],
        )


def _wide(table: pa.Table, name: str, size: int) -> FloatArray:
    values: FloatArray = table.column(name).combine_chunks().flatten().to_numpy().reshape(-1, size)
    return values


def _symmetric(triangles: FloatArray, columns: int) -> FloatArray:
    i, j = np.triu_indices(columns)
    covs = np.zeros((len(triangles), columns, columns))
    covs[:, i, j] = covs[:, j, i] = triangles
    return covs


def _viewed(model: GaussianMixture, gaussians: Gaussians) -> _View:
    """The mixture under everything that has been asked, in order: classes, values, ranges."""
    share, ranges, points = 1.0, dict[int, tuple[float, float]](), set()
    for condition in sorted(model.given, key=lambda one: one.column != model.target):
        if condition.column == model.target:
            allowed = np.isin(gaussians.owner, [code for start, stop in condition.runs for code in range(start, stop)])
            share *= float(gaussians.weights[allowed].sum())
            gaussians = gaussians.chosen(np.where(allowed, gaussians.weights, 0.0))
            continue
        scale, j = model.scales[condition.column], model.columns.index(condition.column)
        span = _range(condition, scale)
        if span is not None:
            low, high = ranges.get(j, span)
            ranges[j] = max(low, span[0]), min(high, span[1])
            continue
        codes = np.array([start for start, _ in condition.runs])
        gaussians, log_share = gaussians.given_points(j, scale.places[codes], _step_widths(scale, codes))
        share *= math.exp(min(log_share, 0.0))
        points.add(condition.column)
    sliced, inside = _sliced(gaussians, ranges)
    return _View(gaussians, ranges, frozenset(points), sliced, share * inside, inside)


def _step_widths(scale: NumericCodec, codes: IntArray) -> FloatArray:
    """How much of the scale the step of each code takes up; an atom counts as its step."""
    atoms = np.array(scale.atoms)[np.maximum(codes - scale.steps, 0)] if scale.atoms else np.zeros(len(codes))
    step = np.where(codes < scale.steps, codes, scale.steps_of(atoms))
    width: FloatArray = scale.place_of(scale.ends(step + 1)) - scale.place_of(scale.ends(step))
    return width


def _sliced(gaussians: Gaussians, ranges: Mapping[int, tuple[float, float]]) -> tuple[Gaussians, float]:
    """The mixture given ranges of columns, and their probability. The more ranges, the fewer slices has each."""
    inside = 1.0
    slices = int(min((_MOST_COMPONENTS / len(gaussians.weights)) ** (1 / max(len(ranges), 1)), SLICES))
    for j, (low, high) in sorted(ranges.items()):
        inside *= max(float(gaussians.weights @ gaussians.mass(j, low, high)), 1e-300)
        gaussians = gaussians.given_range(j, low, high, max(slices, 1))
    return gaussians, inside


def _range(condition: Condition, scale: NumericCodec) -> tuple[float, float] | None:
    """The range of places that a condition asks for, open where it reaches a bound; None: single values."""
    if condition.low is None or condition.high is None or condition.low == condition.high:
        return None
    low, high = scale.place_of(np.array([condition.low, condition.high + scale.whole]))
    return -math.inf if condition.low <= scale.low else float(low), (
        math.inf if condition.high >= scale.high else float(high)
    )
