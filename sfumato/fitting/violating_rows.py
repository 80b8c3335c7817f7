"""Which records of a table break the constraints of its schema: value by value, whatever made the table."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.constraints.computed import Computed, LookedUp
from sfumato.trusted.constraints.layout import layout_of
from sfumato.trusted.constraints.numbers import numbers_of, write_numbers
from sfumato.trusted.encoding import Encoder, NumericCodec
from sfumato.trusted.schema import Schema
from sfumato.trusted.schema.bounds import constant_of
from sfumato.trusted.schema.constraint_checks import names_in
from sfumato.trusted.schema.constraints import (
    Allowed,
    Forbidden,
    Function,
    Implication,
    NullTogether,
    Total,
    describe,
)
from sfumato.trusted.schema.relations import Equation, Inequality, Limit, parse_relation

_ROUNDING = 1e-9  # relative: what sums of floats lose


def find_violating_rows(schema: Schema, table: pa.Table) -> dict[str, BoolArray]:
    """For each constraint that a record can break, by its text: whether each record of the table does.

    Constraints on columns that the table does not have are left out. A null keeps every relation. Values that are
    unreadable or out of bounds count as the schema reads them.
    """
    return _Violations(schema, table).find()


class _Violations:
    def __init__(self, schema: Schema, table: pa.Table) -> None:
        self._schema, self._codecs = schema, Encoder(schema).columns
        there = set(table.column_names)
        self._table = {name: _whole(table.column(name)) for name in schema.by_name if name in there}
        self._rows = table.num_rows
        self._numbers: dict[str, FloatArray] = {}

    def find(self) -> dict[str, BoolArray]:
        checks: dict[type, Callable[[Any], BoolArray]] = {
            Inequality: self._inequality,
            Limit: self._limit,
            Equation: self._equation,
            Function: self._function,
            Forbidden: lambda one: self._match(one.forbid),
            Implication: lambda one: self._match(one.when) & ~self._match(one.then),
            Allowed: self._allowed,
            Total: self._total,
            NullTogether: self._nulls,
        }
        found = {}
        for one in self._schema.constraints:
            parsed = parse_relation(one) if isinstance(one, str) else one
            if type(parsed) in checks and set(names_in(parsed)) <= set(self._table):
                found[describe(one)] = checks[type(parsed)](parsed)
        return found

    def _number(self, name: str) -> FloatArray:
        if name not in self._numbers:
            codes = self._codecs[name]
            assert isinstance(codes, NumericCodec)  # noqa: S101 - the schema has been checked
            self._numbers[name] = numbers_of(codes, self._table[name])
        return self._numbers[name]

    def _inequality(self, one: Inequality) -> BoolArray:
        above, below = self._number(one.greater), self._number(one.lesser) + one.offset
        margin = _ROUNDING * np.maximum(np.abs(above), np.abs(below))
        broken: BoolArray = (above <= below) if one.strict else (above < below - margin)
        return broken

    def _limit(self, one: Limit) -> BoolArray:
        number, end = self._number(one.column), constant_of(self._schema[one.column], one.constant)
        too_far = number > end if one.below else number < end
        broken: BoolArray = too_far | (number == end) if one.strict else too_far
        return broken

    def _equation(self, one: Equation) -> BoolArray:
        computed = layout_of(self._schema).derived[one.column]
        assert isinstance(computed, Computed)  # noqa: S101 - equations are
        right = computed.compute({name: self._number(name) for name in one.sources})
        codes = self._codecs[one.column]
        assert isinstance(codes, NumericCodec)  # noqa: S101 - the schema has been checked
        written, own = numbers_of(codes, write_numbers(codes, right)), self._number(one.column)
        apart = np.abs(own - written) > _ROUNDING * np.maximum(np.abs(own), 1.0)
        broken: BoolArray = apart & ~np.isnan(right) & ~np.isnan(own)
        return broken

    def _function(self, one: Function) -> BoolArray:
        child, parent = (self._codecs[name].encode(self._table[name]) for name in (one.column, one.of))
        looked = layout_of(self._schema).derived.get(one.column)
        if isinstance(looked, LookedUp):
            unlike: BoolArray = child != looked.codes()[parent]
            return unlike
        size = self._codecs[one.column].size  # learnt: the likeliest child of each parent
        counts = np.bincount(parent.astype(np.int64) * size + child, minlength=size * self._codecs[one.of].size)
        broken: BoolArray = child != counts.reshape(-1, size).argmax(axis=1)[parent]
        return broken

    def _match(self, wanted: Mapping[str, Any]) -> BoolArray:
        """Whether each record has the values that a rule names."""
        matching: BoolArray = np.logical_and.reduce([self._has(name, value) for name, value in wanted.items()])
        return matching

    def _has(self, name: str, wanted: Any) -> BoolArray:
        codes = self._codecs[name]
        own = codes.encode(self._table[name])
        missing = own == codes.missing if codes.missing is not None else np.zeros(self._rows, dtype=bool)
        if isinstance(wanted, dict) and "missing" in wanted:
            nulls: BoolArray = missing == wanted["missing"]
            return nulls
        if isinstance(wanted, dict) and "not" in wanted:
            return ~self._has(name, wanted["not"])
        if isinstance(wanted, dict):
            low, high = (
                constant_of(self._schema[name], wanted[end]) if end in wanted else None for end in ("from", "to")
            )
            number = self._number(name)
            return ~missing & (low is None or number >= low) & (high is None or number <= high)
        values = wanted if isinstance(wanted, list) else [wanted]
        if isinstance(codes, NumericCodec):
            numbers = [constant_of(self._schema[name], value) for value in values if value is not None]
            return np.isin(self._number(name), numbers) | (missing & (None in values))
        return np.isin(own, [code for value in values if (code := codes.code_of(value)) is not None])

    def _allowed(self, one: Allowed) -> BoolArray:
        held = [self._has(name, {"missing": True}) for name in one.allow]
        kept = np.zeros(self._rows, dtype=bool)
        for row in one.table:
            alike = [self._has(name, value) | null for name, value, null in zip(one.allow, row, held, strict=True)]
            kept |= np.logical_and.reduce(alike)
        return ~kept

    def _total(self, one: Total) -> BoolArray:
        whole = self._number(one.total) if isinstance(one.total, str) else np.full(self._rows, one.total)
        parts = np.sum([self._number(name) for name in one.of], axis=0)
        broken: BoolArray = np.abs(parts - whole) > _ROUNDING * np.maximum(np.abs(whole), 1.0)
        return broken

    def _nulls(self, one: NullTogether) -> BoolArray:
        first, *others = (self._has(name, None) for name in one.null_together)
        broken: BoolArray = np.logical_or.reduce([other != first for other in others])
        return broken


def _whole(array: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
