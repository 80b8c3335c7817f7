"""No person counts more often than the unit allows: hunted, in every order and storage, in little memory."""

import decimal
import sqlite3
import tempfile
import uuid
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from sfumato.errors import DataError
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import bounded_source as people
from sfumato.trusted.sources import contribution_bounding as bounding
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.databases import Database
from sfumato.trusted.statistics import Cells
from tests.conftest import MIXED, in_pandas, make_table
from tests.sources.test_sources import as_csv
from tests.statistics.hunting_persons import ID, hunted, move, owned, total

SCHEMA = Schema.from_yaml(f"{MIXED}unit: {{column: {ID}, records: 3}}\n")
GRIDS = {name: fine_grid(codes) for name, codes in Encoder(SCHEMA).columns.items()}
CELLS = Cells(tuple((name, "ill") for name in SCHEMA.features), GRIDS, "ill")
LEAN = Schema.from_dict(
    SCHEMA.to_dict() | {"columns": [SCHEMA[name].model_dump() for name in ("age", "job", "member", "ill")]}
)
SOME = Cells((("age",), ("job", "ill"), ("age", "member", "ill")), GRIDS, "ill", (1.0, 0.3, 2.0))


def records(rows: int, rng: np.random.Generator) -> pa.Table:
    return make_table(rows, int(rng.integers(2**31)))


@pytest.fixture
def table():
    """900 records of 250 persons, 300 of them of one, 20 of nobody."""
    rng = np.random.default_rng(0)
    ids = np.concatenate((np.full(300, 1000), rng.integers(0, 250, 600)))
    found = owned(make_table(900), ids)
    nobody = pa.array(rng.permutation(900) < 20)
    column = pa.compute.if_else(nobody, None, found.column(ID))
    return found.set_column(found.column_names.index(ID), ID, column)


def kept_of(table: pa.Table, records: int = 3) -> int:
    _, counts = np.unique(table.column(ID).drop_null().to_numpy(zero_copy_only=False), return_counts=True)
    return int(np.minimum(counts, records).sum())


def test_no_person_counts_more_often_than_the_unit_allows(table):
    assert total(CELLS, SCHEMA, table).sum() == kept_of(table) * len(CELLS.tables)


def test_a_small_bound_and_a_large_one(table):
    for bound in (1, 10**6):
        schema = SCHEMA.model_copy(update={"unit": SCHEMA.unit.model_copy(update={"records": bound})})
        assert total(CELLS, schema, table).sum() == kept_of(table, bound) * len(CELLS.tables)


def storages(table, folder):
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(len(table))))
    numbers = pa.compute.cast(table.column(ID), pa.int64())
    pyarrow.parquet.write_table(table, folder / "one.parquet", row_group_size=11)
    (folder / "many").mkdir()
    for part in range(7):
        pyarrow.parquet.write_table(shuffled.slice(130 * part, 130), folder / "many" / f"{part}.parquet")
    pyarrow.csv.write_csv(as_csv(table), folder / "one.csv")
    floats = table.set_column(table.column_names.index(ID), ID, numbers.cast(pa.float64()))
    pyarrow.parquet.write_table(floats, folder / "floats.parquet")
    return {
        "shuffled": shuffled,
        "ids as numbers": table.set_column(table.column_names.index(ID), ID, numbers),
        "pandas": in_pandas(table),
        "ids as floats": folder / "floats.parquet",
        "parquet": folder / "one.parquet",
        "folder": folder / "many",
        "csv": folder / "one.csv",
    }


def test_order_files_and_types_do_not_matter(table, tmp_path, monkeypatch):
    monkeypatch.setattr(people, "ROWS_AT_ONCE", 64)
    whole = total(CELLS, SCHEMA, table, b"key")
    for kind, data in storages(table, tmp_path).items():
        assert total(CELLS, SCHEMA, data, b"key").tobytes() == whole.tobytes(), kind
    assert total(CELLS, SCHEMA, table, b"another").tobytes() != whole.tobytes()
    assert total(CELLS, SCHEMA, table).tobytes() != total(CELLS, SCHEMA, table).tobytes()


def test_numpy_files_name_persons_in_an_array_of_their_own(tmp_path):
    schema = Schema.from_yaml("""
    {sfumato: 1, name: t, columns: [{name: "x_{0..1}", type: number, bounds: [0, 1]}],
     unit: {column: who, records: 1}}
    """)
    cells = Cells((("x_0",),), {"x_0": fine_grid(Encoder(schema).columns["x_0"])}, None)
    x, who = np.random.default_rng(0).random((30, 2)), np.arange(30) // 3
    np.savez(tmp_path / "a.npz", x=x, who=who)
    in_memory = pa.table({"x_0": x[:, 0], "x_1": x[:, 1], "who": who})
    sums = [total(cells, schema, data, b"k") for data in (tmp_path / "a.npz", in_memory)]
    assert np.array_equal(*sums)
    assert sums[0].sum() == 10
    np.savez(tmp_path / "b.npz", x=x)
    np.save(tmp_path / "c.npy", x)
    for name, message in (("b.npz", "no array 'who', which says whose"), ("c.npy", "cannot say whose record")):
        with pytest.raises(DataError, match=message):
            open_source(tmp_path / name, schema, declared=True)


def test_an_id_that_is_not_there_or_cannot_be_read_is_refused(table):
    with pytest.raises(DataError, match="has no column 'person'"):
        open_source(table.drop_columns([ID]), SCHEMA, declared=True)
    times = table.set_column(table.column_names.index(ID), ID, table.column("seen"))
    with pytest.raises(DataError, match=r"'person' as timestamp.*cannot tell persons apart"):
        open_source(times, SCHEMA, declared=True)


WHO = Schema.from_yaml("""
{sfumato: 1, name: t, columns: [{name: y, type: boolean}], unit: {column: who, records: 1}}
""")
BIG = 2**53
ALIKE = {
    "bytes": [b"\xff\x01", b"\xfe\x01"],
    "long numbers": [10**19 + 1, 10**19 + 2],
    "decimals": [decimal.Decimal(BIG), decimal.Decimal(BIG + 1)],
    "uuids": [uuid.UUID(int=1), uuid.UUID(int=2)],
}


def persons_in(data) -> int:
    with closing(open_source(data, WHO, declared=True)) as source:
        return sum(batch.rows for batch in source.batches(("y",)))


@pytest.mark.parametrize("ids", ALIKE.values(), ids=ALIKE)
def test_ids_that_encoding_would_take_for_one_are_two_persons(ids):
    column = pd.Series(ids * 3, dtype=object)
    for stored in (column, column.astype("category")):
        assert persons_in(pd.DataFrame({"who": stored, "y": True})) == 2


def test_ids_of_polars_are_told_apart():
    wide = pl.Series([BIG, BIG + 1, BIG], dtype=pl.Int128)
    assert persons_in(pl.DataFrame({"who": wide, "y": [True] * 3})) == 2
    objects = pl.Series([uuid.UUID(int=1), uuid.UUID(int=1), uuid.UUID(int=2)], dtype=pl.Object)
    assert persons_in(pl.DataFrame({"who": objects, "y": [True] * 3})) == 2


@pytest.mark.parametrize("kind", ["complex", "Sparse[int]", object, "Int64", "string"])
def test_ids_of_any_type_that_does_not_round(kind):
    assert persons_in(pd.DataFrame({"who": pd.Series([1, 2, 1]).astype(kind), "y": True})) == 2


def test_ids_of_sqlite_are_told_apart(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as made:
        made.execute("create table t (who, y)")
        whole = [17, 17.0, "17", "17.0", b"17"]
        made.executemany("insert into t values (?, 1)", [(who,) for who in (*ALIKE["bytes"], *whole, None, "")])
        made.commit()
    assert persons_in(Database(tmp_path / "a.sqlite", table="t")) == 3


IN_FILES = {
    "floats beyond 10^16": [1e16, 12345678901234568.0, None],
    "floats beyond 2^63": [2.0**63, 2.0**63 + 2048, None],
    "zeros": [-0.0, 0.0, None],
    "fractions": [0.1, 2e-7, 0.1 + 2**-56],
}


@pytest.mark.parametrize("ids", IN_FILES.values(), ids=IN_FILES)
def test_csv_and_parquet_of_one_frame_choose_the_same_records(tmp_path, ids):
    schema = Schema.from_yaml("""
    {sfumato: 1, name: t, columns: [{name: y, type: integer, bounds: [0, 99]}], unit: {column: who, records: 2}}
    """)
    frame = pd.DataFrame({"who": pd.Series(ids).take(np.arange(60) % 3).to_numpy(), "y": range(60)})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    cells = Cells((("y",),), {"y": fine_grid(Encoder(schema).columns["y"])}, None)
    sums = {total(cells, schema, data, b"k").tobytes() for data in (tmp_path / "a.csv", tmp_path / "a.parquet")}
    assert len(sums) == 1


def test_a_person_with_a_long_id_is_one_in_a_folder_of_integers_and_floats(tmp_path):
    pd.DataFrame({"who": [12345678901234568], "y": True}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"who": [12345678901234568, None], "y": True}).to_csv(tmp_path / "b.csv", index=False)
    assert "e+16" in (tmp_path / "b.csv").read_text()
    assert persons_in(tmp_path) == 1


@pytest.mark.parametrize("storage", [pa.decimal32(7, 2), pa.decimal64(12, 2), pa.decimal128(20, 2)], ids=str)
def test_ids_that_are_short_decimals(storage):
    who = pa.array([decimal.Decimal("1.50"), decimal.Decimal("1.5"), decimal.Decimal(2), None], storage)
    assert persons_in(pa.table({"who": who, "y": [True] * 4})) == 2


def test_views_of_text_are_read_by_person_too():
    schema = Schema.from_yaml("""
    {sfumato: 1, name: t, columns: [{name: y, type: category, values: [a, b]}], unit: {column: who, records: 1}}
    """)
    for storage in (pa.string_view(), pa.binary_view()):
        table = pa.table({"who": pa.array(["1", "1", None], storage), "y": pa.array(["a", "b", "a"], storage)})
        cells = Cells((("y",),), {"y": fine_grid(Encoder(schema).columns["y"])}, None)
        assert total(cells, schema, table).sum() == 1


def test_what_does_not_fit_into_memory_goes_to_a_file_without_a_name(table, monkeypatch, tmp_path):
    whole = total(CELLS, SCHEMA, table, b"key")
    monkeypatch.setattr("sfumato.trusted.sources.temporary_files.IN_MEMORY", 10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = open_source(table, SCHEMA, b"key", declared=True)
    assert source.sum(CELLS).tobytes() == whole.tobytes()
    assert source.sum(CELLS).tobytes() == whole.tobytes()
    assert source._kept._rolled
    assert not list(tmp_path.iterdir())
    source.close()


def test_the_records_are_read_once(table, monkeypatch):
    source = open_source(table, SCHEMA, declared=True)
    reads = []
    monkeypatch.setattr(
        source._source, "records", lambda names, real=source._source.records: reads.append(1) or real(names)
    )
    first = source.sum(CELLS)
    assert np.array_equal(source.sum(Cells((("age", "ill"),), GRIDS, "ill")).sum(), first.sum() / len(CELLS.tables))
    assert reads == [1]
    source.close()


@pytest.mark.parametrize("adjacency", Adjacency)
def test_no_person_moves_a_sum_further_than_claimed(adjacency):
    assert max(hunted(SOME, adjacency, LEAN, records)) <= 1 + 1e-12


def a_crowd(rows: int) -> pa.Table:
    """One person with one record, again and again: the worst of all."""
    return owned(make_table(1).take(pa.array(np.zeros(rows, dtype=np.int64))), "one")


def check_a_crowd(rows: int) -> None:
    others = owned(make_table(200), np.arange(200) // 2)
    claim = 3 * CELLS.sensitivity(Adjacency.ADD_REMOVE)
    moved = move(CELLS, SCHEMA, pa.concat_tables([others, a_crowd(rows)]), others, b"key")
    assert moved == pytest.approx(claim)


def test_a_person_with_a_million_rows_moves_a_sum_by_the_bound():
    check_a_crowd(10**6)


def test_the_mutant_that_forgets_to_choose_is_caught(monkeypatch):
    monkeypatch.setattr(bounding, "choose_lowest", lambda person, *_: np.arange(len(person)))
    assert max(hunted(SOME, Adjacency.ADD_REMOVE, LEAN, records)) > 2
    with pytest.raises(AssertionError):
        check_a_crowd(1_000)


def test_the_mutant_that_chooses_anew_for_every_part_is_caught(monkeypatch):
    """The fault: each batch keeps its own, and nobody draws again among what is left."""
    monkeypatch.setattr(people.ContributionBoundedSource, "_winners", lambda _, tickets: tickets)
    monkeypatch.setattr("sfumato.trusted.sources.memory.ROWS_AT_ONCE", 100)
    with pytest.raises(AssertionError):
        check_a_crowd(1_000)


def test_the_mutant_whose_choice_sees_the_target_is_caught(monkeypatch):
    """The fault: under label adjacency another target makes other records count."""
    real = bounding.ContributionBounding.__init__

    def sees_all(self, schema, unit, key):
        real(self, schema, unit, key)
        self._steady = [self._whole] * 2

    monkeypatch.setattr(bounding.ContributionBounding, "__init__", sees_all)
    assert max(hunted(SOME, Adjacency.LABEL, LEAN, records)) > 1


def test_the_mutant_that_keeps_the_first_is_caught(monkeypatch):
    """The fault: the order of the records decides, which the partitions of a cluster do not keep."""
    monkeypatch.setattr(bounding, "keyed_number", lambda begin, factors, codes: np.arange(len(begin)))
    table = owned(make_table(300), np.arange(300) // 30)
    backwards = table.take(pa.array(np.arange(300)[::-1]))
    sums = [total(CELLS, SCHEMA, data, b"key").tobytes() for data in (table, backwards)]
    assert sums[0] != sums[1]
