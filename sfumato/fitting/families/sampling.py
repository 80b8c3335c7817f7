"""Draw persons with their rows in all tables: persons and first rows together, then one row after another.

All persons go one step at a time. A row is drawn given the rows above it, its place, the row before, and what earlier
rows told: components of a step that explained them well are likelier, by `Tuning.memory` of the evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.errors import RequestError
from sfumato.fitting.families.between import between_schemas
from sfumato.fitting.families.drawn_rows import DrawnRows, break_rules, concat
from sfumato.fitting.families.model import FamilyModel
from sfumato.fitting.families.step_mixture import StepMixture
from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.tuning import TuningConstants
from sfumato.fitting.violating_rows import find_violating_rows
from sfumato.trusted.arrays import BoolArray, CodeArray, Float32Array, FloatArray, IntArray
from sfumato.trusted.constraints.numbers import numbers_of, write_numbers
from sfumato.trusted.encoding import Batch, NumericCodec
from sfumato.trusted.encoding.code_arrays import Limits
from sfumato.trusted.families import FamilyLayout, TableLayout, View
from sfumato.trusted.families.views import PERSONS
from sfumato.trusted.schema import IntegerColumn, Schema


class Tuning(TuningConstants, group="families.sampling"):
    """See `sfumato.fitting.tuning`."""

    memory = 0.3  # of what earlier rows told of the components
    short = 0.1  # share of the distances between rows that are short


_TRIES = 20  # draws of a row that keep to no constraint, before it is left out
_ROUNDS = 200  # of persons, before a condition or the constraints count as impossible

Drawn = dict[str, DrawnRows]


@dataclass(frozen=True, eq=False)
class FamilySampler:
    """Draws from the model of a family."""

    model: FamilyModel
    layout: FamilyLayout
    limits: Mapping[str, Limits] = field(default_factory=dict)  # of columns of persons

    def draw(self, persons: int, rng: np.random.Generator) -> Drawn:
        """So many persons with all their rows."""
        found = self._draw_persons(persons, rng)
        for name in self.layout.family.in_order[1:]:
            found[name] = self._draw_table(name, found, rng)
        return found

    def keep(self, drawn: Drawn, persons: IntArray) -> Drawn:
        """The rows of some of the persons, who are numbered anew."""
        kept: Drawn = {}
        number: dict[str, IntArray] = {}
        root = self.layout.family.root
        for name in self.layout.family.in_order:
            rows = drawn[name]
            parent = self.layout.family.tables[name].parent
            chosen = persons if parent is None else np.flatnonzero(number[root][rows.person] >= 0)
            number[name] = np.full(len(rows), -1)
            number[name][chosen] = np.arange(len(chosen))
            mine = rows.take(chosen)
            above = number[parent][mine.parent] if parent is not None else number[name][chosen]
            kept[name] = replace(mine, person=number[root][mine.person], parent=above)
        return kept

    # persons and their first rows

    def _draw_persons(self, persons: int, rng: np.random.Generator) -> Drawn:
        """Persons and, for each child table, the first rows of those who have some."""
        parts: list[dict[str, DrawnRows]] = []
        left = persons
        for _ in range(_ROUNDS):
            found, kept = self._try_persons(max(left, 1), rng)
            chosen = np.flatnonzero(kept)[:left]
            parts.append(_of_persons(found, chosen, self.layout.family.root, persons - left))
            left -= len(chosen)
            if left == 0:
                return {name: concat([part[name] for part in parts]) for name in parts[0]}
        raise RequestError(
            "hardly any person keeps to the constraints between tables; check that they do not contradict"
        )

    def _try_persons(self, persons: int, rng: np.random.Generator) -> tuple[Drawn, BoolArray]:
        """Persons and first rows as drawn, and whether each person keeps to all constraints."""
        view, root = self.layout.views[PERSONS], self.layout.family.root
        codes = dict(self.model.persons.sample(persons, rng).codes)
        for target, labeller in self.model.labellers.get(PERSONS, {}).items():
            codes[target] = _label(self.model.persons, codes, target, labeller, rng)
        everybody = np.arange(persons)
        found = {root: self._rows_of(root, codes, everybody, everybody, rng)}
        kept = ~break_rules(codes, view.forbidden, persons)
        for child, count in self.layout.tables[root].counts.items():
            have = np.flatnonzero(self._held(root, count, codes[f"{root}.{count}"]) > 0)
            found[child] = self._rows_of(child, codes, have, have, rng)
            kept[have[self._violating(child, found[child], found)]] = False
        return found, kept

    def _rows_of(
        self, name: str, codes: Mapping[str, CodeArray], at: IntArray, parent: IntArray, rng: np.random.Generator
    ) -> DrawnRows:
        """First rows of a table, from the codes of records that hold them."""
        table = self.layout.tables[name]
        own = {column: codes[f"{name}.{column}"][at] for column in table.definitions if column != table.gap}
        if table.gap is not None:
            own[table.gap] = np.full(len(at), table.codes[table.gap].size - 1, dtype=np.int32)  # that of a null
        values = _decode(table, own, rng, limits=self.limits if name == self.layout.family.root else None)
        return DrawnRows(at, parent, np.zeros(len(at), dtype=np.int64), own, values, _order_of(table, values))

    def _held(self, table: str, count: str, codes: CodeArray) -> IntArray:
        """Numbers of rows, from their codes."""
        column = self.layout.tables[table].definitions[count]
        assert isinstance(column, IntegerColumn)  # noqa: S101 - numbers of rows are
        return codes.astype(np.int64) + int(column.bounds[0])

    # later rows

    def _draw_table(self, name: str, found: Drawn, rng: np.random.Generator) -> DrawnRows:
        """All rows of a table with a parent, by parent row and in order."""
        parent = self.layout.family.tables[name].parent or ""
        count = self.layout.tables[parent].counts[name]
        held = self._held(parent, count, found[parent].codes[count])
        rows = found[name] if name in found else self._draw_first(name, np.flatnonzero(held > 0), found, rng)
        parts = [rows]
        view = self.layout.views.get(f"{name}, next")
        memory = None if view is None else np.zeros((len(rows), len(self.model.steps[view.name].weights)), np.float32)
        place = 1
        while view is not None and memory is not None:
            on = np.flatnonzero(held[rows.parent] > place)
            if not len(on):
                break
            last, memory = rows.take(on), memory[on]
            known = self._known(view, found, last.person, last.parent, last, held[last.parent])
            rows, at = self._draw_rows(view, found, known, last, memory, rng)
            told = {f"previous {name}.{column}": codes[at] for column, codes in last.codes.items()}
            own = {f"{name}.{column}": codes for column, codes in rows.codes.items()}
            memory = memory[at] + Tuning.memory * self.model.steps[view.name].history(told, own)
            parts.append(rows)
            place += 1
        return concat(parts).in_order()

    def _draw_first(self, name: str, parents: IntArray, found: Drawn, rng: np.random.Generator) -> DrawnRows:
        """The first rows of a table on the third level, for these parent rows."""
        view = self.layout.views[f"{name}, first"]
        above = found[self.layout.family.tables[name].parent or ""]
        person = above.person[parents]
        known = self._known(view, found, person, parents, None, None)
        return self._draw_rows(view, found, known, (person, parents), None, rng)[0]

    def _known(
        self,
        view: View,
        found: Drawn,
        person: IntArray,
        parent: IntArray,
        last: DrawnRows | None,
        held: IntArray | None,
    ) -> dict[str, CodeArray]:
        """The codes of all that is known when a row is drawn."""
        family, known = self.layout.family, {}
        for one in view.columns:
            if one.which == "above":
                at = parent if one.table == family.tables[view.table].parent else person
                known[one.name] = found[one.table].codes[one.column][at]
            elif one.which == "previous" and last is not None:
                known[one.name] = last.codes[one.column]
            elif one.which in ("place", "left") and last is not None and held is not None:
                counted = last.place + 2 if one.which == "place" else held - last.place - 2
                known[one.name] = one.codes.encode(pa.array(counted))
        return known

    def _draw_rows(
        self,
        view: View,
        found: Drawn,
        known: Mapping[str, CodeArray],
        last: DrawnRows | tuple[IntArray, IntArray],
        memory: Float32Array | None,
        rng: np.random.Generator,
    ) -> tuple[DrawnRows, IntArray]:
        """A row after each of these, or a first one, and whose it is; those that keep to no constraint are left out."""
        person, parent = last if isinstance(last, tuple) else (last.person, last.parent)
        parts, places = [], []
        pending = np.arange(len(person))
        for _ in range(_TRIES):
            some = {name: codes[pending] for name, codes in known.items()}
            before = None if isinstance(last, tuple) else last.take(pending)
            drawn, kept = self._try_rows(view, some, before, None if memory is None else memory[pending], rng)
            rows = replace(drawn, person=person[pending], parent=parent[pending])
            kept &= ~self._violating(view.table, rows, found)
            parts.append(rows.take(np.flatnonzero(kept)))
            places.append(pending[kept])
            pending = pending[~kept]
            if not len(pending):
                break
        at = np.concatenate(places)
        order = np.argsort(at, kind="stable")
        return concat(parts).take(order), at[order]

    def _try_rows(
        self,
        view: View,
        known: Mapping[str, CodeArray],
        last: DrawnRows | None,
        memory: Float32Array | None,
        rng: np.random.Generator,
    ) -> tuple[DrawnRows, BoolArray]:
        """Rows as drawn, and whether each keeps to the bounds of its order and to the rules of its table."""
        table, model = self.layout.tables[view.table], self.model.steps[view.name]
        codes, component = model.draw(known, view.names("own"), rng, memory, self._room(view, last, known))
        for target, labeller in self.model.labellers.get(view.name, {}).items():
            codes[target] = _label(model, {**known, **codes}, target, labeller, rng, component)
        own = {name.removeprefix(f"{view.table}."): code for name, code in codes.items()}
        rows = len(component)
        kept = np.ones(rows, dtype=bool)
        place = np.zeros(rows, dtype=np.int64) if last is None else last.place + 1
        values, order = {}, None
        if last is not None and table.gap is not None and table.ordered_by is not None and last.order is not None:
            order = last.order + _numbers(table, table.gap, own[table.gap], rng)
            kept = ~(order > span(table.order_codes)[1])
            values[table.ordered_by] = write_numbers(_ordered(table), order)
            order = numbers_of(_ordered(table), values[table.ordered_by])
            own[table.ordered_by] = table.codes[table.ordered_by].encode(values[table.ordered_by])
        elif table.gap is not None:
            own[table.gap] = np.full(rows, table.codes[table.gap].size - 1, dtype=np.int32)
        kept &= ~break_rules(own, table.layout.measured.forbidden, rows)
        decoded = _decode(table, own, rng, values)
        found = order if order is not None else _order_of(table, decoded)
        nothing = np.zeros(rows, dtype=np.int64)
        return DrawnRows(nothing, nothing, place, own, decoded, found), kept

    def _room(self, view: View, last: DrawnRows | None, known: Mapping[str, CodeArray]) -> dict[str, CodeArray]:
        """The largest distance from the row before that leads neither beyond the bound of the order nor so near to it
        that the rows which are still to come would all stand there.
        """
        table = self.layout.tables[view.table]
        if last is None or table.gap is None or last.order is None:
            return {}
        column = view.by_name[f"{view.table}.{table.gap}"]
        codes = column.codes
        assert isinstance(codes, NumericCodec)  # noqa: S101 - a distance is a number
        left = known[f"{view.table} (left)"].astype(np.float64)
        room = np.nan_to_num(span(table.order_codes)[1] - last.order, nan=np.inf)
        kept = np.minimum(left * self._short_distances[view.name], room)
        return {column.name: codes.steps_of(np.clip(room - kept, codes.low, codes.high))}

    @cached_property
    def _short_distances(self) -> Mapping[str, float]:
        """Of every view of rows that keep a distance: one that is short, as the release knows them."""
        found = {}
        for view, model in self.model.steps.items():
            table = self.layout.views[view].table
            column = self.layout.views[view].by_name.get(f"{table}.{self.layout.tables[table].gap}")
            if column is not None:
                one = model.column_model(column.name)
                found[view] = float(one.quantile(column.name, np.array([Tuning.short]), column.codes)[0])
        return found

    # constraints between tables

    @cached_property
    def _between(self) -> Mapping[str, Schema]:
        return between_schemas(self.layout.family)

    def _violating(self, name: str, rows: DrawnRows, found: Drawn) -> BoolArray:
        """Whether each row breaks a constraint between its table and those above."""
        if name not in self._between:
            return np.zeros(len(rows), dtype=bool)
        columns = {f"{name}.{column}": rows.values.column(column) for column in rows.values.column_names}
        for above in self.layout.family.path(name)[:-1]:
            at = rows.parent if above == self.layout.family.tables[name].parent else rows.person
            values = found[above].values.take(pa.array(at))
            columns |= {f"{above}.{column}": values.column(column) for column in values.column_names}
        found_broken = find_violating_rows(self._between[name], pa.table(columns)).values()
        broken: BoolArray = np.logical_or.reduce([np.zeros(len(rows), dtype=bool), *found_broken])
        return broken


def _of_persons(found: Drawn, chosen: IntArray, root: str, start: int) -> Drawn:
    """The rows of some persons, who are numbered from `start` on."""
    number = np.full(len(found[root]), -1)
    number[chosen] = start + np.arange(len(chosen))
    kept = {}
    for name, rows in found.items():
        mine = rows.take(chosen if name == root else np.flatnonzero(number[rows.person] >= 0))
        kept[name] = replace(mine, person=number[mine.person], parent=number[mine.parent])
    return kept


def _decode(
    table: TableLayout,
    codes: Mapping[str, CodeArray],
    rng: np.random.Generator,
    known: Mapping[str, pa.Array] | None = None,
    limits: Mapping[str, Limits] | None = None,
) -> pa.Table:
    measured = {name: codes[name] for name in table.measured}
    rows = len(next(iter(measured.values())))
    return table.layout.decode(Batch(rows, measured), rng, limits or {}, known or {})


def _ordered(table: TableLayout) -> NumericCodec:
    codes = table.order_codes
    assert codes is not None  # noqa: S101 - asked of ordered tables alone
    return codes


def span(codes: NumericCodec | None) -> tuple[float, float]:
    """The lowest and highest number of a column, in its units."""
    assert codes is not None  # noqa: S101 - asked of ordered tables alone
    low, high = codes.in_units(np.array([codes.low, codes.high]))
    return float(low), float(high)


def _order_of(table: TableLayout, values: pa.Table) -> FloatArray | None:
    """The numbers by which rows follow each other, where that column is released."""
    if table.gap is None or table.ordered_by is None:
        return None
    return numbers_of(_ordered(table), values.column(table.ordered_by).combine_chunks())


def _numbers(table: TableLayout, name: str, codes: CodeArray, rng: np.random.Generator) -> FloatArray:
    """The numbers that the codes of a column stand for; NaN for a null."""
    codec = table.codes[name]
    decoded = codec.decode(codes, rng.random(len(codes)))
    numbers: FloatArray = decoded.to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def _label(
    model: TableMixture | StepMixture,
    codes: Mapping[str, CodeArray],
    target: str,
    labeller: Labeller,
    rng: np.random.Generator,
    component: IntArray | None = None,
) -> CodeArray:
    """Codes of a target as its labeller draws it; rows that are not there keep none."""
    own = codes[target]
    rows = len(own)
    if isinstance(model, TableMixture):  # a condition may leave some classes alone
        held = np.bincount(model.columns[target].groups, weights=model.marginal(target), minlength=len(labeller.share))
        labeller = labeller.given((held[: len(labeller.share)] > 0).astype(np.float64))
    probabilities = labeller.probabilities(Batch(rows, codes))
    label = labeller.draw(probabilities, np.zeros(rows, dtype=np.int64) if component is None else component, rng)
    if isinstance(model, StepMixture):
        before = model.shapes[target].grid.cells_of(own).astype(np.int64)
        drawn = model.shapes[target].draw(label, rng)
    else:
        pieces = model.columns[target]
        before = pieces.groups[pieces.place(own)[0]]
        drawn = pieces.draw(_pieces_in(model, target, label, rng), rng)
    changed = (before != label) & (before < len(labeller.share))
    return np.where(changed, drawn, own).astype(np.int32)


def _pieces_in(model: TableMixture, target: str, label: IntArray, rng: np.random.Generator) -> IntArray:
    """A piece of each of these classes, by what the model holds of it."""
    pieces, held = model.columns[target], model.marginal(target)
    found = np.zeros(len(label), dtype=np.int64)
    for one in np.unique(label):
        inside, at = np.flatnonzero(pieces.groups == one), np.flatnonzero(label == one)
        share = held[inside] + 1e-300
        found[at] = rng.choice(inside, len(at), p=share / share.sum())
    return found
