"""Neighbouring tables of every kind in every kind of storage, and everything that can be seen of a release of them.

Tables are lists of rows, so that each storage makes of them what it makes of a user's rows: libraries infer types,
files are written, databases filled. `watched` releases a table while the sums of another one are played back: whatever
else depends on the rows then shows, to the byte.
"""

import contextlib
import csv
import datetime as dt
import gzip
import io
import json
import math
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import sfumato
from sfumato.trusted import session
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Header
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Statistic
from tests.sources.filling import fill_duckdb, fill_server
from tests.statistics.hunting import norm

Row = dict[str, Any]
ID = "person"
COLUMNS = """
sfumato: 1
name: neighbours
columns:
  - {name: smoker, type: category, values: ["True", "False"], missing: true}
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: wage, type: number, bounds: [0, 1000], atoms: [100], missing: true}
  - {name: ward, type: category, values: ["007", "12", other], otherwise: other}
  - {name: ill, type: boolean}
"""
DATES = """
  - {name: born, type: date, bounds: [1920-01-01, 2020-12-31]}
  - {name: seen, type: datetime, bounds: [2024-01-01T00:00:00, 2024-12-31T23:59:59]}
"""
TYPES = {
    "smoker": pa.bool_(),
    "age": pa.int64(),
    "wage": pa.float64(),
    "ward": pa.string(),
    "ill": pa.bool_(),
    "born": pa.date32(),
    "seen": pa.timestamp("us"),
    ID: pa.int64(),
}


def schema_of(dates: bool, persons: bool) -> Schema:
    unit = f"unit: {{column: {ID}, records: 2}}\n" if persons else ""
    return Schema.from_yaml(f"{COLUMNS}{DATES.lstrip(chr(10)) if dates else ''}target: ill\n{unit}")


def rows_of(count: int, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        {
            "smoker": bool(rng.random() < 0.3),
            "age": int(rng.integers(18, 90)),
            "wage": float(rng.integers(0, 2_000)) / 2,
            "ward": str(rng.choice(["007", "12", "other"])),
            "ill": bool(rng.random() < 0.4),
            "born": dt.date(1950, 1, 1) + dt.timedelta(days=int(rng.integers(0, 20_000))),
            "seen": dt.datetime(2024, 3, 1) + dt.timedelta(minutes=int(rng.integers(0, 200_000))),
            ID: int(rng.integers(0, count // 3)),
        }
        for _ in range(count)
    ]


FITTING = {  # records that every storage can hold
    "another": rows_of(3, 9)[0],
    "nulls": dict.fromkeys(TYPES),
    "far out": rows_of(3, 8)[0] | {"age": -(2**62), "wage": math.inf, "ward": "zz", "born": dt.date(1, 1, 1)},
    "nan": rows_of(3, 7)[0] | {"wage": math.nan, "ward": None, "smoker": None},
}
HOSTILE = {  # and records that take a library to infer other types
    "words": dict.fromkeys(TYPES, "none") | {ID: None},
    "empty words": dict.fromkeys(TYPES, ""),
    "long numbers": dict.fromkeys(TYPES, 2**63) | {ID: None},
    "a quarter": dict.fromkeys(TYPES, 0.25) | {ID: None},
    "truth": dict.fromkeys(TYPES, True),
    "a long word": dict.fromkeys(TYPES, "x,\"\r\n'" * 9_000) | {ID: None},
}


def changed(adjacency: Adjacency, persons: bool, record: Row, rows: list[Row], schema: Schema) -> list[Row]:
    """The rows after one change of the adjacency that brings in, takes out or replaces the record, or labels alone."""
    one = rows[5][ID] if persons else None
    theirs = [row for row in rows if row[ID] == one] if persons else [rows[5]]
    others = [row for row in rows if row not in theirs]
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return [*rows, *([record | {ID: 10**6}] * (5 if persons else 1))]
        case Adjacency.REPLACE:
            return [*others, *([record | {ID: one}] * (5 if persons else 1))]
        case Adjacency.LABEL:
            label = schema.target or ""
            return [*others, *(row | {label: _other_label(row[label], record[label])} for row in theirs)]


def _other_label(before: bool, wanted: Any) -> Any:
    return not before if isinstance(wanted, bool) else wanted


def as_arrow(rows: list[Row], schema: Schema) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], TYPES[name]) for name in schema.read})


@dataclass(frozen=True)
class Store:
    """A way to hold rows. `untyped` storage holds any record, and some may not hold dates or persons."""

    name: str
    untyped: bool = False
    dates: bool = True
    persons: bool = True
    settings: dict[str, Any] = field(default_factory=dict)

    def put(self, rows: list[Row], schema: Schema, folder: Path, request: Any) -> Any:
        return _PUT[self.name](rows, schema, folder, request)


STORES = [
    Store("arrow, declared", settings={"types": "declared"}),
    Store("arrow read_csv", untyped=True, dates=False, persons=False),
    Store("parquet"),
    Store("parquet folder"),
    Store("csv", untyped=True),
    Store("csv, quoted", untyped=True),
    Store("tsv.gz", untyped=True),
    Store("xlsx", untyped=True),
    Store("npz", dates=False),
    Store("pandas", untyped=True, dates=False, persons=False),
    Store("pandas read_csv", untyped=True, dates=False, persons=False),
    Store("pandas, declared", settings={"types": "declared"}),
    Store("polars", untyped=True, dates=False, persons=False),
    Store("polars read_csv", untyped=True, dates=False, persons=False),
    Store("polars, declared", settings={"types": "declared"}),
    Store("sqlite", untyped=True),
    Store("duckdb"),
    Store("postgresql"),
    Store("spark"),
    Store("spark csv", untyped=True),
]


def _parquet(rows: list[Row], schema: Schema, folder: Path, parts: int) -> Path:
    table = as_arrow(rows, schema)
    place = folder / "rows"
    place.mkdir(exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    size = -(-len(table) // parts)
    for part in range(parts):
        pyarrow.parquet.write_table(table.slice(part * size, size), place / f"{part}.parquet", row_group_size=7)
    return place if parts > 1 else place / "0.parquet"


def _text(rows: list[Row], names: tuple[str, ...], delimiter: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerows([names, *([_field(row[name]) for name in names] for row in rows)])
    return text.getvalue()


def _field(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


def _csv(rows: list[Row], schema: Schema, folder: Path, quoting: int) -> Path:
    (folder / "rows.csv").write_text(_text(rows, schema.read, quoting=quoting), newline="")
    return folder / "rows.csv"


def _packed(rows: list[Row], schema: Schema, folder: Path) -> Path:
    (folder / "rows.tsv.gz").write_bytes(gzip.compress(_text(rows, schema.read, "\t").encode(), mtime=0))
    return folder / "rows.tsv.gz"


def _xlsx(rows: list[Row], schema: Schema, folder: Path) -> Path:
    """Excel has no numbers that are not finite, and its texts end somewhere."""
    from openpyxl import Workbook

    workbook = Workbook()
    workbook.active.append(schema.read)
    for row in rows:
        workbook.active.append([_excel_cell(row[name]) for name in schema.read])
    workbook.save(folder / "rows.xlsx")
    return folder / "rows.xlsx"


def _excel_cell(value: Any) -> Any:
    if isinstance(value, dt.date) and value.year < 1900:
        return value.isoformat()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _npz(rows: list[Row], schema: Schema, folder: Path) -> Path:
    plain = {"wage": float, "ward": str}
    blank = {"wage": math.nan, "ward": ""}
    arrays = {
        name: np.array([plain.get(name, int)(blank.get(name, 0) if row[name] is None else row[name]) for row in rows])
        for name in schema.read
    }
    arrays["ward"] = arrays["ward"].astype("U9")  # a declared width, as of a fixed field
    np.savez(folder / "rows.npz", **arrays)
    return folder / "rows.npz"


def _frame(rows: list[Row], schema: Schema) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in schema.read}


def _read_csv(read: Any, rows: list[Row], schema: Schema, **settings: Any) -> Any:
    return read(io.StringIO(_text(rows, schema.read)), **settings)


def _spark_csv(rows: list[Row], schema: Schema, folder: Path, request: Any) -> Any:
    from sfumato.trusted.sources.spark_files import open_frame

    request.getfixturevalue("spark")
    return open_frame(str(_csv(rows, schema, folder, csv.QUOTE_MINIMAL)), schema)


def _sqlite(rows: list[Row], schema: Schema, folder: Path) -> Any:
    """SQLite holds a value of any type in any column; its integers have 64 bits."""
    (folder / "rows.sqlite").unlink(missing_ok=True)
    cells = [[_field(str(one) if one == 2**63 else one) for one in map(row.get, schema.read)] for row in rows]
    with contextlib.closing(sqlite3.connect(folder / "rows.sqlite")) as connection, connection:
        connection.execute(f"create table people ({', '.join(schema.read)})")
        connection.executemany(f"insert into people values ({', '.join('?' * len(schema.read))})", cells)
    return sfumato.Database(folder / "rows.sqlite", table="people")


def _spark(rows: list[Row], schema: Schema, request: Any) -> Any:
    return request.getfixturevalue("spark").createDataFrame(as_arrow(rows, schema)).repartition(3)


def _server(rows: list[Row], schema: Schema, request: Any) -> Any:
    return sfumato.Database(fill_server(request.getfixturevalue("server"), as_arrow(rows, schema)), table="people")


def _duckdb(rows: list[Row], schema: Schema, folder: Path) -> Any:
    (folder / "rows.duckdb").unlink(missing_ok=True)
    return sfumato.Database(fill_duckdb(folder / "rows.duckdb", as_arrow(rows, schema)), table="people")


_PUT: dict[str, Any] = {
    "arrow, declared": lambda rows, schema, *_: as_arrow(rows, schema),
    "arrow read_csv": lambda rows, schema, folder, _: pyarrow.csv.read_csv(
        _csv(rows, schema, folder, csv.QUOTE_MINIMAL)
    ),
    "parquet": lambda rows, schema, folder, _: _parquet(rows, schema, folder, 1),
    "parquet folder": lambda rows, schema, folder, _: _parquet(rows, schema, folder, 3),
    "csv": lambda rows, schema, folder, _: _csv(rows, schema, folder, csv.QUOTE_MINIMAL),
    "csv, quoted": lambda rows, schema, folder, _: _csv(rows, schema, folder, csv.QUOTE_ALL),
    "tsv.gz": lambda rows, schema, folder, _: _packed(rows, schema, folder),
    "xlsx": lambda rows, schema, folder, _: _xlsx(rows, schema, folder),
    "npz": lambda rows, schema, folder, _: _npz(rows, schema, folder),
    "pandas": lambda rows, schema, *_: pd.DataFrame(_frame(rows, schema)),
    "pandas read_csv": lambda rows, schema, *_: _read_csv(pd.read_csv, rows, schema),
    "pandas, declared": lambda rows, schema, *_: as_arrow(rows, schema).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda rows, schema, *_: pl.DataFrame(_frame(rows, schema), strict=False),
    "polars read_csv": lambda rows, schema, *_: _read_csv(pl.read_csv, rows, schema, infer_schema_length=None),
    "polars, declared": lambda rows, schema, *_: pl.from_arrow(as_arrow(rows, schema)),
    "sqlite": lambda rows, schema, folder, _: _sqlite(rows, schema, folder),
    "duckdb": lambda rows, schema, folder, _: _duckdb(rows, schema, folder),
    "postgresql": lambda rows, schema, _, request: _server(rows, schema, request),
    "spark": lambda rows, schema, _, request: _spark(rows, schema, request),
    "spark csv": _spark_csv,
}


class Watched:
    """A source that lets a release see the sums of another table, and notes how far its own lie from them."""

    def __init__(self, source: Any, played: list[np.ndarray] | None) -> None:
        self._source, self._played = source, played
        self.header, self.unit = source.header, source.unit
        self.sums: list[np.ndarray] = []
        self.asked: list[Statistic] = []

    def sum(self, statistic: Statistic) -> np.ndarray:
        own = self._source.sum(statistic)
        self.asked.append(statistic)
        self.sums.append(own)
        return own if self._played is None else self._played[len(self.sums) - 1]

    def batches(self, names: tuple[str, ...]) -> Iterator[Any]:
        return self._source.batches(names)

    def close(self) -> None:
        self._source.close()

    def moves(self, adjacency: Adjacency) -> list[float]:
        """How far each sum moved, as a share of what is claimed."""
        records = self.unit.records if self.unit else 1
        return [
            norm(statistic, own - other) / (records * statistic.sensitivity(adjacency))
            for statistic, own, other in zip(self.asked, self.sums, self._played or [], strict=True)
        ]


@dataclass(frozen=True)
class Seen:
    """All that can be seen of a release: what was raised, or the bundle; what was said; what the ledger holds."""

    error: str | None
    header: Header | None
    bundle: bytes
    said: tuple[str, ...]
    printed: str
    ledger: tuple[Any, ...]


def watched(
    data: Any, schema: Schema, folder: Path, played: list[np.ndarray] | None = None, **settings: Any
) -> tuple[Seen, Watched | None]:
    """Release a table with seeded noise, by the sums of another table where they are given."""
    watcher: list[Watched] = []
    opening = session.open_source

    def watching(*args: Any, **more: Any) -> Watched:
        watcher.append(Watched(opening(*args, **more), played))
        return watcher[-1]

    said: list[str] = []
    output = io.StringIO()
    book = Ledger(folder / "ledger.sqlite")
    before = len(list(book.entries()))
    error, release = None, None
    with (
        mock.patch.object(session, "open_source", watching),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        try:
            release = sfumato.release(
                data, schema, **{"epsilon": 50.0, "seed": 1, "ledger": book, "progress": said.append, **settings}
            )
        except Exception as caught:  # noqa: BLE001 - whatever it is, both must raise it
            error = f"{type(caught).__name__}: {caught} {getattr(caught, '__notes__', '')}"
    entries = [_plain_entry(entry) for entry in list(book.entries())[before:]]
    bundle = io.BytesIO()
    if release:
        _without_reservation(release).write(bundle)
    seen = Seen(
        error, release.header if release else None, bundle.getvalue(), tuple(said), output.getvalue(), tuple(entries)
    )
    return seen, watcher[0] if watcher else None


def _plain_entry(entry: Any) -> tuple[Any, ...]:
    """An entry without its time, its random mark and the hashes that hold them."""
    detail = {key: len(value) if isinstance(value, str) else value for key, value in json.loads(entry.detail).items()}
    return entry.kind, entry.dataset, entry.adjacency, entry.units, tuple(sorted(detail.items()))


def _without_reservation(release: sfumato.Release) -> sfumato.Release:
    return replace(release, statement=release.statement.model_copy(update={"reservation": None}))
