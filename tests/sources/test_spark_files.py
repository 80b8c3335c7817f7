"""Files and tables that Spark opens give the sums that they give without Spark, to the bit."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from sfumato.errors import DataError, RequestError
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.spark_files import open_frame
from tests.parameters import mostly_slow
from tests.sources import test_csv_files
from tests.sources.test_sources import MOMENTS, OF_96_BITS, as_csv
from tests.sources.test_spark import SCHEMA, SHORT, in_memory

ODD = [
    (b"", True),
    ("1,2\nü,3".encode(), True),
    (b'"x\ny",1\n"x\r\ny",2\n', True),
    ('"é,è",1\n'.encode(), True),
    (b'"q""q",1\n', True),
    (b",\n,4\n", True),
    (b'"",""\n', True),
    (b"\xfc,1\n\xff\xfe,2\n", True),
    (b"1,2,3\n1\nM\xfcller,secret,diagnosis\n1,2\n", True),
    (b"\n1,2\n\n\n1,3\n", True),
    (b"1\x00,2\n", True),
    ("1,2\r\nü,3\r\n".encode(), True),
    ("1,2\r\nü,3\n1,4\r\n".encode(), True),
    ("1,2\nü,3\r\n1,4\n".encode(), True),
    (b'"x\r\ny",1\r\n1,2\n"x\ny",2\r\n', True),
    ('"é,"è,1\n'.encode(), False),
]


@pytest.fixture
def folder(tmp_path, table):
    pyarrow.parquet.write_table(table, tmp_path / "one.parquet")
    many = tmp_path / "many [1] {a}"
    (many / "year=1").mkdir(parents=True)
    for part in range(4):
        pyarrow.parquet.write_table(
            table.slice(100 * part, 100), many / ("year=1" if part % 2 else "") / f"part {part}.parquet"
        )
    for hidden in ("_SUCCESS", ".hidden.parquet", "README"):
        (many / hidden).write_text("not for us")
    pyarrow.csv.write_csv(as_csv(table), tmp_path / "one.csv")
    text = (tmp_path / "one.csv").read_bytes()
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    pyarrow.csv.write_csv(as_csv(table), tmp_path / "one.TSV", pyarrow.csv.WriteOptions(delimiter="\t"))
    (tmp_path / "csvs").mkdir()
    backwards = as_csv(table.select(table.column_names[::-1]))
    pyarrow.csv.write_csv(as_csv(table.slice(0, 150)), tmp_path / "csvs" / "a.csv")
    pyarrow.csv.write_csv(backwards.slice(150, 50), tmp_path / "csvs" / "b.csv")
    pyarrow.csv.write_csv(
        as_csv(table.slice(200)), tmp_path / "csvs" / "c.tsv", pyarrow.csv.WriteOptions(delimiter="\t")
    )
    return tmp_path


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        ["one.parquet", "many [1] {a}", "one.csv", "one.csv.gz", "bom.csv", "one.TSV", "csvs"], "many [1] {a}", "csvs"
    ),
)
def test_are_read_as_without_spark(spark, folder, table, name):
    source = open_source(open_frame(str(folder / name), SCHEMA), SCHEMA, declared=True)
    assert source.sum(SHORT).tobytes() == in_memory(table, SHORT)
    local = open_source(folder / name, SCHEMA, declared=True).header.types
    assert list(source.header.types) == list(local)


def test_wild_cards_and_addresses_are_those_of_spark(spark, folder, table):
    for where in (f"file://{folder}/one.parq*", f"file:{folder}/one.csv"):
        assert open_source(open_frame(where, SCHEMA), SCHEMA, declared=True).sum(SHORT).tobytes() == in_memory(
            table, SHORT
        )


def test_a_table_of_the_catalog(spark, table):
    spark.createDataFrame(table).createOrReplaceTempView("patients")
    assert open_source(open_frame("patients", SCHEMA), SCHEMA, declared=True).sum(SHORT).tobytes() == in_memory(
        table, SHORT
    )


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nowhere", "cannot open nowhere .TABLE_OR_VIEW_NOT_FOUND"),
        ("a.b.c.d", "cannot open a.b.c.d"),
        ("host=h password=topsecret dbname=x", "cannot open what is given"),
        ("nowhere.parquet", "cannot open nowhere.parquet .PATH_NOT_FOUND"),
        ("/nowhere/at/all", "cannot open /nowhere/at/all .PATH_NOT_FOUND"),
    ],
)
def test_what_is_nowhere(spark, where, message):
    with pytest.raises(DataError, match=message):
        open_frame(where, SCHEMA)


def test_moments_of_96_bits_are_read_as_without_spark(spark, tmp_path):
    table = pa.table({"m": pa.array(MOMENTS, pa.timestamp("us"))})
    path = str(tmp_path / "old.parquet")
    pyarrow.parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    sources = [open_source(data, OF_96_BITS, declared=True) for data in (path, open_frame(path, OF_96_BITS))]
    local, spread = ([batch.codes["m"].tolist() for batch in source.batches(("m",))] for source in sources)
    assert local == spread


def test_what_is_refused_without_spark(folder, table):
    pyarrow.parquet.write_table(table.drop(["age"]), folder / "many [1] {a}" / "z.parquet")
    for where, message in {
        folder: "mixes CSV and Parquet",
        folder / "many [1] {a}": r"z\.parquet has no column 'age'",
    }.items():
        with pytest.raises(DataError, match=message):
            open_frame(str(where), SCHEMA)


def test_what_is_refused_elsewhere(spark, folder, table):
    with pytest.raises(DataError, match="mixes CSV and Parquet"):
        open_frame(f"file:{folder}", SCHEMA)
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no \.parquet"):
        open_frame(f"file:{folder}/empty", SCHEMA)
    (folder / "csvs" / "d.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"d\.csv has no column 'age'"):
        open_frame(f"file:{folder}/csvs", SCHEMA)
    typed = table.set_column(table.column_names.index("age"), "age", table.column("age").cast(pa.int8()))
    pyarrow.parquet.write_table(typed, folder / "many [1] {a}" / "z.parquet")
    with pytest.raises(DataError, match=r"Spark cannot open .*their types"):
        open_frame(str(folder / "many [1] {a}"), SCHEMA)
    with pytest.raises(RequestError, match="holds a password"):
        open_frame("s3a://user:word@bucket/a.parquet", SCHEMA)


@pytest.mark.parametrize(("rows", "same"), ODD, ids=lambda value: repr(value))
@pytest.mark.slow
def test_odd_lines_are_read_as_without_spark(spark, tmp_path, rows, same):
    """But for a field that goes on after its closing quote."""
    path, schema, statistic = tmp_path / "t.csv", test_csv_files.SCHEMA, test_csv_files.COUNTS
    path.write_bytes(test_csv_files.HEAD + rows)
    total = open_source(open_frame(str(path), schema), schema, declared=True).sum(statistic)
    assert np.array_equal(total, open_source(path, schema, declared=True).sum(statistic)) == same
