"""Families that differ in one person, or in two: how far their sums are apart, and whose records changed.

Everybody's number stands in the column `who` of the persons, which every record has, so that records tell whose they
are.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.families.views import View
from sfumato.trusted.feature_maps import Features, Grid, Lookup, Softmax
from sfumato.trusted.feature_maps.features import COEFFICIENT_UNIT, DIRECTION_UNIT, VALUE_UNIT
from sfumato.trusted.identity import ByIdentity
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources.family_opening import open_family
from sfumato.trusted.statistics import Cells, CodeSums, Gradient, PersonLevel
from tests.families.making import Child, draw_row, family_of, shuffled, storage_of, to_arrow
from tests.families.slow import Records
from tests.statistics.hunting import norm

OTHERS = 8
NEW = OTHERS  # the person who comes, goes or changes; there are rows of theirs before they come
PEOPLE = OTHERS + 2  # as what the newcomer may say that they are, too
FRESH = 100  # keys from here on are the newcomer's alone
FAMILIES = {
    "ordered": family_of(
        (
            ("stays", Child("people", (0, 6), "number", target=True)),
            ("notes", Child("stays", (0, 3), "number", values=3)),
        ),
        PEOPLE,
    ),
    "not ordered": family_of(
        (("stays", Child("people", (1, 9))), ("notes", Child("stays", (1, 5))), ("calls", Child("people", (0, 3)))),
        PEOPLE,
    ),
    "by a column that is not released": family_of(
        (
            ("stays", Child("people", (0, 4), "running")),
            ("notes", Child("stays", (1, 3), "hidden day", person=True)),
            ("tests", Child("stays", (0, 4), "none", person=False)),
        ),
        PEOPLE,
    ),
}
WHO = "people.who"
_AT = {int: (1, 5), dt.date: (dt.date(2020, 1, 2), dt.date(2020, 1, 5))}

Content = dict[str, list[dict[str, Any]]]


def draw_others(rng: Random, family: FamilySchema) -> Content:
    """Rows of everybody else, and some that would be the newcomer's, or of nobody, with keys that persons share."""
    rows: Content = {family.root: [{"id": who, "who": who, "sex": rng.choice("fm")} for who in range(OTHERS)]}
    rows[family.root] += [{**row, "sex": rng.choice("fm")} for row in rng.sample(rows[family.root], 2)]
    for name in family.in_order[1:]:
        rows[name] = []
        for _ in range(30):
            row = draw_row(rng, family, name, rows, OTHERS)
            if "stays_id" in row and rng.random() < 0.1:  # a row that waits for the newcomer's
                row["stays_id"] = rng.randrange(FRESH, FRESH + 6)
                if family.level(name) == 2 and row["id"] != NEW:
                    row["stays_id"] = None
            rows[name].append(row)
    return rows


def draw_newcomer(rng: Random, family: FamilySchema) -> Content:
    """Rows that lead to the newcomer and to nobody else: some like each other, some with keys that others have."""
    rows: Content = {
        family.root: [
            {"id": NEW, "who": rng.randrange(OTHERS, PEOPLE), "sex": rng.choice("fm")}
            for _ in range(rng.choice([1, 3]))
        ]
    }
    for name in family.in_order[1:]:
        mine = [_of_newcomer(rng, family, name, rows) for _ in range(rng.choice([0, 1, 2, 3, 5, 12, 40]))]
        if mine and rng.random() < 0.5:  # the same again and again
            alike = {name: mine[0][name] for name in ("kind", "at") if name in mine[0]}
            mine = [{**row, **alike} for row in mine]
        rows[name] = mine
    return rows


def _of_newcomer(rng: Random, family: FamilySchema, name: str, rows: Content) -> dict[str, Any]:
    row = draw_row(rng, family, name, rows, OTHERS, untidy=False)
    if "id" in row:
        row["id"] = NEW
    shared = family.level(name) == 2 or family.tables[name].person is not None
    if "stays_id" in row and not (shared and rng.random() < 0.4):
        row["stays_id"] = rng.randrange(FRESH, FRESH + 6)
    return row


def a_crowd(family: FamilySchema, other: bool) -> Content:
    """A newcomer with the same row again and again in all tables; and another, with one row less of each parent row."""
    rows: Content = {family.root: [{"id": NEW, "who": OTHERS + other, "sex": "fm"[other]}]}
    for name in family.in_order[1:]:
        count = min(family.rows_of(name)[1], 5) - other
        same = draw_row(Random(2), family, name, rows, OTHERS, untidy=False)
        same |= {"kind": f"v{int(other)}"} | ({"id": NEW} if "id" in same else {})
        if "at" in same:
            same["at"] = _AT[type(same["at"])][other]
        if "stays_id" not in same:
            rows[name] = [dict(same) for _ in range(count)]
        elif family.level(name) == 2:
            rows[name] = [{**same, "stays_id": FRESH + place} for place in range(count)]
        else:
            rows[name] = [{**same, "stays_id": stay["stays_id"]} for stay in rows["stays"] for _ in range(count)]
    return rows


def together(rng: Random | None, *parts: Content) -> Content:
    """All rows, in any order where chance says so."""
    rows = {name: [row for part in parts for row in part[name]] for name in parts[0]}
    return rows if rng is None else shuffled(rng, rows)


@lru_cache(maxsize=128)
def _grid(codes: int) -> Grid:
    return Grid.of_cells(np.arange(codes) * min(codes, 40) // codes)


def cells_of(view: View, without: tuple[str, ...] = ()) -> Cells:
    """A stack of weighted tables of one and of two columns."""
    names = [one.name for one in view.columns if one.name not in without]
    pairs = [(names[place], names[(place + 3) % len(names)]) for place in range(len(names))]
    tables = (*((name,) for name in names), *(pair for pair in pairs if len(set(pair)) == 2))
    weights = tuple((1.0, 0.3, 2.5, 0.125)[place % 4] for place in range(len(tables)))
    return Cells(tables, {name: _grid(view.by_name[name].codes.size) for name in names}, None, weights)


def one_table(view: View, name: str) -> Cells:
    """One table of one column, in which many rows are alike."""
    return Cells(((name,),), {name: _grid(view.by_name[name].codes.size)}, None)


def sums_of(view: View) -> CodeSums:
    """The sums of all counts and places."""
    whole = [one for one in view.columns if one.which in ("place", "left") or one.column.startswith("number of")]
    sizes = {one.name: one.codes.size - 1 for one in whole}
    return CodeSums({name: most for name, most in sizes.items() if most > 0} or {WHO: PEOPLE - 1})


def gradient_of(view: View) -> Gradient:
    """A gradient of the last column by the ones before it."""
    rng = np.random.default_rng(1)
    *names, target = (one.name for one in view.columns if one.codes.size < 100)
    grids = {name: _grid(view.by_name[name].codes.size) for name in (*names, target)}
    lookups = tuple(
        Lookup((name,), (grids[name],), np.rint(rng.normal(size=(1, grids[name].size)) / VALUE_UNIT).astype(np.int32))
        for name in names
    )
    directions = np.rint(rng.normal(size=(len(lookups), 4)) / DIRECTION_UNIT).astype(np.int32)
    coefficients = np.rint(rng.normal(size=(5, grids[target].size)) / COEFFICIENT_UNIT).astype(np.int32)
    return Gradient(Softmax(Features(lookups, directions), coefficients), target, grids[target])


def statistics_of(family: FamilySchema) -> tuple[PersonLevel, ...]:
    """What is asked of every view."""
    return _statistics_of(ByIdentity(family))


@lru_cache(maxsize=32)
def _statistics_of(key: ByIdentity[FamilySchema]) -> tuple[PersonLevel, ...]:
    found: list[PersonLevel] = []
    for view in family_layout_of(key.value).views.values():
        kind = next(one.name for one in reversed(view.columns) if one.column == "kind")
        asked = (cells_of(view), one_table(view, kind), sums_of(view), gradient_of(view))
        found += [PersonLevel(one, view.name) for one in asked]
    return tuple(found)


@dataclass(frozen=True)
class Seen:
    """What the library makes of a family: every sum, and the records of every view by whose they are."""

    sums: tuple[np.ndarray, ...]
    records: Mapping[str, Mapping[int, Records]]


def total(family: FamilySchema, rows: Content, key: bytes, statistic: PersonLevel) -> np.ndarray:
    """The sum of one statistic."""
    with closing(open_family(to_arrow(rows, storage_of(family)), family, key, declared=True)) as source:
        return source.sum(statistic)


def look_at(family: FamilySchema, rows: Content, key: bytes) -> Seen:
    """The sums and records of a family, through the source that releases go through."""
    with closing(open_family(to_arrow(rows, storage_of(family)), family, key, declared=True)) as source:
        sums = tuple(source.sum(statistic) for statistic in statistics_of(family))
        found: dict[str, dict[int, Records]] = {}
        for name, view in source.layout.views.items():
            names = list(view.by_name)
            found[name] = {}
            for batch in source.records_of(name, names):
                for record in zip(*(batch.codes[column].tolist() for column in names), strict=True):
                    whose = found[name].setdefault(record[names.index(WHO)], Counter())
                    whose[batch.weight, record] += 1
    return Seen(sums, found)


def farthest(family: FamilySchema, here: Seen, there: Seen, adjacency: Adjacency) -> float:
    """The largest move of a sum, as a share of what is claimed."""
    moves = zip(statistics_of(family), here.sums, there.sums, strict=True)
    return max(norm(one, after - before) / one.sensitivity(adjacency) for one, before, after in moves)


def of_all_but(seen: Seen, *persons: int) -> dict[str, dict[int, Records]]:
    """The records of everybody else."""
    return {
        view: {who: records for who, records in found.items() if who not in persons}
        for view, found in seen.records.items()
    }


@dataclass(frozen=True)
class Move:
    """What a person did: how far sums went, as shares of the claims, and whether others stayed as they were."""

    came: float
    changed: float
    others_stayed: bool


def hunted(family: FamilySchema, tries: int, seed: int = 0, *, stirred: bool = True) -> Iterator[Move]:
    """A person comes, and then becomes another, or nothing but rows without a person, again and again.

    Where rows are `stirred`, each family has its own order of all rows.
    """
    rng = Random(seed)
    newcomer = range(OTHERS, PEOPLE)
    for attempt in range(tries):
        others, key = draw_others(rng, family), bytes([attempt])
        before, after = draw_newcomer(rng, family), draw_newcomer(rng, family)
        if attempt % 5 == 4:
            after[family.root] = []
        without, here, there = (
            look_at(family, together(rng if stirred else None, *parts), key)
            for parts in ((others,), (others, before), (others, after))
        )
        yield Move(
            farthest(family, without, here, Adjacency.ADD_REMOVE),
            farthest(family, here, there, Adjacency.REPLACE),
            of_all_but(without) == of_all_but(here, *newcomer) == of_all_but(there, *newcomer),
        )


def shares_of_crowds(family: FamilySchema, key: bytes) -> Iterator[float]:
    """How far crowds move tables of what their rows have in common, as shares of the claims, in every view."""
    others = draw_others(Random(3), family)
    for name in family.in_order[1:]:  # nothing waits for the newcomer
        others[name] = [row for row in others[name] if row.get("id") != NEW and (row.get("stays_id") or 0) < FRESH]
    one, other = (a_crowd(family, which) for which in (False, True))
    alone, here, there = (together(None, others, *crowd) for crowd in ([], [one], [other]))
    for view in family_layout_of(family).views.values():
        told = tuple(one.name for one in view.columns if one.which in ("place", "left") or "since" in one.name)
        cells = PersonLevel(cells_of(view, told), view.name)
        before, after, later = (total(family, rows, key, cells) for rows in (alone, here, there))
        yield norm(cells, after - before) / cells.sensitivity(Adjacency.ADD_REMOVE)
        yield norm(cells, later - before) / cells.sensitivity(Adjacency.ADD_REMOVE)
        yield norm(cells, later - after) / cells.sensitivity(Adjacency.REPLACE)
