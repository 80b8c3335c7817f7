"""The records of a family against a second, slow version; neither order nor storage of the rows has a say."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources import family_source, memory, temporary_files
from tests.families.making import (
    ORDERS,
    Child,
    compare,
    draw_family,
    draw_rows,
    family_of,
    few_bins,
    records_of,
    shuffled,
    storage_of,
    to_arrow,
)
from tests.families.slow import UNIT, Records, Rows, SlowFamily

KEY = b"any key"


@pytest.fixture(autouse=True, scope="module")
def _few_bins():
    with few_bins():
        yield


def slow_records(family: FamilySchema, rows: Rows) -> dict[str, Records]:
    """What the slow version says."""
    return SlowFamily(family, KEY, storage_of(family)).records(rows)


def draw_plain(rng: Random, family: FamilySchema, persons: int, most: int) -> tuple[dict[str, Any], dict[str, Records]]:
    """Rows of which every view has records, and these records."""
    while True:
        rows = draw_rows(rng, family, persons, most)
        expected = slow_records(family, rows)
        if all(expected.values()):
            return rows, expected


@settings(max_examples=30)
@given(st.randoms(use_true_random=False))
def test_both_versions_agree_whatever_order_the_rows_come_in(rng):
    family = draw_family(rng)
    rows = draw_rows(rng, family)
    expected = slow_records(family, rows)
    for content in (rows, shuffled(rng, rows)):
        assert records_of(to_arrow(content, storage_of(family)), family, KEY) == expected


def check_many(seeds: range) -> None:
    seen = dict.fromkeys(("persons", "stays, next", "notes, first", "notes, next", "calls, first", "tests, next"), 0)
    for seed, found, expected in compare(seeds):
        assert found == expected, seed
        for view in seen.keys() & found.keys():
            seen[view] += found[view].total()
    assert all(count > len(seeds) / 10 for count in seen.values()), seen


def test_both_versions_agree_on_many_families():
    check_many(range(60))


@pytest.mark.slow
def test_both_versions_agree_on_very_many_families():
    check_many(range(1_000, 6_000))


@pytest.mark.parametrize("person", [True, False], ids=["notes name persons", "notes name stays alone"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("least", [0, 1])
def test_both_versions_agree_on_every_shape(order, person, least):
    family = family_of(
        (
            ("stays", Child("people", (least, 3), order, target=True)),
            ("notes", Child("stays", (least, 2), order, person, values=4)),
            ("calls", Child("people", (0, 2), order)),
        )
    )
    rng = Random(f"{order} {person} {least}")
    rows, expected = draw_plain(rng, family, 9, 30)
    assert records_of(to_arrow(shuffled(rng, rows), storage_of(family)), family, KEY) == expected


CROWDED = family_of(
    (
        ("stays", Child("people", (0, 6), "day")),
        ("notes", Child("stays", (1, 3), "none")),
        ("tests", Child("stays", (0, 4), "number", person=True)),
    )
)


@pytest.fixture(scope="module")
def crowded():
    """A family of sixty persons, and its records."""
    return draw_plain(Random(4), CROWDED, 60, 400)


@pytest.mark.parametrize(("bins", "at_once"), [(2, 1), (7, 7), (64, 10**6)])
def test_bins_and_batches_do_not_matter(crowded, monkeypatch, bins, at_once):
    rows, expected = crowded
    monkeypatch.setattr(memory, "ROWS_AT_ONCE", max(at_once, 5))
    monkeypatch.setattr(family_source, "ROWS_AT_ONCE", at_once)
    with few_bins(bins):
        assert records_of(to_arrow(rows, storage_of(CROWDED)), CROWDED, KEY) == expected


def test_what_does_not_fit_into_memory_goes_to_files(crowded, monkeypatch):
    rows, expected = crowded
    monkeypatch.setattr(temporary_files, "IN_MEMORY", 10)
    assert records_of(to_arrow(rows, storage_of(CROWDED)), CROWDED, KEY) == expected


def in_folder(tables: dict[str, pa.Table], folder: Path) -> Path:
    """One table in a file of many groups, the others in folders of many files."""
    for name, table in tables.items():
        if name == CROWDED.root:
            pyarrow.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=5)
            continue
        (folder / name).mkdir()
        for part, start in enumerate(range(0, len(table), 90)):
            pyarrow.parquet.write_table(table.slice(start, 90), folder / name / f"{part}.parquet", row_group_size=11)
    return folder


@pytest.mark.parametrize("ids", [pa.int64(), pa.int16(), pa.string(), pa.decimal128(9, 0), pa.float64()], ids=str)
def test_storage_does_not_matter(crowded, tmp_path, ids):
    rows, expected = crowded
    tables = to_arrow(shuffled(Random(1), rows), storage_of(CROWDED, ids))
    assert records_of(in_folder(tables, tmp_path), CROWDED, KEY) == expected
    if ids != pa.float64():  # which frames may not have
        assert records_of(tables, CROWDED, KEY) == expected
        coded = {name: table.unify_dictionaries() for name, table in _coded(tables).items()}
        assert records_of(coded, CROWDED, KEY) == expected


def _coded(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Every column as codes of a dictionary, which is another one in each chunk."""
    parts = {name: [table.slice(0, 40), table.slice(40)] for name, table in tables.items()}
    coded = {
        name: [pa.table({column: part[column].dictionary_encode() for column in part.column_names}) for part in found]
        for name, found in parts.items()
    }
    return {name: pa.concat_tables(found) for name, found in coded.items()}


def test_a_table_without_rows(crowded):
    rows, _ = crowded
    for empty in CROWDED.tables:
        fewer = {**rows, empty: []}
        expected = slow_records(CROWDED, fewer)
        assert records_of(to_arrow(fewer, storage_of(CROWDED)), CROWDED, KEY) == expected
        without = to_arrow(rows, storage_of(CROWDED)) | {empty: storage_of(CROWDED)[empty].empty_table()}
        assert records_of(without, CROWDED, KEY) == expected


def test_a_person_with_more_records_than_a_unit_has_parts():
    family = family_of(
        (
            ("stays", Child("people", (0, 60), "running", values=4)),
            ("notes", Child("stays", (0, 50), "none", values=4)),
            ("calls", Child("people", (0, 5_000), "number", values=4)),
        )
    )
    rng = Random(0)
    rows = {
        "people": [{"id": person, "who": person, "sex": "f"} for person in range(2)],
        "stays": [
            {"id": stay % 2, "stays_id": stay, "kind": f"v{rng.randrange(4)}", "at": rng.randrange(20)}
            for stay in range(110)
        ],
        "notes": [{"stays_id": rng.randrange(110), "kind": f"v{rng.randrange(4)}"} for _ in range(4_000)],
        "calls": [{"id": call % 2, "kind": f"v{rng.randrange(4)}", "at": rng.randrange(9)} for call in range(4_000)],
    }
    expected = slow_records(family, rows)
    assert {weight for weight, _ in expected["notes, next"]} == {weight for weight, _ in expected["calls, next"]} == {1}
    assert expected["notes, next"].total() == expected["calls, next"].total() == 2 * UNIT
    assert records_of(to_arrow(shuffled(rng, rows), storage_of(family)), family, KEY) == expected


def _one_person(children: tuple[tuple[str, Child], ...], **rows: list[dict[str, Any]]) -> None:
    """One person's rows, forwards and backwards, under many keys."""
    family = family_of(children)
    content = {"people": [{"id": 1, "who": 0, "sex": "f"}], **rows}
    backwards = {name: found[::-1] for name, found in content.items()}
    for key in map(str, np.arange(12)):
        both = [records_of(to_arrow(one, storage_of(family)), family, key.encode()) for one in (content, backwards)]
        assert both[0] == both[1]


@pytest.mark.parametrize("order", ["running", "moment"])
def test_which_of_equal_rows_is_kept_does_not_depend_on_their_storage(order):
    stays = [{"id": 1, "kind": "v0"}, {"id": 1, "kind": "v1"}, {"id": 1, "kind": "v0"}]
    if order == "running":
        for row, at in zip(stays, (1, 2, 3), strict=True):
            row["at"] = at
    else:  # in the same code of a long range of time, but not at the same time
        for row, second in zip(stays, (0, 10, 20), strict=True):
            row["at"] = np.datetime64("2020-01-01T00:00:00").astype(object).replace(second=second)
    _one_person((("stays", Child("people", (0, 2), order)),), stays=stays)


def test_which_of_two_rows_with_one_key_is_kept_does_not_depend_on_their_storage():
    stays = [
        {"id": 1, "stays_id": key, "kind": kind, "at": at}
        for key, kind, at in ((1, "v0", 1), (1, "v0", 3), (2, "v1", 2))
    ]
    children = (("stays", Child("people", (0, 5), "running")), ("notes", Child("stays", (0, 5))))
    _one_person(children, stays=stays, notes=[{"stays_id": 1, "kind": "v0"}])
