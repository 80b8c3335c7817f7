"""One cell, whatever it is, adds one record to a sum: it refuses nothing, raises nothing, warns of nothing."""

import contextlib
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.databases import Database
from sfumato.trusted.statistics import Cells
from tests.encoding.test_values import HOSTILE, VALUES

SCHEMA = Schema.from_yaml("""
sfumato: 1
name: hostile
columns:
  - {name: a, type: number, bounds: [0, 1], missing: true}
  - {name: b, type: integer, bounds: [0, 9]}
  - {name: c, type: category, values: [x, "1", "2.5"], otherwise: x}
  - {name: d, type: boolean, missing: true}
""")
PEOPLE = Schema.from_dict(SCHEMA.to_dict() | {"unit": {"column": "who", "records": 1}})
NAMES = tuple(SCHEMA.by_name)
GRIDS = {name: fine_grid(codec) for name, codec in Encoder(SCHEMA).columns.items()}
EACH = Cells(tuple((name,) for name in NAMES), GRIDS, None)
MORE = [np.datetime64(2**62, unit) for unit in ("s", "ms", "us", "ns", "as", "D", "W", "M", "Y")]
MORE += [np.frombuffer(bits, kind)[0] for bits, kind in ((b"\1\0\0\0\0\0\xf4\x7f", "f8"), (b"\1\0\xa0\x7f", "f4"))]
MORE += ["x" * 10**6, b"\xff" * 10**6, "9" * 10**5, "\0", "\ufffe", "-" * 5_000, "1e" + "9" * 400, 10**400, -(10**4000)]
MORE += [
    [[[1]]],
    {"a": {"b": [None]}},
    np.zeros((2, 2)),
    np.array("x"),
    pd.Series([1]),
    slice(1),
    Ellipsis,
    NotImplemented,
]
CELLS = [cell for cell, _ in VALUES] + [make(*args) for make, args in HOSTILE.values()] + MORE


def column(cell: object) -> np.ndarray:
    """Three cells of which the second is hostile; numpy must not look into it."""
    cells = np.empty(3, dtype=object)
    cells[0], cells[1], cells[2] = "1", cell, None
    return cells


@pytest.fixture(autouse=True)
def _silence(capfd, recwarn):
    yield
    assert capfd.readouterr() == ("", "")
    assert len(recwarn) == 0


@pytest.mark.parametrize("place", range(len(CELLS)))  # pytest itself stumbles over some of the cells
def test_a_cell_of_a_pandas_frame(place):
    cell = CELLS[place]
    frame = pd.DataFrame({name: pd.Series(column(cell), dtype=object) for name in NAMES})
    total = open_source(frame, SCHEMA).sum(EACH)
    without = open_source(frame.iloc[[0, 2]], SCHEMA).sum(EACH)
    assert np.abs(total - without).sum() == len(NAMES)


@pytest.mark.parametrize("place", range(len(CELLS)))  # pytest itself stumbles over some of the cells
def test_a_cell_that_should_name_a_person(place):
    cell = CELLS[place]
    names = {name: ["1", "1", "1"] for name in NAMES}
    frame = pd.DataFrame({**names, "who": pd.Series(column(cell), dtype=object)}).astype(dict.fromkeys("abd", "string"))
    with contextlib.closing(open_source(frame, PEOPLE, b"k", declared=True)) as source:
        assert source.sum(EACH).sum() in (len(NAMES), 2 * len(NAMES))


@pytest.mark.parametrize("place", range(len(CELLS)))  # pytest itself stumbles over some of the cells
def test_a_cell_of_a_polars_frame(place):
    cell = CELLS[place]
    frame = pl.DataFrame({name: pl.Series(list(column(cell)), dtype=pl.Object) for name in NAMES})
    assert open_source(frame, SCHEMA).sum(EACH).sum() == 3 * len(NAMES)


def test_cells_of_sqlite(tmp_path):
    cells = [
        b"\xff",
        b"",
        "",
        "\0",
        2**63 - 1,
        -(2**63),
        1e308,
        float("inf"),
        None,
        "x" * 10**6,
        b"\0" * 10**6,
        "\ufffe",
    ]
    with contextlib.closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection, connection:
        connection.execute(f"create table t ({', '.join(NAMES)})")
        connection.executemany("insert into t values (?, ?, ?, ?)", [[cell] * 4 for cell in cells])
        connection.execute("insert into t values (" + ", ".join(["cast(x'80ff' as text)"] * 4) + ")")
    with contextlib.closing(open_source(Database(tmp_path / "t.sqlite", table="t"), SCHEMA)) as source:
        assert source.sum(EACH).sum() == (len(cells) + 1) * len(NAMES)


def test_bytes_that_are_no_text_in_a_column_of_text(tmp_path):
    """A file may say that they are."""
    wrong = pa.array([b"\xff\xfe", b"\xed\xa0\x80", b"1", None, b"\0" * 70_000])
    text = pa.StringArray.from_buffers(len(wrong), wrong.buffers()[1], wrong.buffers()[2], wrong.buffers()[0], 1)
    table = pa.table(dict.fromkeys(NAMES, text))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet", table.slice(1, 3)):
        total = open_source(data, SCHEMA).sum(EACH)
        assert total.sum() == len(NAMES) * (3 if isinstance(data, pa.Table) and len(data) == 3 else 5)


@pytest.mark.parametrize("kind", [">i8", ">f4", "f2", "g", "i1", "u8", "?", "c16", "m8[s]"])
def test_columns_of_every_numpy_type(kind):
    frame = pd.DataFrame({name: np.array([0, 1, 1]).astype(kind) for name in NAMES})
    assert open_source(frame, SCHEMA).sum(EACH).sum() == 3 * len(NAMES)


DECIMALS = {  # and the largest integer that fits into the bytes that Parquet has for so many digits
    pa.decimal32(5, 2): 2**23 - 1,
    pa.decimal64(12, 2): 2**47 - 1,
    pa.decimal128(5, 2): 2**23 - 1,
    pa.decimal256(76, 2): 2**255 - 1,
}


@pytest.mark.parametrize("storage", DECIMALS, ids=str)
def test_decimals_beyond_the_digits_that_a_file_declares(tmp_path, storage):
    width, largest = storage.byte_width, DECIMALS[storage]
    content = b"".join(one.to_bytes(width, "little", signed=True) for one in (100, largest, -largest - 1))
    beyond = pa.Array.from_buffers(storage, 3, [None, pa.py_buffer(content)])
    pyarrow.parquet.write_table(pa.table(dict.fromkeys((*NAMES, "who"), beyond)), tmp_path / "t.parquet")
    assert open_source(tmp_path / "t.parquet", SCHEMA).sum(EACH).sum() == 3 * len(NAMES)
    with contextlib.closing(open_source(tmp_path / "t.parquet", PEOPLE, b"k")) as source:
        assert source.sum(EACH).sum() == 3 * len(NAMES)
