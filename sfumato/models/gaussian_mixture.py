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
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.conditions import Condition
from sfumato.encoding import Batch, Codes, Listed, Measured
from sfumato.errors import RequestError
from sfumato.models.gaussians import FloatArray, Gaussians, IntArray, gaussian_kl, log_sum

ACTIONS = ("mixture", "wide", "detailed")


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


class _View(NamedTuple):
    """The mixture under a condition: what values and classes leave, the ranges, and the share of the records."""

    core: Gaussians
    ranges: tuple[tuple[int, float, float], ...]
    sliced: Gaussians
    share: float
    inside: float  # probability of the ranges given the rest


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """Gaussians by action, the posterior's draws, and the schema's scales; `given` is what has been asked of it."""

    scales: Mapping[str, Measured]
    target: str | None
    classes: int
    size: float
    actions: Mapping[str, Gaussians]
    draws: Draws
    action: str = "mixture"
    settings: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[Condition, ...] = ()

    kind = "gaussian-mixture"

    def __post_init__(self) -> None:
        columns = len(self.scales)
        if set(self.actions) != set(ACTIONS) or self.action not in ACTIONS:
            raise ValueError(f"a Gaussian mixture has the actions {', '.join(ACTIONS)}")
        if any(one.means.shape[1] != columns or one.owner.max() >= self.classes for one in self.actions.values()):
            raise ValueError("every component needs a mean for every column and a class of the target")
        if self.draws.means.shape[1:] != (self.classes, columns) or not 0 < self.size < 2**53:
            raise ValueError("draws and size must fit the classes and columns")

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

    def acting(self, action: str) -> "GaussianMixture":
        """The same release read another way."""
        if action not in ACTIONS:
            raise RequestError(f"action is {action!r}; use one of {', '.join(ACTIONS)}")
        return replace(self, action=action)

    def given_that(self, given: Sequence[Condition]) -> "GaussianMixture":
        """The mixture given a condition: a value is exact, a range is cut into 32 slices."""
        conditioned = replace(self, given=(*self.given, *given))
        view = conditioned._view  # a condition without probability is refused now
        return replace(conditioned, size=max(self.size * view.share, 1e-9))

    def sample(self, rows: int, rng: np.random.Generator) -> Batch:
        """Records, as codes."""
        places, label = self.gaussians.sample(rows, rng)
        codes = {name: scale.codes_at(places[:, j]) for j, (name, scale) in enumerate(self.scales.items())}
        if self.target is not None:
            codes[self.target] = label.astype(np.int32)
        return Batch(rows, codes)

    def log_density(self, batch: Batch, columns: Mapping[str, Codes]) -> FloatArray:  # noqa: ARG002
        """The log density of each record, per unit of its columns; columns not given are summed out."""
        view = self._view
        places, at = self._places(batch)
        whole = {j for j, _, _ in view.ranges} <= set(at.tolist())
        joint = (view.core if whole else view.sliced).log_joint(places, at)
        if self.target is not None and self.target in batch.codes:
            owner = (view.core if whole else view.sliced).owner
            joint = np.where(owner == batch.codes[self.target][:, None], joint, -np.inf)
        density = log_sum(joint) - (math.log(view.inside) if whole else 0.0)
        for j, low, high in view.ranges if whole else ():
            value = places[:, at.tolist().index(j)]
            density = np.where((value >= low) & (value <= high), density, -np.inf)
        slopes = [self.scales[name].slope(codes) for name, codes in batch.codes.items() if name in self.scales]
        return density + sum(np.log(slope) for slope in slopes)

    def _places(self, batch: Batch) -> tuple[FloatArray, IntArray]:
        """The places of each record (records x columns) in the columns that it has, and which these are."""
        names = [name for name in self.scales if name in batch.codes]
        places = np.empty((batch.rows, len(names)))
        for j, name in enumerate(names):
            places[:, j] = self.scales[name].places[batch.codes[name]]
        return places, np.array([self.columns.index(name) for name in names], dtype=np.int64)

    def told(self, batch: Batch, target: str, codes: Codes) -> FloatArray:
        """The probability of every class given each record's other columns, or the mean of a numeric target."""
        rest = Batch(batch.rows, {name: values for name, values in batch.codes.items() if name != target})
        places, at = self._places(rest)
        whole = {j for j, _, _ in self._view.ranges} <= set(at.tolist())
        gaussians = self._view.core if whole else self._view.sliced
        if isinstance(codes, Listed):
            return gaussians.class_probabilities(places, at, self.classes)
        scale = self.scales[target]
        place = gaussians.told(places, at, self.columns.index(target)).clip(0.0, 1.0)
        return np.clip(scale.number_at(place) - 0.5 * scale.whole, scale.low, scale.high)

    def cdf(self, column: str, numbers: FloatArray, codes: Codes) -> FloatArray:  # noqa: ARG002
        """The probability that a column is at or below each number."""
        scale = self.scales[column]
        ends = np.floor(numbers) + 1 if scale.whole else numbers
        place = scale.place_of(np.clip(ends, scale.low, scale.high + scale.whole))
        share = self.gaussians.cdf(self.columns.index(column), place)
        return np.where(numbers >= scale.high, 1.0, np.where(numbers < scale.low, 0.0, share))

    def quantile(self, column: str, shares: FloatArray, codes: Codes) -> FloatArray:  # noqa: ARG002
        """The number below which each share of the records lies."""
        scale = self.scales[column]
        number = scale.number_at(self.gaussians.quantile(self.columns.index(column), shares))
        return np.clip(np.floor(number) if scale.whole else number, scale.low, scale.high)

    def described(self, column: str, codes: Codes) -> pa.Table:
        """See `Model`."""
        from sfumato.models.gaussian_tables import marginal_of

        return marginal_of(self, column, codes)

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

    def kl(self, other: "GaussianMixture") -> float:
        """KL(this || other) in nats; exact where both have one Gaussian for each class."""
        if self.columns != other.columns or self.target != other.target or self.classes != other.classes:
            raise RequestError("the two releases have different columns or classes")
        return self.gaussians.kl(other.gaussians, np.random.default_rng(0))

    def distance(self, other: "GaussianMixture") -> float:
        """See `Model`: by Pinsker's inequality from the KL divergence of matching components, over all actions."""
        if self.columns != other.columns or self.classes != other.classes:
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
        spread = self.draws.means.std(axis=0) + 1e-9
        apart.append(
            float((np.abs(self.draws.means.mean(axis=0) - other.draws.means.mean(axis=0)) / spread).max()) / 10
        )
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
        scales = {name: codes for name, codes in columns.items() if isinstance(codes, Measured)}
        listed = None if content["target"] is None else columns[content["target"]]
        if list(scales) != names or [*names, *([] if listed is None else [content["target"]])] != sorted(
            columns, key=lambda name: name == content["target"] and listed is not None
        ):
            raise ValueError("the model has other columns than the schema")
        if classes != (listed.size if isinstance(listed, Listed) else classes):
            raise ValueError("the model has other classes than the schema")
        part = np.array(table.column("part").to_pylist())
        owner, weight = table.column("class").to_numpy(), table.column("weight").to_numpy()
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
    share, ranges = 1.0, []
    for condition in sorted(model.given, key=lambda one: one.column != model.target):
        if condition.column == model.target:
            allowed = np.isin(gaussians.owner, [code for start, stop in condition.runs for code in range(start, stop)])
            share *= float(gaussians.weights[allowed].sum())
            gaussians = gaussians.chosen(np.where(allowed, gaussians.weights, 0.0))
            continue
        scale, j = model.scales[condition.column], model.columns.index(condition.column)
        span = _range(condition, scale)
        if span is not None:
            ranges.append((j, *span))
            continue
        codes = np.array([start for start, _ in condition.runs])
        gaussians, density = gaussians.given_points(j, scale.places[codes])
        share *= math.exp(min(density, 50.0)) * float(np.diff(scale.place_of(scale.ends(np.array([0, 1]))))[0])
    sliced, inside = gaussians, 1.0
    for j, low, high in ranges:
        inside *= max(float(sliced.weights @ sliced.mass(j, low, high)), 1e-300)
        sliced = sliced.given_range(j, low, high)
    return _View(gaussians, tuple(ranges), sliced, min(share, 1.0) * inside, inside)


def _range(condition: Condition, scale: Measured) -> tuple[float, float] | None:
    """The range of places that a condition asks for, open where it reaches a bound; None: single values."""
    if condition.low is None or condition.high is None or condition.low == condition.high:
        return None
    low, high = scale.place_of(np.array([condition.low, condition.high + scale.whole]))
    return -math.inf if condition.low <= scale.low else float(low), (
        math.inf if condition.high >= scale.high else float(high)
    )
