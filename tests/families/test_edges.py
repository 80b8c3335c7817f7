"""Ids of every type, crowds, storage that breaks, and orders that are hard to read."""

import datetime as dt
import decimal
import traceback
import uuid
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.errors import DataError, SchemaError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources.family_opening import open_family
from sfumato.trusted.statistics import PersonLevel
from tests.families.making import Child, family_of, few_bins, records_of
from tests.families.neighbours import cells_of
from tests.statistics.hunting import norm

KEY = b"any key"
FAMILY = family_of((("stays", Child("people", (0, 10_000))), ("notes", Child("stays", (0, 100)))))


@pytest.fixture(autouse=True, scope="module")
def _few_bins():
    with few_bins():
        yield


def three(people: object, stays: object) -> dict[str, pa.Table]:
    """Persons with a stay each, which has a note."""
    rows = len(people)
    kind = pa.array(["v0"] * rows)
    return {
        "people": pa.table({"id": people, "who": pa.array([0] * rows), "sex": pa.array(["f"] * rows)}),
        "stays": pa.table({"id": people, "stays_id": stays, "kind": kind}),
        "notes": pa.table({"stays_id": stays, "kind": kind}),
    }


def in_folder(tables: dict[str, pa.Table], folder: Path) -> Path:
    for name, table in tables.items():
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    return folder


def counted(data: object, family: FamilySchema = FAMILY) -> dict[str, int]:
    return {view: records.total() for view, records in records_of(data, family, KEY).items()}


UUIDS = pa.array([uuid.UUID(int=place).bytes for place in range(2)], pa.binary(16))
BIG = 2**53
TWO = {
    "text": pa.array(["a", "b"]),
    "bytes": pa.array([b"\xff\x01", b"\xfe\x01"]),
    "bytes of one length": UUIDS,
    "uuids": pa.ExtensionArray.from_storage(pa.uuid(), UUIDS),
    "decimals": pa.array([decimal.Decimal(BIG), decimal.Decimal(BIG + 1)]),
    "long numbers": pa.array([BIG, BIG + 1]),
    "longer numbers": pa.array([2**64 - 2, 2**64 - 1], pa.uint64()),
    "truth": pa.array([False, True]),
    "days": pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 2)]),
    "codes of a dictionary": pa.DictionaryArray.from_arrays([1, 0, 2], ["a", "b", None]).slice(0, 2),
    "views of text": pa.array(["a", "b"], pa.string_view()),
}


@pytest.mark.parametrize("stays", ["text", "uuids", "longer numbers"])
@pytest.mark.parametrize("people", TWO)
def test_ids_of_any_type_keep_persons_and_rows_apart(people, stays):
    found = counted(three(TWO[people], TWO[stays]))
    assert found == {"persons": 2, "stays, next": 0, "notes, first": 2, "notes, next": 0}


def test_ids_that_are_null_nan_or_empty_name_nobody(tmp_path):
    floats = pa.array([1.0, float("nan"), None, 2.5])
    texts = pa.array(["", "x", None, "y"])
    nobody = pa.nulls(4)
    assert counted(in_folder(three(floats, texts), tmp_path))["persons"] == 2
    assert counted(in_folder(three(floats, texts), tmp_path))["notes, first"] == 1
    assert not any(counted(three(nobody, nobody)).values())


def test_ids_are_the_same_in_whatever_type_each_table_stores_them(tmp_path):
    tables = three(pa.array([1, 2]), pa.array([10, 20]))
    tables["stays"] = tables["stays"].set_column(0, "id", pa.array([1.0, 2.0]))
    tables["notes"] = tables["notes"].set_column(0, "stays_id", pa.array(["10.0", "2e+01"]))
    assert counted(in_folder(tables, tmp_path))["notes, first"] == 2


class Unwilling:
    """An object that is good for nothing but an error that tells of it."""

    def __str__(self):
        raise ValueError("told")

    __repr__ = __hash__ = __eq__ = __str__


def test_objects_that_refuse_everything_name_nobody():
    people = pd.DataFrame({"id": pd.Series([Unwilling(), 7], dtype=object), "who": 0, "sex": "f"})
    rest = three(pa.array([7]), pa.array([1]))
    assert counted({**rest, "people": people})["persons"] == 1


@pytest.mark.parametrize("name", FAMILY.tables)
def test_storage_that_breaks_says_nothing(tmp_path, name):
    tables = three(
        pa.array([f"person {place}" for place in range(999)]), pa.array([f"{place}" for place in range(999)])
    )
    folder = in_folder(tables, tmp_path)
    file = folder / f"{name}.parquet"
    content = bytearray(file.read_bytes())
    content[40 : len(content) // 2] = b"person 17" * ((len(content) // 2 - 40) // 9)
    file.write_bytes(content)
    view = family_layout_of(FAMILY).views["persons"]
    with closing(open_family(folder, FAMILY, KEY)) as source:
        for _ in range(2):
            with pytest.raises(DataError, match="Details are withheld") as caught:
                source.sum(PersonLevel(cells_of(view), "persons"))
            assert caught.value.__context__ is None
            assert "person 17" not in "".join(traceback.format_exception(caught.value)[-1:])


def test_a_person_with_a_hundred_thousand_rows_moves_every_sum_by_the_bound():
    rows = 100_000
    kind = pa.array(["v0"] * rows)
    others = three(pa.array(range(3)), pa.array(range(-3, 0)))
    crowd = {
        "people": pa.table({"id": pa.array([9] * rows), "who": [2] * rows, "sex": pa.array(["m"] * rows)}),
        "stays": pa.table({"id": pa.array([9] * rows), "stays_id": pa.array(range(rows)), "kind": kind}),
        "notes": pa.table({"stays_id": pa.array(np.arange(rows) // 4), "kind": kind}),
    }
    crowd["notes"] = pa.concat_tables([crowd["notes"]] * 2)
    both = {name: pa.concat_tables([others[name], crowd[name]]) for name in others}
    sources = (open_family(rows_of_all, FAMILY, KEY, declared=True) for rows_of_all in (others, both))
    with closing(next(sources)) as here, closing(next(sources)) as there:
        for view in here.layout.views.values():
            unlike = tuple(one for one in view.by_name if one.endswith("number of notes"))  # 8 or none
            cells = PersonLevel(cells_of(view, unlike), view.name)
            move = norm(cells, there.sum(cells) - here.sum(cells))
            assert move == pytest.approx(cells.sensitivity(Adjacency.ADD_REMOVE), rel=1e-12)


# Orders that are hard to read, and lots.


def by(order: dict[str, str] | str, column: dict | None = None, rows: tuple[int, int] = (0, 5)) -> FamilySchema:
    columns = [{"name": "kind", "type": "integer", "bounds": [0, 9]}, *([column] if column else [])]
    stays = {"parent": "people", "rows": list(rows), "order": order, "columns": columns}
    people = {"key": "id", "columns": [{"name": "sex", "type": "category", "values": ["f", "m"]}]}
    return FamilySchema.from_dict({"sfumato": 2, "name": "t", "tables": {"people": people, "stays": stays}})


PERSON = pa.table({"id": [1], "sex": ["f"]})


def steps(family: FamilySchema, at: pa.Array, key: bytes = KEY) -> list[tuple[int, int]]:
    """The kinds of each row and of the one before it; rows are of the kinds 1, 2, .. as they are given."""
    stays = pa.table({"id": [1] * len(at), "at": at, "kind": range(1, len(at) + 1)})
    found = records_of({"people": PERSON, "stays": stays}, family, key)["stays, next"]
    names = list(family_layout_of(family).views["stays, next"].by_name)
    places = names.index("previous stays.kind"), names.index("stays.kind")
    return sorted((record[places[0]], record[places[1]]) for _, record in found)


def test_rows_follow_a_running_number():
    assert steps(by({"column": "at", "type": "integer"}), pa.array([30, 10, 20])) == [(2, 3), (3, 1)]


def test_rows_follow_moments_that_are_not_released():
    at = pa.array([dt.datetime(2020, 1, day) for day in (3, 1, 2)])
    assert steps(by({"column": "at", "type": "datetime"}), at) == [(2, 3), (3, 1)]


def test_rows_follow_numbers_that_are_not_released():
    assert steps(by({"column": "at", "type": "number"}), pa.array([3.5, 1.5, 2.5])) == [(2, 3), (3, 1)]


def test_rows_follow_running_numbers_of_64_bits():
    at = pa.array([10**18 + 3, 10**18 + 1, 10**18 + 2])
    for key in (b"1", b"2", b"3"):
        assert steps(by({"column": "at", "type": "integer"}), at, key) == [(2, 3), (3, 1)]


@pytest.mark.parametrize("column", [("integer", -(2**53), 2**53), ("number", -1e100, 1e100)], ids=lambda one: one[0])
def test_an_order_with_the_widest_bounds_is_read_or_refused_in_words(column):
    kind, low, high = column
    try:
        family = by("at", {"name": "at", "type": kind, "bounds": [low, high]})
        assert family_layout_of(family).views
    except SchemaError:
        pass


def test_of_too_many_rows_each_has_the_same_chance():
    persons = 600
    family = by({"column": "at", "type": "integer"}, rows=(0, 1))
    people = pa.table({"id": range(persons), "sex": ["f"] * persons})
    stays = {
        "id": np.tile(np.arange(persons), 10),
        "at": [0] * (10 * persons),
        "kind": np.repeat([1, 2], [9 * persons, persons]),
    }
    found = records_of({"people": people, "stays": pa.table(stays)}, family, KEY)["persons"]
    names = list(family_layout_of(family).views["persons"].by_name)
    rare = sum(count for (_, record), count in found.items() if record[names.index("stays.kind")] == 2)
    assert 0.05 < rare / persons < 0.15  # one of ten rows is of the rare kind
