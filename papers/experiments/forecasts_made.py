"""Made tables of random laws: `draw_table(number)`. The number decides everything.

4 to 25 columns of numbers, counts and listed values, related by a few hidden factors, some with missing values and some
with bounds much wider than the values. The target is a class or a number. In turn, by the number of the table, it
follows few columns, many, a sum of curves, products of two columns, a tree, the parity of two or three columns, or it
is a rare class. A random share of it is noise. Each table has its own number of rows and its own epsilon.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, poisson

import sfumato
from experiments.tasks import Task
from sfumato.trusted.arrays import FloatArray

TESTED = 10_000
TARGET = "label"
_NAME = "random law "
_STREAM = 20_261_117
_EPSILONS = (0.3, 1.0, 3.0)

Generator = np.random.Generator
Description = dict[str, Any]


@dataclass(frozen=True)
class MadeTable:
    """A table with the rows and the epsilon of its release; what is left of its rows is for tests."""

    task: Task
    rows: int
    epsilon: float


@dataclass(frozen=True)
class MadeColumn:
    """Values, how a schema describes them, and a number for each value by which they act on the target."""

    values: Any
    description: Description
    score: FloatArray


def name_of(number: int) -> str:
    """As results name the table."""
    return f"{_NAME}{number}"


def number_of(name: str) -> int | None:
    """The number of a made table; None of every other."""
    return int(name.removeprefix(_NAME)) if name.startswith(_NAME) else None


def draw_table(number: int) -> MadeTable:
    """The table of this number."""
    rng = np.random.default_rng([_STREAM, number])
    rows, epsilon = round(2_000 * 10 ** rng.random()), float(rng.choice(_EPSILONS))
    columns = _draw_columns(rng, rows + TESTED)
    law = list(LAWS)[number % len(LAWS)]
    signal = LAWS[law](np.column_stack([column.score for column in columns.values()]), rng)
    columns[TARGET] = _draw_target(signal, law == "rare", rng)
    frame = pd.DataFrame({name: column.values for name, column in columns.items()})
    described = [{"name": name, **column.description} for name, column in columns.items()]
    content = {"sfumato": 1, "name": "made", "columns": described, "target": TARGET}
    return MadeTable(Task(name_of(number), frame, sfumato.Schema.from_dict(content)), rows, epsilon)


def _draw_columns(rng: Generator, rows: int) -> dict[str, MadeColumn]:
    """Columns that share hidden factors, each with a kind of its own."""
    factors = rng.standard_normal((rows, 3))
    columns = {}
    for place in range(int(rng.integers(4, 26))):
        shared = rng.uniform(0, 0.9)
        hidden = np.sqrt(shared) * factors[:, rng.integers(3)] + np.sqrt(1 - shared) * rng.standard_normal(rows)
        kind = _KINDS[rng.integers(len(_KINDS))]
        columns[f"c{place}"] = _lose_some(kind(norm.cdf(hidden), rng), rng)
    return columns


def _lose_some(column: MadeColumn, rng: Generator) -> MadeColumn:
    """One column in five has missing values."""
    if rng.random() > 0.2:
        return column
    lost = rng.random(len(column.score)) < rng.uniform(0.02, 0.2)
    return MadeColumn(pd.Series(column.values).mask(lost), {**column.description, "missing": True}, column.score)


def _normal(share: FloatArray, rng: Generator) -> MadeColumn:
    return _number(norm.ppf(share), float(rng.uniform(4, 12)))


def _skewed(share: FloatArray, rng: Generator) -> MadeColumn:
    spread = rng.uniform(0.4, 1.3)
    return _number(np.exp(spread * norm.ppf(share)), float(np.exp(4 * spread) * rng.uniform(1, 4)), 0.0)


def _number(values: FloatArray, high: float, low: float | None = None) -> MadeColumn:
    low = -high if low is None else low
    return MadeColumn(values.clip(low, high), {"type": "number", "bounds": [low, high]}, _standardise(values))


def _integer(values: FloatArray, high: int) -> MadeColumn:
    whole = pd.array(values.clip(0, high).astype(np.int64), dtype="Int64")
    return MadeColumn(whole, {"type": "integer", "bounds": [0, high]}, _standardise(values))


def _even(share: FloatArray, rng: Generator) -> MadeColumn:
    size = int(rng.integers(10, 200))
    return _integer(np.floor(share * size), size - 1)


def _counts(share: FloatArray, rng: Generator) -> MadeColumn:
    return _integer(poisson.ppf(share.clip(1e-9, 1 - 1e-9), rng.uniform(0.5, 10)), 40)


def _listed(share: FloatArray, rng: Generator) -> MadeColumn:
    return _list_values(share, int(rng.integers(3, 31)), rng)


def _yes_or_no(share: FloatArray, rng: Generator) -> MadeColumn:
    return _list_values(share, 2, rng)


def _list_values(share: FloatArray, size: int, rng: Generator) -> MadeColumn:
    cuts = np.cumsum(rng.dirichlet(np.full(size, 2.0)))[:-1]
    place = np.searchsorted(cuts, share)
    names = np.array([f"v{value}" for value in range(size)], dtype=object)
    effects = rng.standard_normal(size)
    return MadeColumn(names[place], {"type": "category", "values": list(names)}, _standardise(effects[place]))


_KINDS = (_normal, _skewed, _even, _counts, _listed, _yes_or_no)


def _standardise(values: FloatArray) -> FloatArray:
    """Mean 0 and deviation 1, far values drawn in; a constant becomes 0."""
    spread = float(values.std())
    found: FloatArray = ((values - values.mean()) / spread if spread else np.zeros_like(values)).clip(-4, 4)
    return found


def _pick(scores: FloatArray, least: int, most: int, rng: Generator) -> FloatArray:
    """So many columns, or as many as there are."""
    wide = scores.shape[1]
    return scores[:, rng.permutation(wide)[: min(wide, int(rng.integers(least, most + 1)))]]


def _few(scores: FloatArray, rng: Generator) -> FloatArray:
    return _many(_pick(scores, 2, 3, rng), rng)


def _many(scores: FloatArray, rng: Generator) -> FloatArray:
    weighted: FloatArray = scores @ rng.standard_normal(scores.shape[1])
    return weighted


_CURVES: tuple[Callable[[FloatArray], FloatArray], ...] = (
    lambda x: np.sin(2 * x),
    np.square,
    np.abs,
    lambda x: (x > 0.3).astype(float),
)


def _additive(scores: FloatArray, rng: Generator) -> FloatArray:
    parts = [_standardise(_CURVES[rng.integers(len(_CURVES))](column)) for column in _pick(scores, 3, 6, rng).T]
    return _many(np.column_stack(parts), rng)


def _pairs(scores: FloatArray, rng: Generator) -> FloatArray:
    chosen = [_pick(scores, 2, 2, rng) for _ in range(int(rng.integers(2, 5)))]
    return _many(np.column_stack([_standardise(pair.prod(axis=1)) for pair in chosen]), rng)


def _tree(scores: FloatArray, rng: Generator) -> FloatArray:
    return _grow(_pick(scores, 4, 8, rng), int(rng.integers(3, 6)), rng)


def _grow(scores: FloatArray, levels: int, rng: Generator) -> FloatArray:
    if levels == 0 or len(scores) < 2:
        return np.full(len(scores), rng.standard_normal())
    column = scores[:, rng.integers(scores.shape[1])]
    right, found = column > np.quantile(column, rng.uniform(0.25, 0.75)), np.empty(len(scores))
    for side in (right, ~right):
        found[side] = _grow(scores[side], levels - 1, rng)
    return found


def _parity(scores: FloatArray, rng: Generator) -> FloatArray:
    chosen = _pick(scores, 2, 3, rng)
    signs: FloatArray = np.where(chosen > np.quantile(chosen, 0.45, axis=0), 1.0, -1.0)
    product: FloatArray = signs.prod(axis=1)
    return product


LAWS: dict[str, Callable[[FloatArray, Generator], FloatArray]] = {
    "few": _few,
    "many": _many,
    "additive": _additive,
    "pairs": _pairs,
    "tree": _tree,
    "parity": _parity,
    "rare": _many,
}


def _draw_target(signal: FloatArray, rare: bool, rng: Generator) -> MadeColumn:
    """What the law says and noise: a number in one table of three, else a class."""
    told = rng.uniform(0.3, 1)
    noisy = np.sqrt(told) * _standardise(signal) + np.sqrt(1 - told) * rng.standard_normal(len(signal))
    if rare:
        return _cut(noisy, np.array([1 - rng.uniform(0.03, 0.08)]))
    if rng.random() < 1 / 3:
        return _number(np.exp(noisy), 100.0, 0.0) if rng.random() < 0.25 else _number(noisy, 8.0)
    classes = 2 if rng.random() < 0.7 else int(rng.integers(3, 5))
    return _cut(noisy, np.cumsum(rng.dirichlet(np.full(classes, 5.0)))[:-1])


def _cut(noisy: FloatArray, at: FloatArray) -> MadeColumn:
    """Classes by the order of the records."""
    place = np.searchsorted(np.quantile(noisy, at), noisy)
    names = np.array([f"v{value}" for value in range(len(at) + 1)], dtype=object)
    return MadeColumn(names[place], {"type": "category", "values": list(names)}, noisy)
