"""Workers read the files of a frame that is nothing but Parquet files; of any other frame Spark reads the rows."""

import datetime as dt
import os
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.errors import DataError
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source, spark_parquet
from sfumato.trusted.sources import spark_workers as workers
from sfumato.trusted.sources.spark import SparkSource
from sfumato.trusted.sources.spark_files import open_frame
from sfumato.trusted.sources.spark_session import collect
from tests.conftest import make_table
from tests.leaks import TOKEN, everything_shown
from tests.sources.test_spark import KEY, LONG, PEOPLE, SCHEMA, SHORT, in_memory
from tests.sources.test_spark_workers import SHARE


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return make_table(400).append_column("who", pa.array(np.arange(400) % 60))


@pytest.fixture
def folder(people, tmp_path):
    """Files of several row groups each, in a folder whose name is not plain."""
    found = tmp_path / "ü 100%41"
    found.mkdir()
    for part in range(3):
        pyarrow.parquet.write_table(people.slice(150 * part, 150), found / f"{part} #.parquet", row_group_size=40)
    return found


@pytest.fixture(scope="module")
def plain(people, tmp_path_factory):
    """The path of one file."""
    path = tmp_path_factory.mktemp("plain") / "people.parquet"
    pyarrow.parquet.write_table(people, path)
    return str(path)


def read_by_workers(frame, schema=SCHEMA) -> bool:
    return SparkSource(frame, schema, KEY)._files is not None


class TestSums:
    @pytest.mark.parametrize("statistic", [SHORT, LONG, SHARE], ids=["short", "long", "share"])
    def test_are_those_of_memory(self, spark, folder, people, statistic):
        source = SparkSource(open_frame(str(folder), SCHEMA), SCHEMA, KEY)
        assert source._files is not None
        assert source.sum(statistic).tobytes() == in_memory(people, statistic)

    def test_of_a_users_own_frame_with_its_own_order_of_columns(self, spark, folder, people):
        names = people.column_names
        pyarrow.parquet.write_table(people.slice(0, 150).select(names[::-1]), folder / "0 #.parquet", row_group_size=7)
        frame = spark.read.parquet(f"file:{folder}")
        assert read_by_workers(frame)
        assert SparkSource(frame, SCHEMA, KEY).sum(SHORT).tobytes() == in_memory(people, SHORT)

    def test_by_person(self, spark, folder, people):
        source = SparkSource(open_frame(str(folder), PEOPLE), PEOPLE, KEY)
        assert source._files is not None
        assert source.sum(SHORT).tobytes() == in_memory(people, SHORT, PEOPLE)
        source.close()

    def test_of_dictionaries_large_texts_and_no_rows(self, spark, people, tmp_path):
        job = people.column_names.index("job")
        for place, kind in enumerate([pa.large_string(), pa.dictionary(pa.int8(), pa.string())]):
            other = people.set_column(job, "job", people.column("job").cast(kind))
            pyarrow.parquet.write_table(other.slice(200 * place, 200), tmp_path / f"{place}.parquet")
        pyarrow.parquet.write_table(people.slice(0, 0), tmp_path / "none.parquet")
        frame = spark.read.parquet(str(tmp_path))
        assert read_by_workers(frame)
        assert SparkSource(frame, SCHEMA, KEY).sum(SHORT).tobytes() == in_memory(people, SHORT)
        assert not SparkSource(spark.read.parquet(str(tmp_path / "none.parquet")), SCHEMA, KEY).sum(SHORT).any()

    def test_of_a_filtered_frame_are_of_its_rows(self, spark, folder, people):
        source = SparkSource(open_frame(str(folder), SCHEMA).where("age > 50"), SCHEMA, KEY)
        assert source._files is None
        kept = people.filter(pa.compute.greater(people.column("age"), 50))
        assert source.sum(SHORT).tobytes() == in_memory(kept, SHORT)


FAR = [-(2**31), 2**31 - 1, -719162, 0, None]  # days, of which Python knows the third and the fourth
LONG_AGO = [-(2**60), 2**60, -62135596800000000, 0, None]  # microseconds
COLUMNS = {
    "byte": pa.array([1, -5, 127, 0, None], pa.int8()),
    "long.or short": pa.array([2**60, -5, 8, 0, None], pa.int64()),
    "float": pa.array([float("nan"), -0.0, 1e-40, float("-inf"), None], pa.float32()),
    "decimal": pa.array([Decimal("12.34"), Decimal("-0.01"), Decimal("9.99"), Decimal(0), None], pa.decimal128(9, 2)),
    "bytes": pa.array([b"7", b"\xff", b"", b"7 ", None], pa.large_binary()),
    "numbers": pa.array([5, 6, 5, 6, None]).dictionary_encode(),
    "day": pa.array(FAR, pa.int32()).cast(pa.date32()),
    "moment": pa.array(LONG_AGO, pa.timestamp("us")),
    "instant": pa.array(LONG_AGO, pa.timestamp("us", "UTC")),
    "second": pa.array([dt.datetime(1, 1, 1), dt.datetime(2024, 3, 31, 2, 30), None, None, None], pa.timestamp("s")),
}
NUMBER = {"type": "number", "bounds": [-100, 100], "missing": True}
MOMENT = {"type": "datetime", "bounds": ["0001-01-02T00:00:00", "9999-12-30T00:00:00"], "missing": True}
KINDS = {
    "bytes": {"type": "category", "values": ["7", ""], "otherwise": "", "missing": True},
    "day": {"type": "date", "bounds": ["0001-01-02", "9999-12-30"], "missing": True},
    **dict.fromkeys(("moment", "instant", "second"), MOMENT),
}
OF_KINDS = Schema.from_dict(
    {"sfumato": 1, "name": "kinds", "columns": [{"name": name, **KINDS.get(name, NUMBER)} for name in COLUMNS]}
)


def codes_of(source: SparkSource) -> list[tuple[int, ...]]:
    names = tuple(OF_KINDS.by_name)
    work = partial(workers.encode_records, partial(source._read, names))
    codes = collect(source._map(names, work, workers.codes_layout(len(names))))
    return sorted(zip(*codes.to_pydict().values(), strict=True))


def test_every_type_is_read_as_spark_reads_it(spark, tmp_path):
    """Beside hidden files, a column in a struct that has the name of another, and in another time zone."""
    table = pa.table({**COLUMNS, "long": pa.array([{"or short": 1}] * 5)})
    pyarrow.parquet.write_table(table, tmp_path / "kinds.parquet", row_group_size=2)
    for hidden in ("_temporary.parquet", ".kinds.parquet"):
        pyarrow.parquet.write_table(table, tmp_path / hidden)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = spark.read.parquet(str(tmp_path / "*.parquet"))
        sources = [SparkSource(each, OF_KINDS, KEY) for each in (frame, frame.where("true"))]
        assert [source._files is not None for source in sources] == [True, False]
        by_workers, by_spark = map(codes_of, sources)
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    assert by_workers == by_spark
    assert len(by_spark) == len(table)


def _wider(spark, path: str) -> str:
    """The columns of a file with ages as numbers, which Spark reads too."""
    fields = {field.name: field.dataType.simpleString() for field in spark.read.parquet(path).schema}
    return ", ".join(f"{name} {kind}" for name, kind in (fields | {"age": "decimal(30, 0)"}).items())


OTHER_FRAMES = {
    "a projection": lambda spark, path: spark.read.parquet(path).select(*SCHEMA.by_name),
    "a new column": lambda spark, path: spark.read.parquet(path).selectExpr("*", "age + 1 older"),
    "a filter": lambda spark, path: spark.read.parquet(path).where("age > 0"),
    "a limit": lambda spark, path: spark.read.parquet(path).limit(10),
    "a sample": lambda spark, path: spark.read.parquet(path).sample(0.5, seed=1),
    "a union": lambda spark, path: spark.read.parquet(path).union(spark.read.parquet(path)),
    "a file twice": lambda spark, path: spark.read.parquet(path, path),
    "another type": lambda spark, path: spark.read.schema(_wider(spark, path)).parquet(path),
    "an option": lambda spark, path: spark.read.option("modifiedBefore", "2999-01-01T00:00:00").parquet(path),
    "rows in memory": lambda spark, path: spark.createDataFrame(pyarrow.parquet.read_table(path)),
}


class TestSparkReads:
    @pytest.mark.parametrize("name", OTHER_FRAMES)
    def test_other_frames(self, spark, plain, name):
        assert read_by_workers(spark.read.parquet(plain))
        assert not read_by_workers(OTHER_FRAMES[name](spark, plain))

    def test_tables_and_views(self, spark, plain):
        spark.read.parquet(plain).createOrReplaceTempView("of_a_file")
        assert not read_by_workers(spark.table("of_a_file"))

    def test_columns_of_partitions(self, spark, people, tmp_path):
        """Where the files have such a column too, Spark takes what the folder says."""
        for name, table in (("less", people.drop(["job"])), ("more", people)):
            pyarrow.parquet.write_to_dataset(table, tmp_path / name / "job=nurse")
            assert not read_by_workers(spark.read.parquet(str(tmp_path / name)))

    def test_what_is_persisted(self, spark, plain):
        frame = spark.read.parquet(plain).persist()
        assert not read_by_workers(frame)
        frame.unpersist()
        assert read_by_workers(frame)

    def test_what_a_setting_changes(self, spark, plain):
        spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
        try:
            assert not read_by_workers(spark.read.parquet(plain))
        finally:
            spark.conf.unset("spark.sql.files.ignoreCorruptFiles")

    def test_moments_that_are_written_in_another_way_or_calendar(self, spark, people, tmp_path):
        path = str(tmp_path / "old.parquet")
        pyarrow.parquet.write_table(people, path, use_deprecated_int96_timestamps=True)
        assert not read_by_workers(spark.read.parquet(path))
        pyarrow.parquet.write_table(people.replace_schema_metadata({"org.apache.spark.version": "2.4.8"}), path)
        assert not read_by_workers(spark.read.parquet(path))

    def test_a_calendar_that_stands_beside_the_schema_of_arrow(self, spark, people, tmp_path):
        for place, written in enumerate(({"org.apache.spark.version": "2.4.8"}, {"org.apache.spark.legacyINT96": ""})):
            path = str(tmp_path / f"{place}.parquet")
            with pyarrow.parquet.ParquetWriter(path, people.schema) as writer:
                writer.write_table(people)
                writer.add_key_value_metadata(written)
            assert not read_by_workers(spark.read.parquet(path))

    def test_names_that_differ_in_capitals(self, spark, plain, people, tmp_path):
        """Spark refuses such a file, of which the first in a folder says nothing."""
        two = people.append_column("AGE", people.column("age"))
        pyarrow.parquet.write_table(people, tmp_path / "0.parquet")
        assert read_by_workers(spark.read.parquet(str(tmp_path)))
        pyarrow.parquet.write_table(two, tmp_path / "1.parquet")
        frame = spark.read.schema(spark.read.parquet(plain).schema).parquet(str(tmp_path))
        assert not read_by_workers(frame)
        with pytest.raises(DataError):
            SparkSource(frame, SCHEMA, KEY).sum(SHORT)

    def test_other_numbers_and_types_than_declared(self, spark, people, tmp_path):
        place = people.column_names.index("age")
        for kind in (pa.uint8(), pa.uint32(), pa.uint64()):
            other = people.set_column(place, "age", people.column("age").cast(kind))
            pyarrow.parquet.write_table(other, tmp_path / f"{kind}.parquet")
            assert not read_by_workers(spark.read.parquet(str(tmp_path / f"{kind}.parquet")))

    def test_files_that_changed_after_they_were_listed(self, spark, people, tmp_path):
        """Spark would read what begins before their old ends."""
        path = tmp_path / "growing.parquet"
        pyarrow.parquet.write_table(people.slice(0, 10), path)
        frame, before = spark.read.parquet(str(path)), path.stat()
        assert read_by_workers(frame)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**6))
        assert not read_by_workers(frame)
        pyarrow.parquet.write_table(people, path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert not read_by_workers(frame)

    @pytest.mark.parametrize("name", spark_parquet._HADOOP_SETTINGS)
    def test_what_hadoop_is_told(self, spark, plain, name):
        frame, settings = spark.read.parquet(plain), spark.sparkContext._jsc.hadoopConfiguration()
        settings.set(name, "org.apache.hadoop.fs.LocalFileSystem")
        try:
            assert not read_by_workers(frame)
        finally:
            settings.unset(name)

    @pytest.mark.parametrize("limit", [1, 2])
    def test_more_files_than_the_driver_reads(self, spark, people, tmp_path, limit, monkeypatch):
        monkeypatch.setattr(spark_parquet, "MOST_FILES", limit)
        for part in range(2):
            pyarrow.parquet.write_table(people, tmp_path / f"{part}.parquet")
        assert read_by_workers(spark.read.parquet(str(tmp_path))) == (limit == 2)

    def test_what_lies_elsewhere_or_is_in_no_plan(self, plain):
        """A frame of Spark Connect, for one, has no plan here."""
        from sfumato.trusted.sources.spark_parquet import files_of

        assert files_of(object(), pa.schema([])) is None


class TestChanges:
    def test_are_noticed_between_questions(self, spark, plain, people, tmp_path):
        path = tmp_path / "changing.parquet"
        pyarrow.parquet.write_table(people, path)
        source = SparkSource(spark.read.parquet(str(path)), SCHEMA, KEY)
        assert source.sum(SHORT).tobytes() == in_memory(people, SHORT)
        before = path.stat()
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        with pytest.raises(DataError, match="could not be read to its end"):
            source.sum(SHORT)

    def test_of_what_is_broken_then_quote_nothing(self, spark, people, tmp_path, capfd):
        path = tmp_path / "broken.parquet"
        pyarrow.parquet.write_table(people, path)
        source = SparkSource(spark.read.parquet(str(path)), SCHEMA, KEY)
        path.write_bytes(TOKEN.encode() * 100)
        with pytest.raises(DataError, match="could not be read to its end") as caught:
            source.sum(SHORT)
        assert TOKEN not in everything_shown(caught.value)
        printed = capfd.readouterr()
        assert printed.out + printed.err == ""


def test_headers_are_those_of_the_frame(spark, plain):
    """What is told of the storage does not hang on who reads it."""
    frame = spark.read.parquet(plain)
    assert open_source(frame, SCHEMA).header == open_source(frame.where("true"), SCHEMA).header
