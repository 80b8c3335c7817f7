"""A Spark frame gives the sums of the same table in memory, to the bit, and is refused by its header alone."""

import ast
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.feature_maps.hashed_share import HashedShare
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source, samples, spark_session
from sfumato.trusted.sources import spark as sources_spark
from sfumato.trusted.sources.spark import SparkSource, is_frame
from sfumato.trusted.statistics import Cells, Sampled, Stacked, size_of
from tests import test_mixture_release
from tests.conftest import MIXED, make_table
from tests.leaks import TOKEN, everything_shown
from tests.mechanisms import test_subspace

KEY = bytes(range(32))
SCHEMA = Schema.from_yaml(MIXED)
GRIDS = {name: fine_grid(codes) for name, codes in Encoder(SCHEMA).columns.items()}
SHORT = Cells(tuple((name, "ill") for name in SCHEMA.features), GRIDS, "ill")
LONG = Cells((("age", "wage"), ("debt", "wage")), GRIDS, "ill")
PEOPLE = Schema.from_dict({**SCHEMA.to_dict(), "unit": {"column": "who", "records": 3}})


def jobs(spark) -> int:
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def in_parts(spark, table: pa.Table, parts: int):
    return spark.createDataFrame(table).repartition(parts)


def in_memory(table: pa.Table, statistic, schema: Schema = SCHEMA) -> bytes:
    source = open_source(table, schema, KEY, declared=True)
    total = source.sum(statistic).tobytes()
    source.close()
    return total


class TestSums:
    @pytest.mark.parametrize(("rows", "parts"), [(400, 1), (400, 2), (400, 7), (3, 7), (0, 2)])
    def test_are_those_of_memory_for_any_parts(self, spark, rows, parts):
        table = make_table(rows)
        source = SparkSource(in_parts(spark, table, parts), SCHEMA, KEY)
        total = source.sum(SHORT)
        assert total.dtype == np.int64
        assert total.tobytes() == in_memory(table, SHORT)
        assert source.unit is None
        source.close()

    @pytest.mark.parametrize("statistic", [LONG, Stacked((SHORT, LONG), (1.0, 2.0))], ids=["long", "stacked"])
    def test_long_ones_are_added_up_by_workers(self, spark, table, statistic):
        assert size_of(statistic) > 30_000
        total = SparkSource(in_parts(spark, table, 7), SCHEMA, KEY).sum(statistic)
        assert total.tobytes() == in_memory(table, statistic)

    @pytest.mark.parametrize("most", [samples.MOST_KEPT, 1])
    def test_of_a_share_come_from_the_driver_after_the_first_unless_they_are_too_many(
        self, spark, table, monkeypatch, most
    ):
        monkeypatch.setattr(sources_spark, "MOST_KEPT", most)
        share = HashedShare(bytes(16), 1 << 31, {name: GRIDS[name] for name in SCHEMA.features})
        source = SparkSource(in_parts(spark, table, 3), SCHEMA, KEY)
        for place in range(2):
            before = jobs(spark)
            for asked in (Sampled(SHORT, share), Sampled(Cells((("age", "ill"),), GRIDS, "ill"), share)):
                assert source.sum(asked).tobytes() == in_memory(table, asked)
            assert (jobs(spark) == before) == (place == 1 and most > 1)

    def test_of_a_frame_without_parts_or_rows(self, spark, table):
        frame = spark.createDataFrame(table)
        assert not SparkSource(spark.createDataFrame([], frame.schema), SCHEMA, KEY).sum(SHORT).any()
        assert not SparkSource(frame.limit(0), SCHEMA, KEY).sum(LONG).any()

    def test_are_one_job_each(self, spark, table):
        source = SparkSource(spark.createDataFrame(table), SCHEMA, KEY)
        for statistic, most in ((SHORT, 1), (LONG, 2)):  # a shuffle is a job of its own where the plan is adaptive
            before = jobs(spark)
            source.sum(statistic)
            assert 1 <= jobs(spark) - before <= most

    def test_columns_may_have_any_name(self, spark, table):
        odd = {"age": "a.b", "job": "c`d", "wage": "e f", "debt": "`g`", "ill": "größe"}
        content = SCHEMA.to_dict()
        columns = [{**column, "name": odd.get(column["name"], column["name"])} for column in content["columns"]]
        schema = Schema.from_dict({**content, "columns": columns, "target": "größe"})
        renamed = table.rename_columns([odd.get(name, name) for name in table.column_names])
        statistic = Cells((("a.b", "größe"), ("c`d",)), {name: GRIDS[old] for old, name in odd.items()}, "größe")
        total = SparkSource(spark.createDataFrame(renamed), schema, KEY).sum(statistic)
        assert total.tobytes() == in_memory(renamed, statistic, schema)

    def test_other_columns_may_share_a_name(self, spark, table):
        frame = spark.createDataFrame(table)
        total = SparkSource(frame.select("*", frame["not_in_the_schema"]), SCHEMA, KEY).sum(SHORT)
        assert total.tobytes() == in_memory(table, SHORT)

    def test_of_every_type_that_can_be_read(self, spark, table):
        frame = spark.createDataFrame(table).selectExpr(
            "cast(age as tinyint) age", "null job", "cast(wage as decimal(30, 10)) wage", "cast(debt as float) debt",
            "cast(born as timestamp) born", "cast(seen as timestamp) seen", "cast(member as string) member",
            "cast(ill as binary) ill",
        )  # fmt: skip
        source = SparkSource(frame, SCHEMA, KEY)
        assert source.sum(SHORT).tobytes() == in_memory(frame.toArrow(), SHORT)
        assert source.header.frame == "arrow"
        assert source.header.types == {
            "age": "int8", "job": "", "wage": "", "debt": "float32", "born": "zone UTC", "seen": "zone UTC",
            "member": "", "ill": "",
        }  # fmt: skip


@pytest.mark.slow
class TestReleases:
    def test_tables(self, spark, table):
        self.check(spark, table, SCHEMA, epsilon=1.0, mechanism="tables")

    def test_tables_with_public_features(self, spark, table):
        schema = Schema.from_dict({**SCHEMA.to_dict(), "public_features": True})
        self.check(spark, table, schema, epsilon=1.0, mechanism="tables", adjacency="label")

    def test_mixture(self, spark):
        self.check(spark, test_mixture_release.make(300), test_mixture_release.SCHEMA, epsilon=8.0, mechanism="mixture")

    def test_subspace(self, spark):
        table = test_subspace.table(*test_subspace.records(300))
        self.check(spark, table, test_subspace.wide_schema(), epsilon=1.0, mechanism="subspace")

    def check(self, spark, table, schema, **settings):
        """Every measurement of a seeded release is the same; with public features they depend on the order of rows."""
        settings |= {"seed": 1, "ledger": None, "types": "declared"}
        ours = sfumato.release(spark.createDataFrame(table).coalesce(1), schema, **settings)
        theirs = sfumato.release(table, schema, **settings)
        assert len(ours.measurements) == len(theirs.measurements) > 1
        for mine, other in zip(ours.measurements, theirs.measurements, strict=True):
            assert mine.statistic.to_dict() == other.statistic.to_dict()
            assert mine.values.tobytes() == other.values.tobytes()


class TestPeople:
    """One person with half of the rows in all parts, some without an id, ids as numbers and as text."""

    @pytest.fixture
    def people(self):
        rng = np.random.default_rng(0)
        who = np.where(np.arange(400) % 2, 0, rng.integers(1, 50, 400))
        return make_table(400).append_column("who", pa.array(who, mask=rng.random(400) < 0.1))

    @pytest.mark.parametrize(("parts", "type_"), [(1, pa.int64()), (2, pa.string()), (7, pa.int64()), (7, pa.string())])
    def test_the_same_records_count(self, spark, people, parts, type_):
        people = people.set_column(people.column_names.index("who"), "who", people.column("who").cast(type_))
        source = SparkSource(in_parts(spark, people, parts), PEOPLE, KEY)
        assert source.unit == PEOPLE.unit
        expected = in_memory(people, SHORT, PEOPLE)
        assert 0 < np.frombuffer(expected, dtype=np.int64).sum() <= 3 * 50 * len(SHORT.tables)
        assert source.sum(SHORT).tobytes() == expected
        source.close()

    def test_another_key_chooses_others(self, spark, people):
        source = SparkSource(in_parts(spark, people, 2), PEOPLE, bytes(32))
        assert source.sum(SHORT).tobytes() != in_memory(people, SHORT, PEOPLE)
        source.close()

    def test_they_are_chosen_once_and_the_same_again_when_they_are_lost(self, spark, people):
        source = SparkSource(in_parts(spark, people, 7), PEOPLE, KEY)
        first, again = source.sum(SHORT), jobs(spark)
        assert source.sum(SHORT).tobytes() == first.tobytes()
        assert jobs(spark) == again + 1
        spark.catalog.clearCache()
        assert source.sum(SHORT).tobytes() == first.tobytes()
        assert source.sum(LONG).tobytes() == in_memory(people, LONG, PEOPLE)
        source.close()

    def test_nothing_is_kept_after_the_end(self, spark, people):
        source = SparkSource(in_parts(spark, people, 2), PEOPLE, KEY)
        source.sum(SHORT)
        assert source._records.storageLevel.useMemory
        source.close()
        assert not source._records.storageLevel.useMemory

    def test_the_key_stands_in_no_plan(self, spark, people):
        source = SparkSource(in_parts(spark, people, 2), PEOPLE, b"openSesame" * 3)
        plan = source._records._jdf.queryExecution().toString()
        assert "row_number" in plan
        assert "openSesame" not in plan
        source.close()

    def test_the_setting_of_the_session_comes_back(self, spark, people):
        name = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
        before = spark.conf.get(name)
        source = SparkSource(in_parts(spark, people, 2), PEOPLE, KEY)
        source.sum(SHORT)
        source.close()
        assert spark.conf.get(name) == before

    def test_an_expression_that_fails_is_not_quoted(self, spark, people, capfd):
        """Spark folds constants when it is told to keep a frame, before any task runs."""
        others = [name for name in people.column_names if name != "age"]
        frame = spark.createDataFrame(people).selectExpr(*others, f"cast('{TOKEN}' as int) age")
        source = SparkSource(frame, PEOPLE, KEY)
        for work in (lambda: source.sum(SHORT), lambda: list(source.batches(("age",)))):
            with pytest.raises(DataError, match="could not be read to its end") as caught:
                work()
            assert TOKEN not in everything_shown(caught.value)
        source.close()
        printed = capfd.readouterr()
        assert printed.out + printed.err == ""

    def test_closing_never_fails(self, spark, people):
        class Ended:
            def unpersist(self):
                raise RuntimeError("the session has ended")

        source = SparkSource(in_parts(spark, people, 2), PEOPLE, KEY)
        source._records = Ended()
        source.close()


def test_batches_are_the_codes_in_order(spark, table):
    names = ("wage", "ill")
    source = SparkSource(spark.createDataFrame(table).coalesce(1), SCHEMA, KEY)
    (mine,), (again,) = list(source.batches(names)), list(source.batches(names))
    (theirs,) = open_source(table, SCHEMA, declared=True).batches(names)
    assert mine.rows == theirs.rows == 400
    for name in names:
        assert mine.codes[name].dtype == theirs.codes[name].dtype
        assert np.array_equal(mine.codes[name], theirs.codes[name])
        assert np.array_equal(mine.codes[name], again.codes[name])


def test_is_frame(spark, table):
    assert is_frame(spark.range(1))
    assert not is_frame(table)


class TestRefused:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (("array(age) age",), "the frame stores column 'age' as list<.*cannot be read as integer"),
            (("map('a', age) age",), "'age' as map<"),
            (("make_dt_interval(age) age",), "'age' as duration"),
            (("make_ym_interval(age) age",), "'age' as interval year to month, which cannot be read"),
            (("array(cast(seen as timestamp)) age",), "'age' as (array|list)<.*, which cannot be read"),
            (("age", "age"), "the frame has more than one column 'age'"),
            ((), "the frame has no column 'age'"),
        ],
    )  # fmt: skip
    def test_by_the_declared_types(self, spark, table, change, message):
        others = [name for name in SCHEMA.by_name if name != "age"]
        frame = spark.createDataFrame(table).selectExpr(*others, *change)
        before = jobs(spark)
        with pytest.raises(DataError, match=message):
            open_source(frame, SCHEMA, declared=True)
        assert jobs(spark) == before

    def test_an_id_that_cannot_tell_persons_apart(self, spark, table):
        frame = spark.createDataFrame(table).selectExpr("*", "array(age) who")
        with pytest.raises(DataError, match=r"'who' as list.*cannot tell persons apart"):
            SparkSource(frame, PEOPLE, KEY)

    def test_a_stream(self, spark):
        with pytest.raises(DataError, match="the frame is a stream, which has no end"):
            SparkSource(spark.readStream.format("rate").load(), SCHEMA, KEY)

    def test_workers_with_another_version(self, spark, monkeypatch):
        monkeypatch.setattr(spark_session, "_AGREED", set())
        monkeypatch.setattr(spark_session, "__version__", "9.9")
        with pytest.raises(DataError, match=r"workers run Python 3[\d.]+ with sfumato 0.*PYSPARK_PYTHON.*sfumato 9\.9"):
            spark_session.check_workers(spark)


class TestStarting:
    @pytest.fixture
    def java(self, tmp_path, monkeypatch):
        """A Java that says of which version it is."""
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.defpath}")
        (tmp_path / "bin").mkdir()

        def make(says: str) -> Path:
            script = tmp_path / "bin" / "java"
            script.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
            script.chmod(0o755)
            return tmp_path

        return make

    @pytest.mark.parametrize(
        "says", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023', 'x version "99-ea"']
    )
    def test_a_new_java_will_do(self, java, says):
        java(says)
        spark_session.check_java()

    @pytest.mark.parametrize(
        ("says", "found"),
        [
            ('java version "1.8.0_392"', "Java 8"),
            ('openjdk version "11.0.2"', "Java 11"),
            ("hello", "Java of an unknown version"),
        ],
    )
    def test_an_old_java_is_named(self, java, says, found):
        java(says)
        with pytest.raises(DataError, match=f"needs Java 17 or newer, and .*bin/java is {found}.*set JAVA_HOME"):
            spark_session.check_java()

    def test_no_java(self, tmp_path, monkeypatch):
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        message = "Spark needs Java 17 or newer, and none was found; install one, or set JAVA_HOME"
        with pytest.raises(DataError, match=message):
            spark_session.check_java()

    def test_java_home_comes_first(self, java, monkeypatch, tmp_path):
        java('openjdk version "17"')
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "elsewhere"))
        with pytest.raises(DataError, match="none was found"):
            spark_session.check_java()

    def test_a_java_that_fails(self, tmp_path):
        (tmp_path / "java").write_text("""#!/bin/sh\necho 'version "17"' >&2\n[ "$1" = -version ]\n""")
        (tmp_path / "java").chmod(0o755)
        environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PYTHONPATH")}
        code = "from sfumato.trusted.sources.spark_session import session; session()"
        told = subprocess.run(
            [sys.executable, "-c", code],
            env={**environment, "PATH": f"{tmp_path}:{os.defpath}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.stderr.endswith("DataError: Spark did not start; run `pyspark` to see why\n")

    def test_without_pyspark(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyspark", None)
        with pytest.raises(DataError, match=r"pip install 'sfumato\[spark\]'"):
            spark_session.session()

    def test_the_active_session_is_taken(self, spark):
        assert spark_session.session() is spark

    def test_pyspark_is_not_loaded_unless_it_is_asked_for(self):
        code = "import sys, sfumato.cli.app, sfumato.trusted.sources.spark_files; sys.exit('pyspark' in sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)


def test_the_engine_draws_nothing():
    """Noise belongs to the driver; threat 11."""
    for file in Path(spark_session.__file__).parent.glob("spark*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            named = getattr(node, "module", None) or ""
            imported = [f"{named}.{alias.name}" for alias in getattr(node, "names", []) if isinstance(alias, ast.alias)]
            assert not [name for name in imported if "random" in name or "secrets" in name or "noise" in name]
            assert not (isinstance(node, ast.Attribute) and node.attr in ("random", "urandom"))


@pytest.mark.parametrize("schema", [SCHEMA, PEOPLE], ids=["records", "persons"])
def test_records_are_as_they_are_stored(spark, table, schema):
    names = ("wage", "ill")
    people = table.append_column("who", pa.array(np.arange(table.num_rows) % 50))
    source = SparkSource(in_parts(spark, people, 3), schema, KEY)
    stored = pa.Table.from_batches(source.records(names)).select(names)
    assert Counter(map(str, stored.to_pylist())) == Counter(map(str, people.select(names).to_pylist()))
    source.close()
