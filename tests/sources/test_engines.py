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
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Cells
from tests.constraints.stays import SCHEMA, stays
from tests.mechanisms.every import every_case
from tests.parameters import mostly_slow
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite
from tests.sources.test_sources import as_csv

KEY = b"the same for all"
SHORT = ("tables", "mixture", "subspace", "slices")
PLACES = ["parquet folder", "csv", "duckdb", "sqlite", "postgresql", "spark 1", "spark 2", "spark 7", "spark files"]
CASES = {
    f"{name}{', by person' * by_person}": case.by_person() if by_person else case
    for by_person in (False, True)
    for name, case in every_case().items()
    if not name.startswith("3a, ")  # these ask nothing that others do not
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
        spark = request.getfixturevalue("spark")
        if parts == "files":  # which the workers read themselves
            return spark.read.parquet(str(in_files(table, tmp_path / "rows")))
        return spark.createDataFrame(table).repartition(int(parts))

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


@cache
def each_measured() -> tuple[Cells, ...]:
    """Tables of all measured columns of a schema with constraints, in which few codes share a cell."""
    columns = layout_of(SCHEMA).measured_codes
    grids = {name: Grid.of_cells(np.arange(codes.size) // 7 % 10_007 % codes.size) for name, codes in columns.items()}
    return tuple(Cells(((name,),), {name: grids[name]}, None) for name in columns)


@pytest.mark.parametrize("place", mostly_slow(PLACES, *PLACES[:5], "spark 2"))
def test_constrained_columns_are_measured_alike_in_every_place(place, stored):
    table = stays(300, broken=0.3)
    with (
        closing(open_source(table, SCHEMA, declared=True)) as here,
        closing(open_source(stored(table, place), SCHEMA, declared=True)) as there,
    ):
        for cells in each_measured():
            assert there.sum(cells).tobytes() == here.sum(cells).tobytes(), cells.title


MULTIPLES = """
sfumato: 1
name: t
columns:
  - {name: price, type: number, bounds: [0, 99.99], decimals: 2, missing: true}
  - {name: dose, type: number, bounds: [-1.5, 1500000], step: 0.75}
  - {name: credit, type: integer, bounds: [0, 1000000], step: 10000}
  - {name: smoker, type: boolean, words: [Nein, Ja], missing: true}
target: smoker
"""


def priced(rows: int = 300) -> pa.Table:
    """Multiples and what lies between, half way too; words in any case, and words that nobody knows."""
    rng = np.random.default_rng(3)
    price = np.where(rng.random(rows) < 0.5, rng.integers(0, 10_000, rows) / 100, 110 * rng.random(rows))
    price[:40] = np.arange(40) + 0.125
    words = np.array(["ja", "NEIN", "Ja", "yes", "0", "vielleicht"])[rng.integers(0, 6, rows)]
    return pa.table(
        {
            "price": pa.array(price, mask=rng.random(rows) < 0.1),
            "dose": 2e6 * rng.random(rows) ** 9,
            "credit": rng.integers(-(10**5), 2 * 10**6, rows),
            "smoker": pa.array(words, mask=rng.random(rows) < 0.1),
        }
    )


@cache
def each_code() -> Cells:
    """Tables in which two codes hardly share a cell."""
    columns = Encoder(sfumato.Schema.from_yaml(MULTIPLES)).columns
    grids = {
        name: Grid.of_cells(np.arange(codes.size) // (1 + codes.size // 2**17) % 10_007)
        for name, codes in columns.items()
    }
    return Cells(tuple((name, "smoker") for name in columns if name != "smoker"), grids, "smoker")


@pytest.mark.parametrize("place", mostly_slow(PLACES, *PLACES[:5], "spark 2"))
def test_multiples_and_words_have_the_same_codes_in_every_place(place, stored):
    schema, table = sfumato.Schema.from_yaml(MULTIPLES), priced()
    with (
        closing(open_source(table, schema, declared=True)) as here,
        closing(open_source(stored(table, place), schema, declared=True)) as there,
    ):
        assert there.sum(each_code()).tobytes() == here.sum(each_code()).tobytes()
