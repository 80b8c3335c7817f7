"""Keys are counted the same wherever the records live, and of a person no more often than the unit allows."""

from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sfumato
from sfumato.errors import DataError, RequestError
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.spark import SparkSource
from tests.sources.filling import fill_duckdb, fill_sqlite

SCHEMA = Schema.from_yaml("""
sfumato: 1
name: t
columns:
  - {name: ward, type: category, values: discover}
  - {name: grade, type: category, values: discover}
  - {name: age, type: number, bounds: estimate}
""")
PERSONS = Schema.from_dict({**SCHEMA.to_dict(), "unit": {"column": "who", "records": 2}})


def table(rows: int = 3_000) -> pa.Table:
    rng = np.random.default_rng(0)
    wards = np.array(["a", "b", "c d", "é", "no"])[rng.integers(0, 5, rows)]
    return pa.table(
        {
            "ward": pa.array(wards, mask=rng.random(rows) < 0.1),
            "grade": rng.integers(1, 4, rows),
            "age": rng.normal(40, 10, rows),
            "who": pa.array([f"p{number}" for number in rng.integers(0, 500, rows)]),
        }
    )


def places(rows: pa.Table, folder):
    pyarrow.csv.write_csv(rows, folder / "t.csv")
    pyarrow.parquet.write_table(rows, folder / "t.parquet", row_group_size=700)
    yield rows.to_pandas()
    yield folder / "t.csv"
    yield folder / "t.parquet"
    yield sfumato.Database(fill_duckdb(folder / "t.duckdb", rows), table="people")
    yield sfumato.Database(fill_sqlite(folder / "t.sqlite", rows), table="people")


def counts(data, schema: Schema, name: str) -> dict[bytes, int]:
    with closing(open_source(data, schema, b"key", declared=True)) as source:
        return dict(source.count_keys(name))


@pytest.mark.parametrize("schema", [SCHEMA, PERSONS], ids=["by record", "by person"])
def test_every_place_counts_the_same(schema, tmp_path):
    rows = table()
    wanted = {name: counts(rows, schema, name) for name in ("ward", "grade")}
    assert set(wanted["grade"]) == {b"1", b"2", b"3"}
    if schema is SCHEMA:
        assert sum(wanted["ward"].values()) == len(rows) - rows["ward"].null_count
    for place in places(rows, tmp_path):
        assert {name: counts(place, schema, name) for name in wanted} == wanted, place


def test_a_person_counts_as_often_as_the_unit_allows():
    rows = table()
    found = counts(rows, PERSONS, "grade")
    persons = rows.group_by("who").aggregate([("who", "count")])["who_count"].to_numpy()
    assert sum(found.values()) == np.minimum(persons, 2).sum()
    crowd = pa.concat_tables(
        [rows, pa.table({"ward": ["x"] * 900, "grade": [9] * 900, "age": [1.0] * 900, "who": ["z"] * 900})]
    )
    assert counts(crowd, PERSONS, "grade") == {**found, b"9": 2}


def test_which_records_of_a_person_count_does_not_depend_on_their_order():
    """They differ in their keys alone, so that nothing but the keys can decide."""
    only = Schema.from_dict({**PERSONS.to_dict(), "columns": PERSONS.to_dict()["columns"][:1]})
    rows = pa.table({"ward": [f"ward {place}" for place in range(40)], "who": ["p"] * 40})
    chosen = [
        counts(rows.take(pa.array(np.random.default_rng(seed).permutation(40))), only, "ward") for seed in range(5)
    ]
    assert all(one == chosen[0] for one in chosen)
    assert len(chosen[0]) == 2


def test_records_of_nobody_have_no_keys():
    rows = pa.table({"ward": ["a", "b"], "grade": [1, 2], "age": [1.0, 2.0], "who": ["p", None]})
    assert counts(rows, PERSONS, "ward") == {b"a": 1}


@pytest.mark.parametrize("schema", [SCHEMA, PERSONS], ids=["by record", "by person"])
def test_a_source_goes_on_by_another_schema(schema, tmp_path):
    known = Schema.from_dict(
        {
            **schema.to_dict(),
            "columns": [
                {"name": "ward", "type": "category", "values": ["a", "other"], "otherwise": "other"},
                {"name": "grade", "type": "category", "values": ["1", "2", "3"]},
                {"name": "age", "type": "number", "bounds": [0, 100]},
            ],
        }
    )
    rows = table()
    with closing(open_source(rows, known, b"key", declared=True)) as source:
        wanted = sum(batch.rows for batch in source.batches(("ward",)))
    for place in (rows, *places(rows, tmp_path)):
        with closing(open_source(place, schema, b"key", declared=True)) as source:
            source.count_keys("ward")
            with closing(source.recode(known)) as again:
                assert sum(batch.rows for batch in again.batches(("ward", "age"))) == wanted


def test_a_frame_with_inferred_types_is_refused():
    with pytest.raises(DataError, match="text that writes numbers becomes numbers"):
        open_source(table(), SCHEMA)


def test_spark_is_refused_when_it_is_opened():
    with pytest.raises(RequestError, match="'ward', is not for Spark"):
        SparkSource(object(), SCHEMA, b"key")
