"""Small families of every shape, with rows that are as untidy as rows can be."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from sfumato.trusted import keyed_numbers
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources import family_source, sums, temporary_files
from sfumato.trusted.sources.family_opening import open_family
from sfumato.trusted.sources.family_source import FamilySource
from tests.families.slow import Records, Rows, SlowFamily

ORDERS = ("none", "number", "day", "moment", "running", "hidden day")
_DAY, _MOMENT = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)
_BY = {
    "number": {"name": "at", "type": "integer", "bounds": [1, 6]},
    "day": {"name": "at", "type": "date", "bounds": ["2020-01-02", "2020-01-07"], "missing": True},
    "moment": {"name": "at", "type": "datetime", "bounds": ["2019-01-01T00:00:00", "2023-12-31T23:59:59"]},
    "running": {"column": "at", "type": "integer"},
    "hidden day": {"column": "at", "type": "date"},
}


@dataclass(frozen=True)
class Child:
    """A table with a parent."""

    parent: str
    rows: tuple[int, int]
    order: str = "none"
    person: bool = False
    target: bool = False
    values: int = 2


@lru_cache(maxsize=256)
def family_of(children: tuple[tuple[str, Child], ...], persons: int = 3) -> FamilySchema:
    """The schema of such tables. Who a person is stands in a column of theirs, too, as far as `persons` goes."""
    columns = [
        {"name": "who", "type": "integer", "bounds": [0, persons - 1]},
        {"name": "sex", "type": "category", "values": ["f", "m"]},
    ]
    tables: dict[str, Any] = {"people": {"key": "id", "columns": columns}}
    for name, child in children:
        values = [f"v{number}" for number in range(child.values)]
        own: list[dict[str, Any]] = [{"name": "kind", "type": "category", "values": values}]
        table: dict[str, Any] = {"parent": child.parent, "columns": own, "rows": list(child.rows)}
        if child.order in ("running", "hidden day"):
            table["order"] = _BY[child.order]
        elif child.order != "none":
            own.append(_BY[child.order])
            table["order"] = "at"
        if any(other.parent == name for _, other in children):
            table["key"] = f"{name}_id"
            table["unique_key"] = True
        if child.person:
            table["person"] = "id"
        if child.target:
            table["target"] = "kind"
        tables[name] = table
    return FamilySchema.from_dict({"sfumato": 2, "name": "family", "tables": tables})


def draw_family(rng: Random) -> FamilySchema:
    """A family of two or three levels."""

    def child(parent: str) -> Child:
        rows = rng.choice([(0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (2, 5)])
        person = parent != "people" and rng.random() < 0.5
        return Child(parent, rows, rng.choice(ORDERS), person, rng.random() < 0.5, rng.choice([2, 4]))

    children = {"stays": child("people")}
    if rng.random() < 0.7:
        children["notes"] = child("stays")
    if rng.random() < 0.3:
        children["tests"] = child("stays")
    if rng.random() < 0.4:
        children["calls"] = child("people")
    return family_of(tuple(children.items()))


def draw_rows(rng: Random, family: FamilySchema, persons: int = 4, most: int = 12) -> dict[str, list[dict[str, Any]]]:
    """Rows of all tables: some twice, some of nobody, keys that are null, that nobody has, or that two persons have."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in family.in_order:
        usual = persons if rng.random() < 0.8 else 0
        count = usual + rng.randrange(persons) if name == family.root else rng.randrange(most + 1)
        rows[name] = [draw_row(rng, family, name, rows, persons) for _ in range(count)]
        for row in rng.sample(rows[name], min(len(rows[name]), rng.randrange(3))):
            rows[name].append(dict(row))
    return rows


def draw_row(
    rng: Random, family: FamilySchema, name: str, rows: Rows, persons: int, *, untidy: bool = True
) -> dict[str, Any]:
    """One row of a table, some of whose parents' rows there are already."""

    def number(below: int) -> int | None:
        return None if untidy and rng.random() < 0.08 else rng.randrange(below)

    table = family.tables[name]
    row: dict[str, Any] = {}
    if table.parent is None:
        row |= {"id": number(persons), "who": rng.randrange(3), "sex": rng.choice(["f", "m"])}
        return row
    if table.parent == family.root:
        row["id"] = number(persons + 1)
    else:
        row["stays_id"] = number(2 * persons)
        if table.person is not None:
            row["id"] = number(persons)
        if rows[table.parent] and rng.random() < 0.8:  # a row that there is
            above = rng.choice(rows[table.parent])
            row |= {key: above[key] for key in row}
    if table.key is not None:
        row[table.key] = number(2 * persons)
    row["kind"] = f"v{rng.randrange(len(table.columns[0].values))}"
    if table.order is not None:
        row["at"] = draw_order(rng, family, name)
    return row


def draw_order(rng: Random, family: FamilySchema, name: str) -> Any:
    """A place in the order, also out of bounds or none at all."""
    column = next((one for one in family.tables[name].columns if one.name == "at"), family.tables[name].order)
    if rng.random() < 0.08:
        return None
    match column.type:
        case "integer":
            return rng.randrange(9)
        case "date":
            return _DAY + dt.timedelta(days=rng.randrange(9))
        case _:
            return _MOMENT + dt.timedelta(seconds=40 * rng.randrange(12))


def storage_of(family: FamilySchema, ids: pa.DataType = pa.int64()) -> dict[str, pa.Schema]:  # noqa: B008 - it is frozen
    """The types of all tables; children store their ids in another type, if any."""
    found = {}
    for name, table in family.tables.items():
        schema = family.schema_of(name)
        own = pa.int64() if name == family.root else ids
        fields = dict.fromkeys((*table.keys, *schema.ids), own)
        fields |= dict.fromkeys(schema.by_name, pa.string())
        if name == family.root:
            fields["who"] = pa.int64()
        if table.order is not None:
            column = next((one for one in table.columns if one.name == "at"), table.order)
            fields["at"] = {"date": pa.date32(), "datetime": pa.timestamp("s")}.get(column.type, pa.int64())
        found[name] = pa.schema(list(fields.items()))
    return found


def to_arrow(rows: Rows, storage: Mapping[str, pa.Schema]) -> dict[str, pa.Table]:
    """The rows as tables; ids that are text are written as pandas writes numbers where one is missing."""
    tables = {}
    for name, fields in storage.items():
        content = [dict(row) for row in rows[name]]
        for key in (field.name for field in fields if field.name.endswith("id") and pa.types.is_string(field.type)):
            for row in content:
                row[key] = None if row[key] is None else f"{row[key]}.0"
        tables[name] = pa.Table.from_pylist(content, schema=fields)
    return tables


def shuffled(rng: Random, rows: Rows) -> dict[str, list[Any]]:
    """The same rows in another order."""
    return {name: rng.sample(list(content), len(content)) for name, content in rows.items()}


def records_of(data: object, family: FamilySchema, key: bytes) -> dict[str, Records]:
    """The records of every view, as the library has them."""
    with closing(open_family(data, family, key, declared=True)) as source:
        assert isinstance(source, FamilySource)
        return {name: _records(source, name) for name in source.layout.views}


def _records(source: FamilySource, view: str) -> Records:
    names = list(source.layout.views[view].by_name)
    found: Records = Counter()
    for batch in source.records_of(view, names):
        columns = [batch.codes[name].tolist() for name in names]
        assert all(len(column) == batch.rows for column in columns)
        for name, column in zip(names, columns, strict=True):  # else some statistic would raise
            assert 0 <= min(column) <= max(column) < source.layout.views[view].by_name[name].codes.size
        found.update((batch.weight, record) for record in zip(*columns, strict=True))
    return found


def compare(seeds: range) -> Iterator[tuple[int, dict[str, Records], dict[str, Records]]]:
    """Random families as the library and the slow version see them."""
    for seed in seeds:
        rng = Random(seed)
        family = draw_family(rng)
        key = rng.randbytes(9)
        rows = draw_rows(rng, family, rng.choice([2, 5, 9]), rng.choice([6, 15, 50]))
        slow = SlowFamily(family, key, storage_of(family))
        found = records_of(to_arrow(shuffled(rng, rows), storage_of(family)), family, key)
        yield seed, found, slow.records(rows)


@contextmanager
def few_bins(bins: int = 3) -> Iterator[None]:
    """Fewer bins of persons, and one thread: most of what a small family costs are bins and threads."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (keyed_numbers, temporary_files, family_source):
            patch.setattr(module, "BINS", bins)
        patch.setattr(sums, "cores", lambda: 1)
        yield
