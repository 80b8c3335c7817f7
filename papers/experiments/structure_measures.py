"""What `experiments.structure` measures: k-marginal scores, pairs of columns, and rows that break a rule.

A k-marginal score, as in NIST's challenges: 1000 (1 - TV), where TV, the total variation, is half the sum of the
absolute differences between the shares of the cells in the real and in the synthetic rows. 1000 is equal, 0 has nothing
in common. Categories are cells as they are, numbers are cut at the deciles of the real rows, missing is a cell of its
own. `score` is the mean over all pairs of columns (k = 2). `score_by` is k = 3 with the area as the third column: the
mean over areas with at least 30 real rows, each alike, of the mean over pairs of the other columns among the rows of
that area. An area without a synthetic row scores 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from sfumato.trusted.arrays import BoolArray, IntArray

_FEWEST = 30


@dataclass(frozen=True)
class Cells:
    """One column in the same cells for both tables."""

    real: IntArray
    other: IntArray
    size: int


def cells_of(real: pd.DataFrame, other: pd.DataFrame, numbers: Sequence[str]) -> dict[str, Cells]:
    """Every column of the real rows; `numbers` are cut at the real deciles."""
    return {
        name: (_cut if name in numbers else _listed)(real[name], other[name].reset_index(drop=True)) for name in real
    }


def _listed(real: pd.Series, other: pd.Series) -> Cells:
    codes, values = pd.factorize(pd.concat([real, other]), use_na_sentinel=False)
    return Cells(codes[: len(real)], codes[len(real) :], len(values))


def _cut(real: pd.Series, other: pd.Series) -> Cells:
    here, there = (_floats(column) for column in (real, other))
    cuts = np.unique(np.nanquantile(here, np.linspace(0.1, 0.9, 9)))
    places = [
        np.where(np.isnan(one), len(cuts) + 1, np.searchsorted(cuts, one, side="right")).astype(np.int64)
        for one in (here, there)
    ]
    return Cells(places[0], places[1], len(cuts) + 2)


def _floats(column: pd.Series) -> Any:
    if column.dtype.kind == "M":
        column = column.astype("datetime64[s]").astype("int64")
    return column.astype("Float64").to_numpy(dtype=float, na_value=np.nan)


def pair_apart(one: Cells, two: Cells, real: Any = slice(None), other: Any = slice(None)) -> float:
    """Total variation of two columns, among some of the rows; 1 where there are no synthetic ones."""
    size = one.size * two.size
    here = np.bincount(one.real[real] * two.size + two.real[real], minlength=size)
    there = np.bincount(one.other[other] * two.size + two.other[other], minlength=size)
    if not there.any():
        return 1.0
    return float(np.abs(here / here.sum() - there / there.sum()).sum() / 2)


def score(cells: Mapping[str, Cells]) -> float:
    """k = 2; see the top."""
    return _score(pair_apart(one, two) for one, two in combinations(cells.values(), 2))


def score_by(cells: Mapping[str, Cells], area: str) -> float:
    """k = 3 by area; see the top."""
    rest = [column for name, column in cells.items() if name != area]
    return _score(
        pair_apart(one, two, real, other) for real, other in _rows_by(cells[area]) for one, two in combinations(rest, 2)
    )


def _rows_by(area: Cells) -> Iterator[tuple[IntArray, IntArray]]:
    for place in range(area.size):
        real = np.flatnonzero(area.real == place)
        if len(real) >= _FEWEST:
            yield real, np.flatnonzero(area.other == place)


def _score(apart: Iterator[float]) -> float:
    return 1000 * (1 - float(np.mean(list(apart))))


def broken(rule: Any, rows: pd.DataFrame) -> BoolArray:
    """Which rows break a rule, written as in the `constraints` of a schema.

    Text is a comparison of columns and numbers. A function of a column has its table.
    """
    match rule:
        case str():
            bad = ~rows.eval(rule.replace(" = ", " == "))
        case {"column": name, "of": parent, "table": table}:
            bad = rows[name] != rows[parent].map(table)
        case {"forbid": cells}:
            bad = _holds(cells, rows)
        case {"if": cells, "then": others}:
            bad = _holds(cells, rows) & ~_holds(others, rows)
        case {"null_together": names}:
            nulls = rows[names].isna()
            bad = nulls.any(axis=1) & ~nulls.all(axis=1)
        case _:
            raise ValueError(f"{rule!r} is no rule that is counted here")
    return np.asarray(bad, dtype=bool)


def _holds(cells: Mapping[str, Any], rows: pd.DataFrame) -> pd.Series:
    found = pd.Series(data=True, index=rows.index)
    for name, wanted in cells.items():
        found &= _is(rows[name], wanted)
    return found


def _is(column: pd.Series, wanted: Any) -> pd.Series:
    """Which values are meant; a missing one only by `missing`."""
    match wanted:
        case {"missing": True}:
            return column.isna()
        case dict():
            low, high = wanted.get("from", -np.inf), wanted.get("to", np.inf)
            return column.astype("Float64").between(low, high).fillna(value=False).astype(bool)
        case list():
            return column.isin(wanted)
        case _:
            return (column == wanted).fillna(value=False).astype(bool)


def share_broken(rules: Sequence[Any], rows: pd.DataFrame) -> float:
    """The share of the rows that break at least one rule."""
    return float(np.any([broken(rule, rows) for rule in rules], axis=0).mean())
