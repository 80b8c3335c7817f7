"""The columns of a table as they follow from a model of the measured ones: see `sfumato.trusted.constraints.layout`.

Columns that are measured as they are have the model's own answers. What follows from others is answered by a large
sample of fixed seed: its error is far below that of the noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition
from sfumato.fitting.models.model import Model
from sfumato.fitting.models.sampled_columns import (
    cells_of,
    dependence_of,
    describe_listed,
    describe_ordered,
    numbers_of_codes,
)
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.violating_rows import find_violating_rows
from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.constraints import Layout
from sfumato.trusted.constraints.computed import Computed
from sfumato.trusted.constraints.gaps import Gap
from sfumato.trusted.constraints.joints import Joint
from sfumato.trusted.constraints.numbers import numbers_of
from sfumato.trusted.constraints.places import Cell
from sfumato.trusted.constraints.rules import decided_by, runs_of
from sfumato.trusted.constraints.totals import Share
from sfumato.trusted.encoding import Batch, Codes, Encoder, NumericCodec
from sfumato.trusted.encoding.code_arrays import Limits
from sfumato.trusted.measurement import Measurement

_DRAWN = 1 << 17  # records by which what has no formula is answered
_ENOUGH = 1 << 10  # of them that must keep a condition
_MOST_TRIES = 200  # times that a sample is filled up
_SEED = 3


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedModel(Model):
    """A model of the measured columns, and the conditions on columns that no measured one decides alone.

    Records that do not keep the latter are drawn again.
    """

    inner: Model
    layout: Layout
    filters: tuple[Condition, ...] = ()

    kind: ClassVar = "constrained"

    @property
    def size(self) -> float:  # type: ignore[override]
        """The noisy number of records that keep the conditions."""
        return self.inner.size * (self._kept if self.filters else 1.0)

    @property
    def settings(self) -> Mapping[str, Any]:  # type: ignore[override]
        """See `Model`."""
        return self.inner.settings

    @cached_property
    def codes(self) -> Mapping[str, Codes]:
        """The codes of the table's columns."""
        return Encoder(self.layout.schema).columns

    def _is_measured(self, column: str) -> bool:
        """Whether a column is measured as it is, and the inner model answers for it."""
        return column in self.layout.measured_codes and column not in self.layout.derived

    def _has_formula(self, *columns: str) -> bool:
        return not self.filters and all(map(self._is_measured, columns))

    def draw(self, rows: int, rng: np.random.Generator, limits: Mapping[str, Limits]) -> pa.Table:
        """Records of the table that keep every condition."""
        parts: list[pa.Table] = []
        missing = rows
        for _ in range(_MOST_TRIES):
            more = missing if not self.filters else int(missing / max(self._kept, 1e-3) * 1.2) + 16
            table = self._passing(self.layout.decode(self.inner.sample(more, rng), rng, limits))
            parts.append(table.slice(0, missing))
            missing -= parts[-1].num_rows
            if missing <= 0:
                return pa.concat_tables(parts)
        raise RequestError("hardly any record keeps this condition; ask for a wider one")

    def _passing(self, table: pa.Table) -> pa.Table:
        if not self.filters:
            return table
        kept = self._keep_filters(self.encode(table))
        for condition in self.filters:
            kept &= self._within(condition, pa.concat_arrays(table.column(condition.column).chunks))
        return table.filter(pa.array(kept))

    def _within(self, condition: Condition, values: pa.Array) -> BoolArray:
        """Whether values lie within the very ends of a range: a code may spill over them."""
        codes = self.codes[condition.column]
        if not isinstance(codes, NumericCodec) or condition.low is None or condition.high is None:
            return np.ones(len(values), dtype=bool)
        low, high = codes.in_units(np.array([condition.low, condition.high]))
        number = numbers_of(codes, values)
        within: BoolArray = np.isnan(number) | ((low <= number) & (number <= high))
        return within

    def _keep_filters(self, batch: Batch) -> BoolArray:
        kept: BoolArray = np.ones(batch.rows, dtype=bool)
        for condition in self.filters:
            code = batch.codes[condition.column]
            kept &= np.logical_or.reduce([(start <= code) & (code < stop) for start, stop in condition.runs])
        return kept

    def encode(self, table: pa.Table) -> Batch:
        """The codes of a table's records."""
        records = table.combine_chunks().to_batches()
        if not records:
            return Batch(0, {name: np.zeros(0, dtype=np.int32) for name in self.codes})
        return Batch(table.num_rows, {name: self.codes[name].encode(records[0].column(name)) for name in self.codes})

    @cached_property
    def _drawn(self) -> Batch:
        """The codes of the large sample."""
        rng = public_rng(_SEED)
        table = self.encode(self.layout.decode(self.inner.sample(_DRAWN, rng), rng, {}))
        if not self.filters:
            return table
        kept = self._keep_filters(table)
        if kept.sum() < _ENOUGH:
            raise RequestError("the released table gives this condition hardly any probability; ask for a wider one")
        return Batch(int(kept.sum()), {name: codes[kept] for name, codes in table.codes.items()})

    @property
    def _kept(self) -> float:
        return self._drawn.rows / _DRAWN

    def sample(self, rows: int, rng: np.random.Generator) -> Batch:
        """See `Model`."""
        return self.encode(self.draw(rows, rng, {}))

    def condition(self, given: Sequence[Condition]) -> "ConstrainedModel":
        """See `Model`."""
        allowed, filters = self._translated(given)
        conditioned = replace(self, inner=self.inner.condition(allowed), filters=(*self.filters, *filters))
        if conditioned.filters:
            _ = conditioned._drawn  # what has no probability is refused now
        return conditioned

    def _translated(self, given: Sequence[Condition]) -> tuple[list[Condition], list[Condition]]:
        """Conditions on measured columns, and those that stay conditions on the table's."""
        allowed, filters = [], []
        for condition in given:
            column = condition.column
            if self._is_measured(column) and self.layout.columns[column] is self.layout.schema[column]:
                allowed.append(condition)
            elif self._decided(column):
                allowed.append(self._preimage(condition))
            else:
                filters.append(condition)
        return allowed, filters

    def _decided(self, column: str) -> bool:
        """Whether one measured column decides a column of the table."""
        while column in self.layout.derived:
            if len(self.layout.derived[column].reads) > 1:
                return False
            (column,) = self.layout.derived[column].reads
        made = next((one for one in self.layout.made.values() if column in one.gives), None)
        return made is None or isinstance(made, Cell | Joint)

    def _preimage(self, condition: Condition) -> Condition:
        """The codes of the measured column that lead to the codes of a condition."""
        column, codes = decided_by(self.layout, condition.column, self.codes[condition.column])
        kept = np.logical_or.reduce([(start <= codes) & (codes < stop) for start, stop in condition.runs])
        if not kept.any():
            raise RequestError("the released table gives this condition no probability; ask for a wider one")
        plain = column == condition.column
        return Condition(column, runs_of(kept), *((condition.low, condition.high) if plain else ()))

    def measure(self, records: pa.RecordBatch, *, without: str | None = None) -> Batch:
        """Records of the table as codes of the measured columns that their columns decide."""
        names = [name for name in records.schema.names if name != without]
        wanted = [name for name in self.layout.measured_codes if set(self.layout.reads([name])) <= set(names)]
        used = set(self.layout.reads(wanted))
        for name in names:
            if name not in used and name not in self.layout.derived and not self._is_last_part(name, used):
                behind = next(one for one in self.layout.made.values() if name in one.gives)
                others = ", ".join(repr(other) for other in behind.reads if other != name)
                raise RequestError(f"column {name!r} is measured by its relation to {others}; give that as well")
        for name, one in self.layout.derived.items():
            if name in names and not set(one.reads) <= set(names):
                raise RequestError(f"column {name!r} follows from {', '.join(one.reads)}; give these as well")
        return self.layout.encode(records, wanted)

    def _written(self, batch: Batch) -> pa.RecordBatch:
        """Codes of the table's columns as values."""
        middle = np.full(batch.rows, 0.5)
        values = {name: self.codes[name].decode(codes, middle) for name, codes in batch.codes.items()}
        return pa.RecordBatch.from_pydict(values)

    def _is_last_part(self, name: str, used: set[str]) -> bool:
        """Whether a column is what remains of a total, whose other parts are there."""
        shares = [one for one in self.layout.made.values() if isinstance(one, Share) and name == one.parts.names[-1]]
        return any(set(one.parts.names[:-1]) <= used for one in shares)

    def _number(self, records: pa.RecordBatch, name: str) -> FloatArray:
        codes = self.layout.codes[name]
        assert isinstance(codes, NumericCodec)  # noqa: S101 - only such columns are compared and added up
        return numbers_of(codes, records.column(name))

    def predict(self, batch: Batch, target: str, codes: Codes) -> FloatArray:
        """See `Model`."""
        return self.predict_records(self._written(batch), target, codes)

    def predict_records(self, records: pa.RecordBatch, target: str, codes: Codes) -> FloatArray:
        """See `predict`, of values instead of codes."""
        measured = self.layout.measured.target or target
        told = self.inner.predict(self.measure(records, without=target), measured, self.layout.measured_codes[measured])
        if measured == target:
            return told
        gap, own = self.layout.made[measured], self.layout.measured_codes[measured]
        assert isinstance(gap, Gap) and isinstance(own, NumericCodec) and isinstance(codes, NumericCodec)  # noqa: S101, PT018 - the only way a target is made
        units = gap.base({name: self._number(records, name) for name, _ in gap.references}) + own.in_units(told)
        return units if codes.unit is None else codes.unit.counts(units)

    def log_density(self, batch: Batch, columns: Mapping[str, Codes]) -> FloatArray:
        """See `Model`."""
        del columns  # the measured ones count
        return self.log_density_of_records(self._written(batch))

    def log_density_of_records(self, records: pa.RecordBatch) -> FloatArray:
        """See `log_density`, of values instead of codes. Records that break a constraint or a condition have none."""
        measured = self.measure(records)
        wanted = {name: self.layout.measured_codes[name] for name in measured.codes}
        density = self.inner.log_density(measured, wanted) if wanted else np.zeros(records.num_rows)
        broken = find_violating_rows(self.layout.schema, pa.Table.from_batches([records])).values()
        outside = np.logical_or.reduce([np.zeros(records.num_rows, dtype=bool), *broken, ~self._keeps(records)])
        share = math.log(self._kept) if self.filters else 0.0
        return np.where(outside, -np.inf, density + self._log_units(records) - share)

    def _keeps(self, records: pa.RecordBatch) -> BoolArray:
        """Whether records keep the conditions on columns that no measured one decides."""
        there = set(records.schema.names)
        codes = {
            one.column: self.codes[one.column].encode(records.column(one.column))
            for one in self.filters
            if one.column in there
        }
        if len(codes) < len({one.column for one in self.filters}):
            raise RequestError("a condition is on a column that the table does not have; give it as well")
        return self._keep_filters(Batch(records.num_rows, codes))

    def _log_units(self, records: pa.RecordBatch) -> FloatArray:
        """From the units of measured columns to those of the table: cells of places, shares of what is left."""
        total, there = np.zeros(records.num_rows), set(records.schema.names)
        for one in self.layout.made.values():
            if isinstance(one, Cell) and set(one.names) <= there:
                known = ~np.isnan(self._number(records, one.names[0]))
                total -= np.where(known, math.log(one.widths[0] * one.widths[1]), 0.0)
            if isinstance(one, Share) and set(one.reads) <= there:
                numbers = {name: self._number(records, name) for name in one.reads}
                total -= np.log(np.maximum(one.left(numbers, records.num_rows), 1.0))
        return total

    def describe(
        self, column: str, codes: Codes, given: Sequence[Condition] = (), measured: Sequence[Measurement] = ()
    ) -> pa.Table:
        """See `Model`. The band of a column that follows from others is that of the widest of them."""
        allowed, filters = self._translated(given)
        if self._has_formula(column) and not filters:
            return self.inner.describe(column, self.layout.measured_codes[column], allowed, measured)
        asked = self.condition(given)
        drawn = asked._drawn.codes[column]
        band = self._band(column, allowed, measured) / (asked._kept if filters else 1.0)
        if isinstance(codes, NumericCodec):
            return describe_ordered(codes, drawn, band)
        return describe_listed(codes, drawn, band)

    def _behind(self, column: str) -> list[str]:
        """The measured columns that decide a column of the table."""
        if column in self.layout.derived:
            return [name for other in self.layout.derived[column].reads for name in self._behind(other)]
        if self._is_measured(column):
            return [column]
        made = [name for name, one in self.layout.made.items() if column in one.gives]
        others = {other for name in made for other in self.layout.made[name].reads if other != column}
        return [*made, *(other for other in others if self._is_measured(other))]

    def _band(self, column: str, given: Sequence[Condition], measured: Sequence[Measurement]) -> float:
        bands = []
        for name in self._behind(column):
            table = self.inner.describe(name, self.layout.measured_codes[name], given, measured)
            bands.append(float(np.median(np.asarray(table["high"]) - np.asarray(table["low"]))) / 2)
        return max(bands, default=0.0)

    def estimate_mean(
        self, column: str, codes: Codes, given: Sequence[Condition], measured: Sequence[Measurement]
    ) -> tuple[float, float, float]:
        """See `Model`. The interval of a sum is as wide as those of its terms together."""
        allowed, filters = self._translated(given)
        if self._has_formula(column) and not filters:
            return self.inner.estimate_mean(column, self.layout.measured_codes[column], allowed, measured)
        asked = self.condition(given)
        if not isinstance(codes, NumericCodec):
            raise RequestError(f"the values of column {column!r} are no numbers and have no mean; use marginal")
        mean = float(numbers_of_codes(codes, asked._drawn.codes[column]).mean())
        reach = math.inf if filters or self.filters else self._reach(column, allowed, measured)
        reach = reach if codes.unit is None else float(codes.unit.counts(np.array([reach]))[0])
        return mean, max(codes.low, mean - reach), min(codes.high, mean + reach)

    def _reach(self, column: str, given: Sequence[Condition], measured: Sequence[Measurement]) -> float:
        """Half the width of a mean's interval, in units of the column; infinite where it is not known."""
        if self._is_measured(column) or column in self.layout.made:
            codes = self.layout.measured_codes[column]
            _, low, high = self.inner.estimate_mean(column, codes, given, measured)
            ends = np.array([low, high])
            low, high = codes.in_units(ends) if isinstance(codes, NumericCodec) else ends
            return float(high - low) / 2
        derived = self.layout.derived.get(column)
        if isinstance(derived, Computed) and not derived.equation.years:
            terms = derived.equation.terms
            return sum(abs(factor) * self._reach(name, given, measured) for factor, name in terms)
        gap = next(
            (made for made, one in self.layout.made.items() if isinstance(one, Gap) and one.column == column), ""
        )
        if not gap:
            return math.inf
        names = [gap, *(name for name in self.layout.made[gap].reads if name != column)]
        return sum(self._reach(name, given, measured) for name in names)

    def summarise(
        self,
        column: str,
        shares: Sequence[float],
        codes: Codes,
        given: Sequence[Condition],
        measured: Sequence[Measurement],
    ) -> list[tuple[float, float, float]]:
        """See `Model`."""
        allowed, filters = self._translated(given)
        if self._has_formula(column) and not filters:
            return self.inner.summarise(column, shares, self.layout.measured_codes[column], allowed, measured)
        return super().summarise(column, shares, codes, given, measured)

    def cdf(self, column: str, numbers: FloatArray, codes: Codes) -> FloatArray:
        """See `Model`."""
        if self._has_formula(column):
            return self.inner.cdf(column, numbers, self.layout.measured_codes[column])
        drawn = self._ordered(column, codes)
        return np.searchsorted(drawn, numbers, side="right") / len(drawn)

    def quantile(self, column: str, shares: FloatArray, codes: Codes) -> FloatArray:
        """See `Model`."""
        if self._has_formula(column):
            return self.inner.quantile(column, shares, self.layout.measured_codes[column])
        quantiles: FloatArray = np.quantile(self._ordered(column, codes), shares, method="inverted_cdf")
        return quantiles

    def _ordered(self, column: str, codes: Codes) -> FloatArray:
        if not isinstance(codes, NumericCodec):
            raise RequestError(f"the values of column {column!r} have no order; use marginal")
        drawn = numbers_of_codes(codes, self._drawn.codes[column])
        if not len(drawn):
            raise RequestError("no record has a value of this column under this condition; ask for a wider one")
        return drawn

    def dependence(self, first: str, second: str) -> float:
        """See `Model`."""
        if self._has_formula(first, second):
            return self.inner.dependence(first, second)
        return dependence_of(*(cells_of(self.codes[name], self._drawn.codes[name]) for name in (first, second)))

    def distance(self, other: Any) -> float:
        """See `Model`."""
        return self.inner.distance(other.inner)

    def to_parts(self) -> tuple[dict[str, Any], pa.Table]:
        """See `Model`: a bundle holds the inner model, and the schema the rest."""
        return self.inner.to_parts()

    @classmethod
    def from_parts(
        cls, content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]
    ) -> "ConstrainedModel":
        """A bundle holds the inner model alone."""
        del content, table, columns
        raise ValueError("a model of the table's columns is made from that of the measured ones")

    def tabulate_parameters(self, columns: Mapping[str, Codes], level: float) -> pa.Table:
        """See `Model`: the parameters are those of the measured columns."""
        del columns
        return self.inner.tabulate_parameters(self.layout.measured_codes, level)

    def choose_estimate(self, name: str) -> "ConstrainedModel":
        """See `Model`."""
        return replace(self, inner=self.inner.choose_estimate(name))


def constrain(model: Model, layout: Layout) -> Model:
    """The model of a table's columns, given that of the measured ones."""
    return model if layout.is_plain else ConstrainedModel(model, layout)
