"""From the rows of some persons in all tables to the records of every view, and how much each of them counts.

Formal guarantees
    The records of a person, and their weights, are a function of the key and of the rows that lead to that person:
    their row in the table of persons, rows that name it, and rows that name these. Nobody else's rows enter, and the
    order in which rows come does not either. So taking a person out, with the rows that lead to that person and to
    nobody else, or putting one in, changes no record of anybody else.
    In each view the weights of a person's records add up to `PARTS` at most.
Edge cases
    A row that names no parent row, or one that is not there, and a row without a key where its table has one: left out.
    Of several rows of the table of persons with one key, and of several rows of one person with the same key, one
    counts. Of more rows of one parent row than the schema allows, so many are chosen by lot. A person who lacks rows in
    a table where the schema says that everybody has some: not in the view of persons.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.trusted.arrays import CodeArray, IntArray, WordArray
from sfumato.trusted.families.layout import FamilyLayout, TableLayout
from sfumato.trusted.families.tickets import Tickets, one_array
from sfumato.trusted.families.turns import numbers_of_turns
from sfumato.trusted.families.views import PERSONS, View, ViewColumn
from sfumato.trusted.keyed_numbers import choose_lowest
from sfumato.trusted.statistics.person_level import PARTS


@dataclass(frozen=True, eq=False)
class Records:
    """The records of one view: the codes of each, and how many parts of a person's unit each has."""

    weights: IntArray
    codes: Mapping[str, CodeArray]


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """The rows of a table that count, by parent row and in order.

    ticket     the place of each among the tickets
    parent     the number of the parent row
    place      among the rows of the same parent row, from 0 on
    siblings   how many rows that parent row has, this one among them
    codes      of all columns of a row, see `TableLayout`
    """

    ticket: IntArray
    person: IntArray
    parent: IntArray
    place: IntArray
    siblings: IntArray
    numbers: list[IntArray]
    turn: IntArray | None
    key: pa.LargeBinaryArray | None
    codes: dict[str, CodeArray] = field(default_factory=dict)


Linked = dict[str, LinkedRows]


def assemble(layout: FamilyLayout, tickets: Tickets, rows: Mapping[str, pa.Table]) -> dict[str, Records]:
    """The records of every view, from the tickets of all rows of some persons."""
    kept = link_rows(layout, tickets, rows)
    return {name: _records(layout, view, kept) for name, view in layout.views.items()}


def link_rows(layout: FamilyLayout, tickets: Tickets, rows: Mapping[str, pa.Table]) -> Linked:
    """The rows that count, from the tickets of all rows of some persons."""
    kept: Linked = {}
    persons = pa.array([], pa.large_binary())
    for name, table in layout.tables.items():
        batch = rows[name].combine_chunks()
        if name == layout.family.root:
            persons, kept[name] = _keep_persons(tickets, table, batch)
            words = tickets.hash_persons(persons)
        else:
            kept[name] = _keep_rows(layout, tickets, table, batch, persons, words, kept)
    for name, table in layout.tables.items():
        for child, count in table.counts.items():
            held = np.bincount(kept[child].parent, minlength=len(kept[name].person))
            kept[name].codes[count] = table.codes[count].encode(pa.array(held))
        if table.gap is not None:
            kept[name].codes[table.gap] = table.codes[table.gap].encode(_gaps(kept[name]))
    return kept


def _keep_persons(tickets: Tickets, table: TableLayout, batch: pa.Table) -> tuple[pa.LargeBinaryArray, LinkedRows]:
    """One row for each person, in the order of the persons that are returned."""
    named = one_array(batch, "person").dictionary_encode()
    persons, person = named.dictionary, named.indices.to_numpy().astype(np.int64)
    codes = tickets.codes_in(table.name, batch)
    numbers = tickets.numbers(table.name, tickets.hash_persons(persons)[person], batch)
    chosen = choose_lowest(person, numbers, 1)
    chosen = chosen[np.argsort(person[chosen], kind="stable")]
    nothing = np.zeros(len(chosen), dtype=np.int64)
    numbers = [one[chosen] for one in numbers]
    rows = LinkedRows(chosen, person[chosen], nothing - 1, nothing, nothing + 1, numbers, None, None)
    rows.codes.update({name: column[chosen] for name, column in codes.items()})
    return persons, rows


def _keep_rows(
    layout: FamilyLayout,
    tickets: Tickets,
    table: TableLayout,
    batch: pa.Table,
    persons: pa.LargeBinaryArray,
    words: WordArray,
    kept: Linked,
) -> LinkedRows:
    """The rows of a child table that count."""
    above = kept[table.table.parent or ""]
    person = _place_in(one_array(batch, "person"), persons)
    parent = person if above.key is None else _parent_rows(person, one_array(batch, "parent"), above)
    key = one_array(batch, "key") if tickets.has_key(table.name) else None
    there = (person >= 0) & (parent >= 0)
    if key is not None:
        there &= key.is_valid().to_numpy(zero_copy_only=False)
    found = np.flatnonzero(there)
    person, parent, batch = person[found], parent[found], batch.take(pa.array(found))
    key = None if key is None else key.take(pa.array(found))
    codes = tickets.codes_in(table.name, batch)
    numbers = tickets.numbers(table.name, words[person], batch)
    if key is not None:
        distinct = key.dictionary_encode()
        same = np.unique(person * len(distinct.dictionary) + distinct.indices.to_numpy(), return_inverse=True)[1]
        chosen = choose_lowest(same, numbers, 1)
    else:
        chosen = np.arange(len(person))
    chosen = chosen[
        choose_lowest(parent[chosen], [one[chosen] for one in numbers], layout.family.rows_of(table.name)[1])
    ]
    turn = None if table.ordered_by is None else one_array(batch, "turn").to_numpy()
    last_first = [*reversed(numbers), *([] if turn is None else [turn]), parent]
    chosen = chosen[np.lexsort([one[chosen] for one in last_first])]
    parent = parent[chosen]
    starts = np.flatnonzero(np.diff(parent, prepend=-1))
    held = np.diff(starts, append=len(parent))
    rows = LinkedRows(
        found[chosen],
        person[chosen],
        parent,
        np.arange(len(parent)) - np.repeat(starts, held),
        np.repeat(held, held),
        [one[chosen] for one in numbers],
        None if turn is None else turn[chosen],
        None if key is None else key.take(pa.array(chosen)),
    )
    rows.codes.update({name: column[chosen] for name, column in codes.items()})
    return rows


def keep_named(tickets: Tickets, name: str, rows: pa.Table) -> pa.Table:
    """Of a table whose rows do not say whose they are: not more rows of one key than a parent row may have, by lot.

    What is kept of a key depends on the rows that name it alone. So there are never more rows for those who have a row
    with that key than these can have, however many rows name it.
    """
    parent = one_array(rows, "parent")
    words = tickets.hash_keys(name, parent)
    group = parent.dictionary_encode().indices.to_numpy()
    kept = choose_lowest(group, tickets.numbers(name, words, rows), tickets.layout.family.rows_of(name)[1])
    return rows.take(pa.array(kept))


def _place_in(ids: pa.LargeBinaryArray, known: pa.LargeBinaryArray) -> IntArray:
    """The place of each id among known ones; -1 where it is not, or there is none."""
    places = pc.fill_null(pc.index_in(ids, value_set=known, skip_nulls=True), -1)
    found: IntArray = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _parent_rows(person: IntArray, named: pa.LargeBinaryArray, above: LinkedRows) -> IntArray:
    """The row of the same person that has the named key; -1 where there is none."""
    assert above.key is not None  # noqa: S101 - only rows with keys are named
    distinct = above.key.dictionary_encode()
    size = max(len(distinct.dictionary), 1)
    there = above.person * size + distinct.indices.to_numpy()
    order = np.argsort(there)
    wanted = person * size + _place_in(named, distinct.dictionary)
    wanted[_place_in(named, distinct.dictionary) < 0] = -1
    places = np.searchsorted(there[order], wanted).clip(max=max(len(there) - 1, 0))
    if not len(there):
        return np.full(len(person), -1)
    found: IntArray = np.where(there[order][places] == wanted, order[places], -1)
    return found


def _gaps(rows: LinkedRows) -> pa.Array:
    """The distance of each row from the one before; null for first rows, and where one of the two has no value."""
    numbers = np.zeros(0) if rows.turn is None else numbers_of_turns(rows.turn)
    gaps = np.diff(numbers, prepend=np.nan)
    return pa.array(np.where(rows.place > 0, gaps, np.nan), from_pandas=True)


def _records(layout: FamilyLayout, view: View, kept: Linked) -> Records:
    table = kept[view.table]
    if view.name == PERSONS or view.having is not None:
        own = _everybody(layout, kept, view.having)
    elif view.names("previous"):
        own = np.flatnonzero(table.place > 0)
    else:
        own = np.flatnonzero(table.place == 0)
    person = table.person[own]
    own = own[choose_lowest(person, [one[own] for one in table.numbers], PARTS)]
    person = table.person[own]
    return Records(share_unit(person), codes_of_view(layout, view, kept, own))


def share_unit(person: IntArray) -> IntArray:
    """The weight of each record: those of one person share the parts of one unit."""
    shares: IntArray = PARTS // np.bincount(person, minlength=1)[person]
    return shares


def codes_of_view(layout: FamilyLayout, view: View, kept: Linked, own: IntArray) -> dict[str, CodeArray]:
    """The codes of every column of a view, for records of these rows of its table."""
    return {one.name: _codes(layout, view, one, kept, own) for one in view.columns}


def _everybody(layout: FamilyLayout, kept: Linked, having: str | None) -> IntArray:
    """The rows of persons who have rows wherever the schema says that everybody has some, and in one table more."""
    root = layout.family.root
    there = np.ones(len(kept[root].person), dtype=bool)
    for child in layout.family.children(root):
        if layout.family.rows_of(child)[0] > 0 or child == having:
            there &= np.bincount(kept[child].parent, minlength=len(there)) > 0
    return np.flatnonzero(there)


def _codes(layout: FamilyLayout, view: View, column: ViewColumn, kept: Linked, own: IntArray) -> CodeArray:
    """The codes of one column of a view, for records of these rows."""
    table, rows = kept[view.table], kept[column.table]
    match column.which:
        case "own":
            return rows.codes[column.column][own]
        case "previous":
            return rows.codes[column.column][own - 1]
        case "above":
            at = table.parent[own] if column.table == layout.family.tables[view.table].parent else table.person[own]
            return rows.codes[column.column][at]
        case "first":
            return _codes_of_first(column, rows, len(table.person))[own]
        case "place" | "left":
            place = table.place[own] + 1
            counted = place if column.which == "place" else table.siblings[own] - place
            return column.codes.encode(pa.array(counted))


def _codes_of_first(column: ViewColumn, rows: LinkedRows, persons: int) -> CodeArray:
    """The codes of every person's first row; where there is none, that of a null, the last that there is."""
    first = np.flatnonzero(rows.place == 0)
    codes = np.full(persons, column.codes.size - 1, dtype=np.int32)
    codes[rows.parent[first]] = rows.codes[column.column][first]
    return codes
