"""What a record's other columns forbid its target to be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.support.support import in_runs, kinds_of
from sfumato.trusted.arrays import BoolArray, FloatArray, IntArray
from sfumato.trusted.encoding import Batch, Codes
from sfumato.trusted.schema.schema import Combination, Runs

_MOST = 1 << 20  # runs of all combinations


@dataclass(frozen=True, eq=False)
class TargetRules:
    """The forbidden combinations that name the target."""

    target: str
    forbidden: tuple[Combination, ...]

    def __post_init__(self) -> None:
        if not all(self.target in rule and all(map(_rising, rule.values())) for rule in self.forbidden):
            raise ValueError("rules on a target name it, and the runs of their codes go up")

    @classmethod
    def of(cls, target: str, forbidden: Iterable[Combination]) -> "TargetRules | None":
        """Those of these combinations that name the target; None where there are none."""
        rules = tuple(rule for rule in forbidden if target in rule)
        return cls(target, rules) if rules else None

    @cached_property
    def columns(self) -> Mapping[str, "_Stretches"]:
        """The other columns that they name, each by the rules that its codes are in."""
        names = sorted({name for rule in self.forbidden for name in rule} - {self.target})
        return {name: _Stretches.of([rule.get(name) for rule in self.forbidden]) for name in names}

    def fits(self, codes: Mapping[str, Codes]) -> bool:
        """Whether they are about these codes."""
        named = [part for rule in self.forbidden for part in rule.items()]
        return all(name in codes and runs[-1][1] <= codes[name].size for name, runs in named)

    def meet(self, batch: Batch) -> tuple[BoolArray, IntArray]:
        """Which of the rules some record's other columns meet (patterns x rules), and the pattern of each record."""
        met = np.ones((1, len(self.forbidden)), dtype=bool)
        pattern = np.zeros(batch.rows, dtype=np.int64)
        for name, column in self.columns.items():
            kinds = len(column.rules)
            there, pattern = np.unique(pattern * kinds + column.kinds_of(batch.codes[name]), return_inverse=True)
            met = met[there // kinds] & column.rules[there % kinds]
        return met, pattern

    def allowed(self, met: BoolArray, starts: IntArray, stops: IntArray) -> BoolArray:
        """Whether each pattern allows each interval of the target's codes (patterns x intervals).

        All of them, where it allows none: such a record's other columns are forbidden themselves, and tell nothing.
        """
        hit = np.array([_overlap(rule[self.target], starts, stops) for rule in self.forbidden])
        forbidden: BoolArray = met.astype(np.float32) @ hit.astype(np.float32) > 0
        return ~forbidden | forbidden.all(axis=1, keepdims=True)

    def to_list(self) -> list[Any]:
        """Plain content: of every rule the names of its columns, each with its runs."""
        return [[[name, [list(run) for run in runs]] for name, runs in rule.items()] for rule in self.forbidden]

    @classmethod
    def from_list(cls, content: Any, target: str) -> "TargetRules":
        """The rules that `to_list` wrote."""
        try:
            rules = tuple({str(name): tuple((low, up) for low, up in runs) for name, runs in rule} for rule in content)
        except TypeError:
            raise ValueError("rules on a target are lists of columns and their runs") from None
        if not rules or sum(len(runs) for rule in rules for runs in rule.values()) > _MOST:
            raise ValueError("there are no rules on the target, or too many")
        return cls(target, rules)


def _rising(runs: Any) -> bool:
    edges = [edge for run in runs for edge in run]
    whole = len(edges) > 0 and all(type(edge) is int for edge in edges)
    return whole and edges[0] >= 0 and edges == sorted(edges) and all(start < stop for start, stop in runs)


def _overlap(runs: Runs, starts: IntArray, stops: IntArray) -> BoolArray:
    """Whether each interval of codes has one in common with the runs."""
    lows, highs = np.array(runs, dtype=np.int64).T
    met: BoolArray = np.searchsorted(highs, starts, side="right") < np.searchsorted(lows, stops, side="left")
    return met


@dataclass(frozen=True, eq=False)
class _Stretches:
    """Where stretches of a column's codes begin that are in the same rules: their kind, and the rules of each kind."""

    starts: IntArray
    kind: IntArray
    rules: BoolArray  # kinds x rules

    @classmethod
    def of(cls, contained: Sequence[Runs | None]) -> "_Stretches":
        """Of the codes that each rule contains; None: all."""
        starts = np.unique([0, *(edge for runs in contained for run in runs or () for edge in run)])
        whole = np.ones(len(starts), dtype=bool)
        inside = np.array([whole if runs is None else in_runs(runs, starts) for runs in contained])
        kind = kinds_of(inside)
        return cls(starts, kind, inside[:, np.unique(kind, return_index=True)[1]].T)

    def kinds_of(self, codes: NDArray[np.integer[Any]]) -> IntArray:
        """The kind of each code."""
        return self.kind[np.searchsorted(self.starts, codes, side="right") - 1]


@dataclass(frozen=True, eq=False)
class Told:
    """What is told of each record's target: its class, and where in it, by the pattern of rules that it meets."""

    classes: FloatArray  # records x classes
    theta: FloatArray  # patterns * classes x pieces
    pattern: IntArray  # of each record

    def pieces(self) -> FloatArray:
        """The probability of every piece (records x pieces)."""
        count = self.classes.shape[1]
        if len(self.theta) == count:
            return self.classes @ self.theta
        found = np.empty((len(self.classes), self.theta.shape[1]))
        for pattern in range(len(self.theta) // count):
            mine = self.pattern == pattern
            found[mine] = self.classes[mine] @ self.theta[pattern * count : (pattern + 1) * count]
        return found

    def rows(self, label: IntArray) -> IntArray:
        """The row of theta that each record is drawn from, if these are the classes."""
        rows: IntArray = self.pattern * self.classes.shape[1] + label
        return rows

    def within(self, allowed: BoolArray) -> "Told":
        """The same without the classes, and the parts of them, that a pattern does not allow (patterns x pieces).

        Only a record whose other columns are excluded can be left without any class; it keeps them all.
        """
        theta = self.theta[None] * allowed[:, None]
        left = theta.sum(axis=2, keepdims=True)
        classes = np.where((left > 0)[self.pattern, :, 0], self.classes, 0.0)
        held = classes.sum(axis=1, keepdims=True)
        classes = np.divide(classes, held, out=self.classes.copy(), where=held > 0)
        theta = np.divide(theta, left, out=np.repeat(self.theta[None], len(theta), axis=0), where=left > 0)
        return Told(classes, theta.reshape(-1, theta.shape[2]), self.pattern)
