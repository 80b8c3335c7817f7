"""How far a synthetic family is from a true one, and what is learnt from it about persons held out.

Distances of pairs are total variations, means over all pairs of columns of a kind; numbers are cut at the eighths of
the true rows, and missing is a cell of its own. Figures of persons are Kolmogorov-Smirnov distances over persons with
two rows or more. 0 is equal, 1 is disjoint.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

from experiments.families_data import NUMBERS, Family, Label
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.schema import FamilySchema

Figures = dict[str, float]
Cells = Mapping[str, IntArray]
EIGHTHS = np.linspace(0, 1, 9)[1:-1]
FEW = 12  # distinct numbers that are cells by themselves
SHUFFLE = 7  # the state by which rows without an order are put in one


@dataclass(frozen=True)
class Rows:
    """The rows of one table in order, the rows above each of them, and whose they are.

    held   how many rows every parent row has; None where rows come without links, each a person of its own
    """

    above: pd.DataFrame
    own: pd.DataFrame
    parent: IntArray
    person: IntArray
    held: IntArray | None

    @property
    def later(self) -> IntArray:
        """The rows that have one before them, in the same parent row."""
        return 1 + np.flatnonzero(self.parent[1:] == self.parent[:-1])

    @property
    def place(self) -> IntArray:
        """0 for the first row of a parent row, 1 for the next."""
        first = np.flatnonzero(np.diff(self.parent, prepend=-1))
        return np.arange(len(self.parent)) - np.repeat(first, np.diff(first, append=len(self.parent)))

    @property
    def weight(self) -> FloatArray:
        """One for each person, shared by their rows."""
        return 1 / np.bincount(self.person)[self.person]


@dataclass(frozen=True)
class Unlinked:
    """Flat rows by table: each has the columns of the table and of those above it, and belongs to nobody."""

    flat: Mapping[str, pd.DataFrame]


def link(family: Family, table: str) -> Rows:
    """The rows of a table, sorted by parent row and order. Rows of no parent row are left out."""
    schema = family.schema
    parent, frame = schema.tables[table].parent or "", family.frames[table]
    found = _parents(family, table)
    above, person = _with_above(family, parent)
    order = _order(schema, table, frame, found)
    order = order[(found >= 0)[order] & (person[found] >= 0)[order]]
    own = derive(family, table, frame.iloc[order])[list(family.measured(table))].reset_index(drop=True)
    at = found[order]
    held = np.bincount(at, minlength=len(family.frames[parent]))
    return Rows(above.iloc[at].reset_index(drop=True), own, at, person[at], held)


def _parents(family: Family, table: str) -> IntArray:
    """The place of each row's parent row in its frame; -1 where there is none."""
    parent = family.schema.tables[table].parent or ""
    index = pd.Index(family.frames[parent][family.schema.tables[parent].key])
    found: IntArray = index.get_indexer(family.frames[table][family.schema.foreign_key_of(table)])
    return found


def _with_above(family: Family, table: str) -> tuple[pd.DataFrame, IntArray]:
    """Every row of a table as it stands with the rows above it, and its person; -1 where there is none."""
    rows = derive(family, table, family.frames[table])[list(family.measured(table))].reset_index(drop=True)
    parent = family.schema.tables[table].parent
    if parent is None:
        return rows, np.arange(len(rows))
    found = _parents(family, table)
    above, person = _with_above(family, parent)
    joined = pd.concat([above.iloc[found].reset_index(drop=True), rows], axis=1)
    return joined, np.where(found < 0, -1, person[found])


def _order(schema: FamilySchema, name: str, rows: pd.DataFrame, parent: Any) -> Any:
    """Places of the rows by parent row, then by their order if it is known, as they stand, or by lot without one."""
    asked = schema.tables[name].order
    column = asked if asked is None or isinstance(asked, str) else asked.column
    then: Any = np.arange(len(rows))
    if column is None:
        then = np.random.default_rng(SHUFFLE).random(len(rows))
    elif column in rows:
        then = rows[column].to_numpy()
    return np.lexsort((then, parent))


def derive(family: Family, table: str, rows: pd.DataFrame) -> pd.DataFrame:
    """With the columns that are measured and not released."""
    return rows.assign(**{name: make(rows) for name, make in family.derived.get(table, {}).items()})


def flat(family: Family, unlinked: Unlinked, table: str) -> Rows:
    """The rows of a table that come without links."""
    rows = unlinked.flat[table]
    path = family.schema.path(table)
    for name in path:
        rows = derive(family, name, rows)
    above = [column for name in path[:-1] for column in family.measured(name)]
    alone = np.arange(len(rows))
    return Rows(rows[above], rows[list(family.measured(table))], alone, alone, None)


class Judge:
    """The cells of a true family, persons held out, and what others are worth beside them."""

    def __init__(self, truth: Family, held_out: Family) -> None:
        self._truth, self._held_out = truth, held_out
        self._kinds = {name: kind for table in truth.schema.tables for name, kind in truth.measured(table).items()}
        frames = [derive(truth, name, truth.frames[name]) for name in truth.schema.tables]
        self._cuts = {name: self._cut(name, rows[name]) for rows in frames for name in self._kinds if name in rows}
        self._true = {table: link(truth, table) for table in truth.children}
        self._test = {table: link(held_out, table) for table in truth.children}

    def _cut(self, name: str, column: pd.Series) -> Any:
        """Edges of a number, or all its values where they are few; the values of a category as text."""
        if self._kinds[name] not in NUMBERS:
            return sorted({str(value) for value in column.dropna().unique()})
        known = numbers_of(column, self._kinds[name])
        known = known[~np.isnan(known)]
        if len(np.unique(known)) <= FEW:
            return {value: place for place, value in enumerate(np.unique(known))}
        return np.unique(np.quantile(known, EIGHTHS))

    def _cell(self, name: str, column: pd.Series) -> IntArray:
        """1, 2, ...; 0 for missing, and for what no true row has."""
        cut, found = self._cuts[name], np.zeros(len(column), dtype=np.int64)
        if isinstance(cut, list):
            found += pd.Categorical(column.astype(str).where(column.notna()), categories=cut).codes + 1
            return found
        numbers = numbers_of(column, self._kinds[name])
        if isinstance(cut, dict):
            found += pd.Series(numbers).map(cut).fillna(-1).to_numpy().astype(np.int64) + 1
            return found
        return np.where(np.isnan(numbers), 0, 1 + np.searchsorted(cut, numbers, side="left"))

    def _cells(self, rows: pd.DataFrame) -> Cells:
        return {name: self._cell(name, rows[name]) for name in rows}

    def score(self, other: Family | Unlinked, table: str) -> Figures:
        """The distances of one table."""
        true = self._true[table]
        mine = link(other, table) if isinstance(other, Family) else flat(self._truth, other, table)
        above = self._cells(true.above), self._cells(mine.above)
        own = self._cells(true.own), self._cells(mine.own)
        weights = true.weight, mine.weight
        across, inside = list(product(above[0], own[0])), list(combinations(own[0], 2))
        found = {
            "parent-child, by row": apart(above, own, across),
            "parent-child, by person": apart(above, own, across, weights),
            "child-child, by row": apart(own, own, inside),
            "parent pairs": self._parent_pairs(other, mine),
        }
        if mine.held is not None and true.held is not None:
            steps = _steps(true, own[0]), _steps(mine, own[1])
            before, now = [one[0] for one in steps], [one[1] for one in steps]
            every = list(product(own[0], own[0]))
            found["number of rows"] = self._numbers(true.held, mine.held, table)
            found["consecutive, all pairs"] = apart(before, now, every)
            found["consecutive, same column"] = apart(before, now, [(name, name) for name in own[0]])
            found |= self._persons(true, mine, table)
            found["rows to true rows"] = _ratio(mine, other) / _ratio(true, self._truth)
        return {name: value for name, value in found.items() if value is not None}

    def _parent_pairs(self, other: Family | Unlinked, mine: Rows) -> float | None:
        root = self._truth.schema.root
        names = list(self._truth.measured(root))
        rows = other.frames[root] if isinstance(other, Family) else mine.above
        both = self._cells(self._truth.frames[root][names]), self._cells(rows[names])
        return apart(both, both, list(combinations(names, 2)))

    def _numbers(self, true: IntArray, mine: IntArray, table: str) -> float:
        """Total variation of how many rows a parent row has; more than the most are the most."""
        most = self._truth.schema.rows_of(table)[1]
        shares = [np.bincount(held.clip(max=most), minlength=most + 1) / len(held) for held in (true, mine)]
        return float(np.abs(shares[0] - shares[1]).sum() / 2)

    def _persons(self, true: Rows, mine: Rows, table: str) -> dict[str, float | None]:
        numbers = {name: self._kinds[name] for name in true.own if self._kinds[name] in NUMBERS}
        count = self._truth.questions[table].count
        figures = [_figures(rows, numbers, count) for rows in (true, mine)]
        kinds = {"KS of means": "mean", "KS of maxima": "max"}
        found = {
            title: _mean([_ks(*(one[kind][name] for one in figures)) for name in numbers])
            for title, kind in kinds.items()
        }
        return found | {"KS of a count": _ks(*(one["count"] for one in figures))}

    def learn(self, other: Family | Unlinked, table: str) -> Figures:
        """Areas under the ROC curve of LightGBM, trained on these rows and tested on persons held out."""
        rows = link(other, table) if isinstance(other, Family) else flat(self._truth, other, table)
        asked, test = self._truth.questions[table], self._test[table]
        linked = rows.held is not None
        known = [name for name in rows.own if name != asked.event.column] if asked.known is None else list(asked.known)
        event = [(self._features(one, known, linked), asked.event.of(one.own)) for one in (rows, test)]
        found = {"AUC event": _auc(*event)}
        if linked:
            both = rows, test
            later = [(self._features(one, [], True)[one.later], asked.next.of(one.own)[one.later]) for one in both]
            found["AUC next"] = _auc(*later)
        return found

    def told(self, probability: FloatArray, table: str, frame: pd.DataFrame) -> float:
        """Area under the ROC curve of a probability of the event for each row of a held-out table."""
        return float(roc_auc_score(self._truth.questions[table].event.of(frame), probability))

    def _features(self, rows: Rows, known: Sequence[str], history: bool) -> FloatArray:
        """The rows above, some columns of the row itself, and with a history its place and the row before."""
        columns = [self._plain(name, rows.above[name]) for name in rows.above]
        columns += [self._plain(name, rows.own[name]) for name in known]
        if history:
            later = np.zeros(len(rows.own), dtype=bool)
            later[rows.later] = True
            for name in rows.own:
                columns.append(np.where(later, np.roll(self._plain(name, rows.own[name]), 1), np.nan))
            columns.append(rows.place.astype(float))
        return np.column_stack(columns)

    def _plain(self, name: str, column: pd.Series) -> FloatArray:
        if self._kinds[name] in NUMBERS:
            return numbers_of(column, self._kinds[name])
        cell = self._cell(name, column).astype(float)
        return np.where(cell == 0, np.nan, cell)


def numbers_of(column: pd.Series, kind: str) -> FloatArray:
    """As floats, dates as days; missing is not a number."""
    if kind != "date":
        numbers: FloatArray = pd.to_numeric(column).to_numpy(dtype=float, na_value=np.nan)
        return numbers
    days = pd.to_datetime(column).to_numpy().astype("datetime64[s]")
    found: FloatArray = (days - np.datetime64("2000-01-01")) / np.timedelta64(86_400, "s")
    return found


def apart(
    one: Sequence[Cells],
    two: Sequence[Cells],
    pairs: Iterable[tuple[str, str]],
    weights: Sequence[FloatArray] | None = None,
) -> float | None:
    """The mean total variation of pairs of columns, between true (first) and other rows; None without pairs."""
    found = []
    for first, second in pairs:
        size = 1 + max(int(cells[second].max(initial=0)) for cells in two)
        crossed = [a[first] * size + b[second] for a, b in zip(one, two, strict=True)]
        length = 1 + max(int(cells.max(initial=0)) for cells in crossed)
        counts = [
            np.bincount(cells, None if weights is None else weights[place], minlength=length)
            for place, cells in enumerate(crossed)
        ]
        shares = [count / max(float(count.sum()), 1e-300) for count in counts]
        found.append(float(np.abs(shares[0] - shares[1]).sum() / 2))
    return _mean(found)


def _mean(found: Sequence[float]) -> float | None:
    return float(np.mean(found)) if len(found) else None


def _steps(rows: Rows, cells: Cells) -> tuple[Cells, Cells]:
    """The cells of the rows before, and of the rows that have one before them."""
    later = rows.later
    return {name: held[later - 1] for name, held in cells.items()}, {name: held[later] for name, held in cells.items()}


def _ratio(rows: Rows, family: Any) -> float:
    persons: int = family.persons
    return len(rows.own) / max(1, persons)


def _figures(rows: Rows, numbers: Mapping[str, str], count: Label) -> dict[str, Any]:
    """Mean and maximum of every number, and how many rows have a label, of persons with two rows or more."""
    several = np.bincount(rows.person)[rows.person] > 1
    person = rows.person[several]
    held = {name: numbers_of(rows.own[name], kind)[several] for name, kind in numbers.items()}
    groups = pd.DataFrame(held, index=range(len(person))).groupby(person)
    labels = pd.Series(count.of(rows.own)[several].astype(float)).groupby(person).sum()
    return {"mean": groups.mean(), "max": groups.max(), "count": labels}


def _ks(true: pd.Series, mine: pd.Series) -> float:
    ends = [one.dropna().to_numpy() for one in (true, mine)]
    return float(ks_2samp(*ends).statistic) if all(len(one) for one in ends) else 1.0


def _auc(train: tuple[FloatArray, Any], test: tuple[FloatArray, Any]) -> float:
    """0.5 where the rows to learn from are all alike."""
    if train[1].all() or not train[1].any():
        return 0.5
    learner = LGBMClassifier(
        n_estimators=120,
        num_leaves=15,
        learning_rate=0.06,
        min_child_samples=40,
        n_jobs=1,
        random_state=0,
        verbose=-1,
    )
    learner.fit(*train)
    told = learner.booster_.predict(test[0])
    return float(roc_auc_score(test[1], told))
