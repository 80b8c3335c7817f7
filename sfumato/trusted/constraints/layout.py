"""Which columns a release measures, how a record of the table leads to them, and how they lead back to one.

The measured columns are those of the schema, but for
    a column that is never below others   measured as its distance from them, see `gaps`
    columns that add up to a total        measured as shares of what is left, see `totals`
    two columns that are a place          measured as one, see `places`
    listed columns with rules             measured as one where they have few combinations, see `joints`
    a column that follows from others     not measured, see `computed`
Rules on combinations of values are kept by the model that is fitted, see `rules`.

Formal guarantees
    The codes of a record in the measured columns are a function of that record alone: elementwise arithmetic on what
    its own cells are read as. So a record has one code in each measured column, and every statistic of these columns
    has the sensitivity that it argues. Under label adjacency only the measured target may depend on the label: see
    `target_moves_a_feature`.
Edge cases
    Values that break a constraint are no error: they are measured as the nearest that keeps it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from graphlib import TopologicalSorter
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import CodeArray, FloatArray
from sfumato.trusted.constraints.computed import Computed, LookedUp
from sfumato.trusted.constraints.definitions import Made, define
from sfumato.trusted.constraints.gaps import Gap
from sfumato.trusted.constraints.joints import Joint
from sfumato.trusted.constraints.numbers import numbers_of, write_numbers
from sfumato.trusted.constraints.places import CELLS, Cell
from sfumato.trusted.constraints.rules import forbidden_combinations, joined_columns
from sfumato.trusted.constraints.totals import Parts, Share
from sfumato.trusted.encoding import Batch, CategoricalCodec, Codes, Encoder, NumericCodec
from sfumato.trusted.encoding.code_arrays import Limits
from sfumato.trusted.identity import ByIdentity
from sfumato.trusted.schema import Column, Schema
from sfumato.trusted.schema.bounds import kind_of, least_gap, span_of, tightened, with_bounds
from sfumato.trusted.schema.constraints import Function, Key, Place, Total
from sfumato.trusted.schema.relations import Equation, Inequality, parse_relation


class Chance(Protocol):
    """What tells where in an interval a value lies."""

    def random(self, size: int, /) -> FloatArray:
        """Numbers between 0 and 1."""


Derived = Computed | LookedUp


@dataclass(frozen=True, eq=False)
class Layout:
    """The measured columns of a schema: see the top of this file."""

    schema: Schema

    @cached_property
    def _relations(self) -> list[Any]:
        return [parse_relation(one) if isinstance(one, str) else one for one in self.schema.constraints]

    def _all(self, kind: type) -> Iterator[Any]:
        return (one for one in self._relations if isinstance(one, kind))

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """Columns of fresh ids, and their formats."""
        return {one.key: one.format for one in self._all(Key)}

    @cached_property
    def functions(self) -> tuple[tuple[str, str], ...]:
        """Pairs (child, parent): the child is a function of the parent that has to be learnt."""
        return tuple((one.column, one.of) for one in self._all(Function) if one.table is None)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The table's columns with the bounds that the constraints leave them."""
        bounds = tightened(self._relations, self.schema.by_name)
        narrow = {
            name: with_bounds(self.schema[name], span)
            for name, span in bounds.items()
            if span != span_of(self.schema[name])
        }
        return {**self.schema.by_name, **narrow}

    @cached_property
    def codes(self) -> Mapping[str, Codes]:
        """The codes of the table's columns within these bounds."""
        return Encoder(_without_constraints(self.schema, list(self.columns.items()), self.schema.target)).columns

    @cached_property
    def made(self) -> Mapping[str, Made]:
        """The measured columns that are not columns of the table, in the order in which each leads back."""
        gaps: dict[str, list[Inequality]] = {}
        for one in self._all(Inequality):
            gaps.setdefault(one.greater, []).append(one)
        order = TopologicalSorter({name: {one.lesser for one in found} for name, found in gaps.items()}).static_order()
        made: dict[str, Made] = {}
        for name in order:
            if name in gaps:
                made[self._name(f"{name} - {gaps[name][0].lesser}")] = self._gap(name, gaps[name])
        for one in self._all(Total):
            parts = Parts(one.of, one.total, self._step(one.of[0]))
            for place in range(len(one.of) - 1):
                made[self._name(f"{one.of[place]} / rest")] = Share(parts, place)
        for one in self._all(Place):
            lows, highs = zip(*(span_of(self.columns[name]) for name in one.place), strict=True)
            widths = tuple((high - low) / CELLS**0.5 for low, high in zip(lows, highs, strict=True))
            made[self._name(", ".join(one.place))] = Cell(one.place, lows, widths)
        return made | {self._name(" & ".join(joint.names)): joint for joint in joined_columns(self)}

    def _name(self, name: str) -> str:
        while name in self.schema.by_name:
            name += "'"
        return name

    def _step(self, name: str) -> float:
        spacing = getattr(self.columns[name], "spacing", None)
        return float(spacing) if spacing is not None else float(self.columns[name].type == "integer")

    def _gap(self, name: str, found: list[Inequality]) -> Gap:
        references = tuple((one.lesser, least_gap(one, self.schema.by_name)) for one in found)
        return Gap(name, references, min(span_of(self.columns[other])[0] + least for other, least in references))

    @cached_property
    def derived(self) -> Mapping[str, Derived]:
        """The columns of the table that are computed, in an order in which they can be."""
        found: dict[str, Derived] = {}
        for one in self._all(Equation):
            found[one.column] = Computed(one, kind_of(self.schema[one.sources[0]]) == "datetime")
        for one in self._all(Function):
            if one.table is not None:
                found[one.column] = LookedUp(
                    one.column, one.of, self._listed(one.column), self._listed(one.of), one.table
                )
        order = TopologicalSorter({name: set(one.reads) for name, one in found.items()}).static_order()
        return {name: found[name] for name in order if name in found}

    def _listed(self, name: str) -> CategoricalCodec:
        codes = self.codes[name]
        assert isinstance(codes, CategoricalCodec)  # noqa: S101 - the schema has been checked
        return codes

    def _ordered(self, name: str) -> NumericCodec:
        codes = self.codes[name]
        assert isinstance(codes, NumericCodec)  # noqa: S101 - the schema has been checked
        return codes

    @property
    def is_plain(self) -> bool:
        """Whether the measured columns are those of the table, with the same codes."""
        return (
            not self.made
            and not self.derived
            and all(column is self.schema[name] for name, column in self.columns.items())
        )

    @cached_property
    def measured(self) -> Schema:
        """The schema of the measured columns, with the rules that a model of them must keep."""
        if not self.schema.constraints:
            return self.schema
        return self._without_rules.with_rules(forbidden_combinations(self), self.functions)

    @cached_property
    def _without_rules(self) -> Schema:
        return _without_constraints(self.schema, list(self._measured_columns()), self._measured_target)

    @cached_property
    def measured_codes(self) -> Mapping[str, Codes]:
        """The codes of the measured columns."""
        return Encoder(self._without_rules if self.schema.constraints else self.schema).columns

    @property
    def _measured_target(self) -> str | None:
        target = self.schema.target
        made = next((name for name, one in self.made.items() if target in one.gives), None)
        return made or target

    def _measured_columns(self) -> Iterator[tuple[str, Column]]:
        """In the order of the table; a column that is made stands where the first that follows from it stood."""
        given = {name: made for made, one in self.made.items() for name in one.gives}
        seen = set()
        for name, column in self.columns.items():
            if name in self.derived:
                continue
            if name not in given:
                yield name, column
            elif (made := given[name]) not in seen:
                seen.add(made)
                yield made, define(made, self.made[made], self.columns)

    @property
    def target_moves_a_feature(self) -> bool:
        """Whether a measured column besides the target's depends on the target, so that a label moves a feature."""
        target = self.schema.target
        return any(target in one.reads and target not in one.gives for one in self.made.values())

    def reads(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of the table that some measured columns are made of."""
        found = dict.fromkeys(other for name in names for other in self._needed(name))
        return tuple(found)

    def _needed(self, name: str) -> Iterator[str]:
        if name not in self.made:
            yield name
            return
        for other in self.made[name].reads:
            yield other
            behind = next((one for one in self.made.values() if isinstance(one, Gap) and one.column == other), None)
            if behind is not None and behind is not self.made[name]:
                yield from self.reads([made for made, one in self.made.items() if one is behind])

    def encode(self, records: pa.RecordBatch, names: Iterable[str] | None = None) -> Batch:
        """The codes of each record in the named measured columns, all by default."""
        wanted = tuple(self.measured_codes if names is None else names)
        numbers = _Numbers(self, records)
        return Batch(records.num_rows, {name: self._encode_one(name, records, numbers) for name in wanted})

    def _encode_one(self, name: str, records: pa.RecordBatch, numbers: "_Numbers") -> CodeArray:
        one = self.made.get(name)
        if isinstance(one, Joint):
            made = one.forward([self.codes[other].encode(records.column(other)) for other in one.names])
        else:
            made = records.column(name) if one is None else pa.array(one.forward(numbers))
        return self.measured_codes[name].encode(made)

    def decode(
        self,
        batch: Batch,
        rng: Chance,
        limits: Mapping[str, Limits],
        known: Mapping[str, pa.Array] = MappingProxyType({}),
    ) -> pa.Table:
        """Records of the table from codes of the measured columns; those that are there, and what follows from them.

        `limits` are of columns of the table that are measured as they are; `known` are values of such columns, where
        they are known better than their codes tell.
        """
        found: dict[str, pa.Array] = {}
        numbers: dict[str, FloatArray] = {}
        drawn = {name: self._decode_one(batch, name, rng, limits) for name in batch.codes if name not in known}
        drawn |= known
        for name in drawn.keys() - self.made.keys():
            found[name] = drawn[name]
            if isinstance(self.codes[name], NumericCodec):
                numbers[name] = numbers_of(self._ordered(name), drawn[name])
        for name, one in self.made.items():
            if name not in drawn:
                continue
            if isinstance(one, Joint):
                found |= one.backward(batch.codes[name])
            else:
                self._lead_back(one, drawn[name], numbers, found, rng)
        for name, derived in self.derived.items():
            if all(other in found for other in derived.reads):
                self._derive(name, derived, numbers, found)
        return pa.table({name: found[name] for name in self.schema.by_name if name in found})

    def _decode_one(self, batch: Batch, name: str, rng: Chance, limits: Mapping[str, Limits]) -> pa.Array:
        return self.measured_codes[name].decode(
            batch.codes[name], rng.random(batch.rows), limits.get(name, (None, None))
        )

    def _lead_back(
        self,
        one: Gap | Share | Cell,
        drawn: pa.Array,
        numbers: dict[str, FloatArray],
        found: dict[str, pa.Array],
        rng: Chance,
    ) -> None:
        """Add the columns that follow from a measured one, if those that they lie above or fill up are there."""
        if not all(other in numbers for other in one.reads if other not in one.gives):
            return
        number = drawn.to_numpy(zero_copy_only=False).astype(np.float64)
        back = (
            one.backward(number, (rng.random(len(number)), rng.random(len(number))))
            if isinstance(one, Cell)
            else one.backward(number, numbers)
        )
        least = one.base(numbers) if isinstance(one, Gap) else None
        for name, values in back.items():
            found[name] = write_numbers(self._ordered(name), values, least)
            numbers[name] = numbers_of(self._ordered(name), found[name])

    def _derive(self, name: str, one: Derived, numbers: dict[str, FloatArray], found: dict[str, pa.Array]) -> None:
        if isinstance(one, LookedUp):
            found[name] = one.look_up(found[one.of])
            return
        found[name] = write_numbers(self._ordered(name), one.compute(numbers))
        numbers[name] = numbers_of(self._ordered(name), found[name])


class _Numbers(dict[str, FloatArray]):
    """The numbers of records in the table's ordered columns, read when they are first asked for.

    A column that lies above others counts as lying no lower than they leave it room for.
    """

    def __init__(self, layout: Layout, records: pa.RecordBatch) -> None:
        super().__init__()
        self._layout, self._records = layout, records

    def __missing__(self, name: str) -> FloatArray:
        self[name] = numbers_of(self._layout._ordered(name), self._records.column(name))
        gap = next((one for one in self._layout.made.values() if isinstance(one, Gap) and one.column == name), None)
        if gap is not None:
            self[name] = np.maximum(self[name], gap.base(self))
        return self[name]


def _without_constraints(schema: Schema, columns: list[tuple[str, Column]], target: str | None) -> Schema:
    """A schema of these columns that has the rest in common with another."""
    named = tuple(
        column if column.name == name else column.model_copy(update={"name": name}) for name, column in columns
    )
    return Schema(
        sfumato=1,
        name=schema.name,
        columns=named,
        target=target,
        unit=schema.unit,
        public_features=schema.public_features,
        text=schema.text,
    )


def layout_of(schema: Schema) -> Layout:
    """The layout of a schema."""
    return _layout_of(ByIdentity(schema))


@lru_cache(maxsize=64)
def _layout_of(key: ByIdentity[Schema]) -> Layout:
    return Layout(key.value)
