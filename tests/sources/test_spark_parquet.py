"""Workers read the files of a frame that is nothing but Parquet files; of any other frame Spark reads the rows."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.errors import DataError
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.spark import SparkSource
from sfumato.trusted.sources.spark_files import open_frame
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
        pyarrow.parquet.write_to_dataset(people.drop(["job"]), tmp_path / "job=nurse")
        assert not read_by_workers(spark.read.parquet(str(tmp_path)))

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
