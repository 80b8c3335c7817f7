"""Answers about one table of a family: how many rows, means, distributions, by row or by person.

They come from drawn persons, many enough that chance hardly shows, and their intervals from the noise of the tables
behind them: that of first rows and that of later ones, each by what it weighs in the answer.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from sfumato.artefact.figures import Expectation
from sfumato.artefact.frames import to_frame
from sfumato.errors import RequestError
from sfumato.fitting.conditions import check_column
from sfumato.fitting.families.conditions import FamilyConditions
from sfumato.fitting.families.drawn_rows import DrawnRows
from sfumato.fitting.families.view_curator import per_person
from sfumato.fitting.models.table_mixture.marginals import shares_up_to
from sfumato.fitting.models.table_mixture.means import GivenColumn
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints.numbers import numbers_of
from sfumato.trusted.encoding import CategoricalCodec, Codes, Encoder, NumericCodec
from sfumato.trusted.encoding.header import FrameKind, Header
from sfumato.trusted.families.views import PERSONS
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import Cells, CodeSums, PersonLevel

if TYPE_CHECKING:
    from sfumato.artefact.families.release import FamilyRelease

By = Literal["row", "person"]

_BAND = 1.96  # standard deviations to either side of a 95 % interval
_BELOW = 0.03  # of the rows on the third level, by which a model may miss their number
_NO_VALUE = "no row has a value of column {!r} under this condition; ask for a wider one"
_NO_ORDER = "the values of column {!r} have no order; use marginal"


@dataclass(frozen=True, eq=False)
class _Sampled:
    """The rows of a table, of drawn persons, and the weight of each in an answer."""

    rows: DrawnRows
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class TableAnswers:
    """Answers about one table. By row, every row counts alike; by person, every person who has rows does."""

    release: "FamilyRelease"
    table: str

    def __repr__(self) -> str:
        return f"<TableAnswers about {self.table} of {self.release!r}>"

    def count(self) -> Expectation:
        """The number of rows of the table, and its 95 % interval.

        Example
            >>> answer = family["stays"].count()
            >>> answer.low <= answer.mean <= answer.high
            True
        """
        persons, deviation = self.release.fitted.persons.size, self._deviation_of_persons
        if self.table == self.release.schema.root:
            return _interval(persons, _BAND * deviation, low=0.0)
        drawn = self._drawn
        each = len(drawn[self.table]) / len(drawn[self.release.schema.root])
        reach = _BAND * math.hypot(each * deviation, self._deviation_of_rows)
        return _interval(each * persons, reach, low=0.0)

    def per_person(self) -> Expectation:
        """The mean number of rows of a person, and its 95 % interval.

        Example
            >>> family["stays"].per_person().mean >= 0
            True
        """
        drawn, persons = self._drawn, max(self.release.fitted.persons.size, 1.0)
        each = len(drawn[self.table]) / len(drawn[self.release.schema.root])
        reach = 0.0 if self.table == self.release.schema.root else _BAND * self._deviation_of_rows / persons
        fewest = math.prod(self.release.schema.rows_of(name)[0] for name in self.release.schema.path(self.table)[1:])
        return _interval(each, reach, low=float(fewest))

    def mean(self, column: str, *, by: By = "row", given: Mapping[str, Mapping[str, Any]] | None = None) -> Expectation:
        """The mean of a column over the rows, or over the means of persons, and its 95 % interval.

        by      "row": every row counts alike; "person": the mean of each person who has rows counts once
        given   conditions by table, as in `FamilyRelease.sample`

        Over the rows that have a value. The interval is for the noise of what was measured and for chance in drawing,
        not for what the model cannot fit; its ends are NaN for a column that follows from others. Raises
        `RequestError` for a column without a mean.

        Example
            >>> answer = family["stays"].mean("cost", by="person")
            >>> answer.low <= answer.mean <= answer.high
            True
        """
        codes = self._codes(column)
        sampled, share = self._sampled(by, given)
        number = _numbers(column, codes, sampled.rows)
        known = ~np.isnan(number)
        if not known.any():
            raise RequestError(_NO_VALUE.format(column))
        weights = sampled.weights[known] / sampled.weights[known].sum()
        mean = float(weights @ number[known])
        chance = _chance(number[known] - mean, weights, sampled.rows.person[known])
        reach = math.hypot(self._reach(column, by) / share, _BAND * chance)
        low, high = _bounds(codes)
        ends = (max(mean - reach, low), min(mean + reach, high)) if math.isfinite(reach) else (math.nan, math.nan)
        return Expectation(*(_shown(codes, end) for end in (mean, *ends)))

    def marginal(self, column: str, *, by: By = "row", output: FrameKind | None = None) -> Any:
        """The distribution of a column: `value` and `probability`, or for an ordered column intervals of its values.

        An ordered column has a row for each of twenty intervals that hold about as much, `first` to `last`. A missing
        value is a null in the last row.

        Example
            >>> family["stays"].marginal("ward").column_names
            ['value', 'probability', 'low', 'high']
        """
        codes = self._codes(column)
        sampled, _ = self._sampled(by, None)
        values = sampled.rows.values.column(column).combine_chunks()
        weights = sampled.weights / sampled.weights.sum()
        table = _shares(codes, values, weights)
        p = np.array(table.column("probability"))
        reach = np.hypot(
            self._reach_of_shares(column, by, table), _BAND * np.sqrt((p * (1 - p)).clip(0) / _effective(weights))
        )
        low, high = np.clip(p - reach, 0, 1), np.clip(p + reach, 0, 1)
        table = table.append_column("low", pa.array(low)).append_column("high", pa.array(high))
        header = self.release.header[self.table]
        return to_frame(table, Header(header.frame, {}), self.release.schema.schema_of(self.table), output)

    def quantile(self, column: str, share: float, *, by: By = "row") -> Any:
        """The value of a column at or below which this share lies. Raises `RequestError` where there is no order.

        Example
            >>> family["stays"].quantile("cost", 0.5) >= 0
            True
        """
        codes = self._codes(column)
        if not isinstance(codes, NumericCodec):
            raise RequestError(_NO_ORDER.format(column))
        if isinstance(share, bool) or not isinstance(share, int | float | np.floating) or not 0 <= share <= 1:
            raise RequestError(f"the share of a quantile is {share!r}; give a number from 0 to 1")
        sampled, _ = self._sampled(by, None)
        number = numbers_of(codes, sampled.rows.values.column(column).combine_chunks())
        known = ~np.isnan(number)
        if not known.any():
            raise RequestError(_NO_VALUE.format(column))
        order = np.argsort(number[known])
        up_to = np.cumsum(sampled.weights[known][order])
        place = int(np.searchsorted(up_to, share * up_to[-1]).clip(max=len(order) - 1))
        return sampled.rows.values.column(column).combine_chunks().filter(pa.array(known))[int(order[place])].as_py()

    # what answers are made of

    @property
    def _drawn(self) -> dict[str, DrawnRows]:
        return self.release.answering

    def _codes(self, column: str) -> Codes:
        schema = self.release.schema.schema_of(self.table)
        check_column(column, schema.by_name)
        return Encoder(schema).columns[column]

    def _sampled(self, by: str, given: Mapping[str, Mapping[str, Any]] | None) -> tuple[_Sampled, float]:
        """Rows with their weights, and the share of the persons who meet the conditions."""
        if by not in ("row", "person"):
            raise RequestError(f"by is {by!r}; use 'row' or 'person'")
        drawn, share = self._drawn, 1.0
        rows = drawn[self.table]
        if given:
            met = FamilyConditions.of(given, self.release.layout).met_by(drawn)
            share = float(met.mean())
            rows = rows.take(np.flatnonzero(met[rows.person]))
        if not len(rows) and not given:
            raise RequestError(f"no drawn person has a row of {self.table!r}; the release knows of hardly any")
        if not len(rows):
            raise RequestError("no drawn person meets these conditions; ask for wider ones, or draw a sample")
        held = np.bincount(rows.person)[rows.person]
        return _Sampled(rows, np.ones(len(rows)) if by == "row" else 1 / held), share

    def _measured(self, view: str) -> list[Measurement]:
        return [
            per_person(item)
            for item in self.release.measurements
            if isinstance(item.statistic, PersonLevel) and item.statistic.view == view
        ]

    @cached_property
    def _deviation_of_persons(self) -> float:
        """The noise of the number of persons: every single-column table adds up to it."""
        for item in self._measured(PERSONS):
            asked = item.statistic
            if isinstance(asked, Cells) and all(len(table) == 1 for table in asked.tables if table[0] not in asked.of):
                sizes = [asked.shape(table)[0] for table in asked.tables if table[0] not in asked.of]
                if len(sizes) == len(self.release.layout.views[PERSONS].columns):
                    return item.sigma / math.sqrt(math.fsum(1 / size for size in sizes))
        return math.inf

    @cached_property
    def _deviation_of_rows(self) -> float:
        """The noise of the number of rows of the table, or of the tables above it, given the number of persons.

        Rows on the third level are not counted by themselves: how many one row above has is the model's word, and by a
        rule of thumb a few percent off.
        """
        schema, layout = self.release.schema, self.release.layout
        first = schema.path(self.table)[1]
        count = f"{schema.root}.{layout.tables[schema.root].counts[first]}"
        for item in self._measured(PERSONS):
            if isinstance(item.statistic, CodeSums) and count in item.statistic.columns:
                block = item.statistic.blocks[item.statistic.columns.index(count)]
                own = item.sigma / block.weight
                if self.table == first:
                    return own
                drawn, persons = self._drawn, self.release.fitted.persons.size
                each = len(drawn[self.table]) / len(drawn[schema.root])
                return math.hypot(own * len(drawn[self.table]) / max(len(drawn[first]), 1), _BELOW * each * persons)
        return 0.0

    def _parts(self, column: str, by: str) -> list[tuple[float, TableMixture, str, str]]:
        """What measures a column: the weight of its noise in an answer, the model, its name there, and the view."""
        layout, fitted, name = self.release.layout, self.release.fitted, f"{self.table}.{column}"
        if self.table == self.release.schema.root:
            return [(1.0, fitted.persons, name, PERSONS)]
        rows = self._drawn[self.table]
        first = rows.place == 0
        weights = np.ones(len(rows)) if by == "row" else 1 / np.bincount(rows.person)[rows.person]
        found = []
        level_two = layout.family.level(self.table) == 2
        for view, which in ((PERSONS if level_two else f"{self.table}, first", first), (f"{self.table}, next", ~first)):
            if view not in layout.views or name not in layout.views[view].by_name or not which.any():
                continue
            model = fitted.persons if view == PERSONS else fitted.steps[view].column_model(name)
            own = weights[which]
            by_person = np.bincount(rows.person[which], weights=own)
            unequal = math.sqrt(np.count_nonzero(by_person) * float((by_person**2).sum())) / float(by_person.sum())
            found.append((float(own.sum() / weights.sum()) * unequal, model, name, view))
        return found

    def _reach(self, column: str, by: str) -> float:
        """Half of the 95 % interval of a mean, by the noise of the tables of first and of later rows."""
        if not self._is_measured(column):
            return math.nan
        squares = []
        for weight, model, name, view in self._parts(column, by):
            law = self.release.layout.views[view].by_name[name].codes
            mean, low, high = GivenColumn(model, name, law, (), self._measured(view)).mean()
            squares.append((weight * max(high - mean, mean - low)) ** 2)
        reach, codes = math.sqrt(math.fsum(squares)), self._codes(column)
        if not isinstance(codes, NumericCodec):
            return reach
        ends = codes.in_units(np.array([0.0, reach]))
        return float(ends[1] - ends[0])

    def _reach_of_shares(self, column: str, by: str, shares: pa.Table) -> FloatArray:
        """Half of the 95 % interval of the probability of each value or interval; NaN for what was not measured."""
        codes = self._codes(column)
        if not self._is_measured(column):
            return np.full(shares.num_rows, math.nan)
        squares = np.zeros(shares.num_rows)
        for weight, model, name, view in self._parts(column, by):
            law = self.release.layout.views[view].by_name[name].codes
            pieces = model.columns[name]
            if isinstance(law, NumericCodec) and isinstance(codes, NumericCodec):
                asked = GivenColumn(model, name, law, (), self._measured(view))
                ends = [numbers_of(codes, _array(shares.column(end))) for end in ("first", "last")]
                below = [
                    shares_up_to(law, pieces, np.nan_to_num(end)) for end in (_just_below(codes, ends[0]), ends[1])
                ]
                reach = np.array([asked.reach(high - low) for low, high in zip(*below, strict=True)])
                squares += (weight * reach) ** 2
            else:
                noise = np.zeros(law.size + 1)
                noise[pieces.starts] = pieces.noise
                squares += (weight * _BAND * noise[: shares.num_rows]) ** 2
        return np.sqrt(squares)

    def _is_measured(self, column: str) -> bool:
        """Whether a column was measured as it is, in all rows."""
        table = self.release.layout.tables[self.table]
        measured = column in table.measured and table.codes[column].size == self._codes(column).size
        return measured and not (table.gap is not None and column == table.ordered_by)


def _just_below(codes: NumericCodec, numbers: FloatArray) -> FloatArray:
    return numbers - 1 if codes.whole else np.nextafter(numbers, -np.inf)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks)


def _bounds(codes: Codes) -> tuple[float, float]:
    """Between which a mean lies."""
    if isinstance(codes, NumericCodec):
        low, high = codes.in_units(np.array([codes.low, codes.high]))
        return float(low), float(high)
    numbers = [float(value) for value in codes.values] if isinstance(codes, CategoricalCodec) else [0.0]
    return min(numbers), max(numbers)


def _interval(mean: float, reach: float, low: float) -> Expectation:
    return Expectation(mean, max(low, mean - reach), mean + reach)


def _chance(away: FloatArray, weights: FloatArray, person: Any) -> float:
    """The deviation of a weighted mean by the chance of drawing, rows of one person together."""
    parts = np.bincount(person, weights=weights * away)
    return float(np.sqrt((parts**2).sum()))


def _effective(weights: FloatArray) -> float:
    return 1 / float((weights**2).sum())


def _numbers(column: str, codes: Codes, rows: DrawnRows) -> FloatArray:
    """The values of a column as numbers; NaN where it is missing."""
    values = rows.values.column(column).combine_chunks()
    if isinstance(codes, NumericCodec):
        return numbers_of(codes, values)
    plain = codes.values if isinstance(codes, CategoricalCodec) else ()
    if not plain or not all(isinstance(value, bool | int | float) for value in plain):
        raise RequestError(f"the values of column {column!r} are no numbers and have no mean; use marginal")
    code = codes.encode(values)
    table = np.append(np.array([float(value) for value in plain]), np.nan)
    numbers: FloatArray = table[np.minimum(code, len(plain))]
    return numbers


def _shares(codes: Codes, values: pa.Array, weights: FloatArray) -> pa.Table:
    """The share of every listed value, or of intervals that hold about as much."""
    if not isinstance(codes, NumericCodec):
        shares = np.bincount(codes.encode(values), weights=weights, minlength=codes.size)
        listed = codes.decode(np.arange(codes.size, dtype=np.int32), np.zeros(codes.size))
        return pa.table({"value": listed, "probability": shares})
    number = numbers_of(codes, values)
    known = ~np.isnan(number)
    order = np.argsort(number[known])
    line = np.cumsum(weights[known][order]) / max(weights[known].sum(), 1e-300)
    held = number[known][order]
    cuts = np.searchsorted(line, np.linspace(0, 1, 21)[1:-1]).clip(max=len(order) - 1)
    edges = np.unique(held[cuts]) if len(held) else held
    cell = np.searchsorted(edges, number[known], side="left")
    shares = np.bincount(cell, weights=weights[known], minlength=len(edges) + 1).astype(np.float64)
    ends = [(number[known][cell == one].min(), number[known][cell == one].max()) for one in np.flatnonzero(shares > 0)]
    places = [_place_of(number, end) for pair in ends for end in pair]
    first, last = (values.take(pa.array(places[one::2], pa.int64())) for one in (0, 1))
    table = pa.table({"first": first, "last": last, "probability": shares[shares > 0]})
    if codes.missing is None:
        return table
    nothing = pa.nulls(1, first.type)
    rest = pa.table({"first": nothing, "last": nothing, "probability": [float(weights[~known].sum())]})
    return pa.concat_tables([table, rest])


def _place_of(number: FloatArray, value: float) -> int:
    return int(np.flatnonzero(number == value)[0])


def _shown(codes: Codes, number: float) -> Any:
    """A number as the column shows it: a date for dates; NaN stays."""
    if not isinstance(codes, NumericCodec) or not codes.dated or math.isnan(number):
        return number
    return codes.write(np.array([min(max(number, codes.low), codes.high)]), np.array([False]))[0].as_py()
