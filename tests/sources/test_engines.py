"""Every mechanism from every place where records can live: the same sums to the last bit, by record and by person."""

from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.trusted.sources import open_source
from tests.mechanisms.every import every_case
from tests.parameters import mostly_slow
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite
from tests.sources.test_sources import as_csv

KEY = b"the same for all"
SHORT = ("tables", "mixture", "subspace", "slices")
PLACES = ["parquet folder", "csv", "duckdb", "sqlite", "postgresql", "spark 1", "spark 2", "spark 7"]
CASES = {
    f"{name}{', by person' * by_person}": case.by_person() if by_person else case
    for by_person in (False, True)
    for name, case in every_case().items()
    if not (by_person and case.schema.public_features)
}


@cache
def asked(name: str) -> list[tuple[Any, bytes]]:
    """What a release from memory asks for, and the sums that it gets."""
    case = CASES[name]
    with closing(open_source(case.table, case.schema, KEY, declared=True)) as source:
        return [(item.statistic, source.sum(item.statistic).tobytes()) for item in case.release().measurements]


@pytest.fixture
def stored(request, tmp_path):
    """Puts a table into a place."""

    def put(table: pa.Table, place: str) -> Any:
        kind, _, parts = place.partition(" ")
        match kind:
            case "parquet":
                return in_files(table, tmp_path / "rows")
            case "csv":
                pyarrow.csv.write_csv(as_csv(table) if "seen" in table.column_names else table, tmp_path / "t.csv")
                return tmp_path / "t.csv"
            case "duckdb":
                return sfumato.Database(fill_duckdb(tmp_path / "t.duckdb", table), table="people")
            case "sqlite":
                return sfumato.Database(fill_sqlite(tmp_path / "t.sqlite", table), table="people")
            case "postgresql":
                return sfumato.Database(fill_server(request.getfixturevalue("server"), table), table="people")
        return request.getfixturevalue("spark").createDataFrame(table).repartition(int(parts))

    return put


def in_files(table: pa.Table, folder: Path) -> Path:
    folder.mkdir()
    for part, start in enumerate(range(0, len(table), 400)):
        pyarrow.parquet.write_table(table.slice(start, 400), folder / f"{part}.parquet")
    return folder


def _marked(name: str, place: str) -> Any:
    """Each mechanism from every place, Spark for one of them, by record and by person; the rest in the long checks."""
    short = {"spark 7": ("tables",), "parquet folder": SHORT, "postgresql": SHORT, "csv": ("tables",)}.get(place, ())
    long = name.removesuffix(", by person") not in short
    return pytest.param(name, place, marks=[pytest.mark.slow] if long else [])


@pytest.mark.parametrize(("name", "place"), [_marked(name, place) for name in CASES for place in PLACES])
def test_every_place_gives_the_same_sums(name, place, stored):
    case = CASES[name]
    with closing(open_source(stored(case.table, place), case.schema, KEY, declared=True)) as source:
        for statistic, expected in asked(name):
            assert source.sum(statistic).tobytes() == expected, statistic.title


@pytest.mark.parametrize("place", mostly_slow([*PLACES[:5], "spark 2"], *PLACES[:5]))
@pytest.mark.parametrize("name", ["mixture", "mixture, by person"])
def test_every_place_gives_the_same_release(name, place, stored):
    case = CASES[name]
    here, there = case.release(), case.release(stored(case.table, place))
    for one, other in zip(here.measurements, there.measurements, strict=True):
        assert np.array_equal(one.values, other.values)
    assert all(check.holds for check in verify(there) if "cryptographic" not in check.what)
    assert there.sample(5, output="arrow").num_columns == len(case.schema.by_name)
