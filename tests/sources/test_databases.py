"""Databases give the sum of the same table in memory, of one moment, whatever happens to them; and they never talk."""

import decimal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sfumato.encoding import Encoder
from sfumato.encoding.persons import persons
from sfumato.errors import DataError, RequestError
from sfumato.mechanisms.tables.grids import fine_grid
from sfumato.schema import Schema
from sfumato.sources import sql
from sfumato.sources.batches import ROWS_AT_ONCE
from sfumato.sources.databases import Database, header_types, of_database
from sfumato.sources.memory import MemorySource
from sfumato.sources.sqlite_files import SQLite
from sfumato.statistics import Cells
from tests.conftest import MIXED, make_table
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite
from tests.sources.postgresql_server import PASSWORD, ROLE, STRANGER
from tests.test_leaks import told

TOKEN = "zx81canary"
KINDS = ["postgresql", "sqlite", "duckdb"]


@pytest.fixture
def opened(schema):
    """Opens databases, and closes them after the test."""
    with ExitStack() as stack:

        def opened(database, schema=schema):
            source = of_database(database, schema)
            stack.callback(source.close)
            return source

        yield opened


def cells_of(schema: Schema) -> Cells:
    """Each column, crossed with the target where there is one."""
    grids = {name: fine_grid(codes) for name, codes in Encoder(schema).columns.items()}
    target = (schema.target,) if schema.target else ()
    return Cells(tuple((name, *target) for name in schema.features), grids, schema.target)


@pytest.fixture(scope="module")
def cells():
    return cells_of(Schema.from_yaml(MIXED))


@pytest.fixture(scope="module")
def reference(cells):
    return MemorySource(make_table(400), Schema.from_yaml(MIXED)).sum(cells)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def people(kind, request, table, tmp_path):
    """The address of a database that has the table."""
    match kind:
        case "postgresql":
            return fill_server(request.getfixturevalue("server"), table)
        case "sqlite":
            return fill_sqlite(tmp_path / "people.sqlite", table)
        case _:
            return fill_duckdb(tmp_path / "people.duckdb", table)


class TestTheSameSum:
    @pytest.mark.parametrize(
        "what",
        [
            {"table": "people"},
            {"table": '"people"'},
            {"query": "select * from people"},
            {"query": " with p as (select * from people) select * from p order by age; "},
            {"query": "select * from people -- all of them"},
        ],
        ids=str,
    )
    def test_as_in_memory(self, people, what, opened, cells, reference):
        source = opened(Database(people, **what))
        assert source.sum(cells).tobytes() == reference.tobytes()
        assert source.sum(cells).tobytes() == reference.tobytes()
        assert list(source.header.types) == ["ill", "age", "job", "wage", "debt", "born", "seen", "member"]

    def test_as_part_of_the_table_in_memory(self, people, opened, cells, table, schema):
        source = opened(Database(people, query="select * from people where ill = 'yes'"))
        part = table.filter(pa.compute.equal(table.column("ill"), "yes"))
        assert np.array_equal(source.sum(cells), MemorySource(part, schema).sum(cells))

    def test_no_rows(self, people, opened, cells):
        assert not opened(Database(people, query="select * from people where 1 = 0")).sum(cells).any()

    def test_in_other_types_of_postgresql(self, server, table, opened, cells, reference):
        fill_server(server, table)
        server.run(
            "drop schema if exists odd cascade",
            "create schema odd",
            f"grant usage on schema odd to {ROLE}",
            "create type odd.job as enum ('pilot', 'clerk', 'cook', 'nurse')",
            "create domain odd.years as smallint",
            "create table odd.people as select ill::char(5) ill, age::odd.years age, job::odd.job job, wage,"
            " debt::text debt, born::timestamp born, seen at time zone 'UTC' seen, member::int member from people",
        )
        source = opened(Database(server.address(), table="odd.people"))
        assert np.array_equal(source.sum(cells), reference)
        assert source.header.types["seen"] == "zone UTC"
        assert source.header.types["age"] == "int16"

    def test_in_other_types_of_duckdb(self, tmp_path, table, opened, cells, reference):
        path = fill_duckdb(tmp_path / "people.ddb", table)
        with duckdb.connect(path) as connection:
            connection.execute("create schema odd")
            connection.execute("create type job as enum ('pilot', 'clerk', 'cook', 'nurse')")
            connection.execute(
                "create table odd.people as select ill::blob ill, age::decimal(5, 1) age, job::job job, wage,"
                " debt::varchar debt, born::timestamp_ns born, seen::timestamp_s seen, member::int member from people"
            )
        assert np.array_equal(opened(Database(Path(path), table="odd.people")).sum(cells), reference)

    @pytest.mark.parametrize("declared", ["", " text", " real", " integer"])
    def test_in_other_types_of_sqlite(self, tmp_path, table, opened, cells, reference, declared):
        """What a column is declared as has a say in what SQLite stores."""
        columns = ", ".join(name + (declared if name != "debt" else "") for name in table.column_names)
        path = fill_sqlite(tmp_path / "people.db", table, columns)
        assert np.array_equal(opened(Database(path, table="people")).sum(cells), reference)


MINI = """
sfumato: 1
name: mini
columns:
  - {name: number, type: number, bounds: [-1000, 1000], missing: true, otherwise: 5}
  - {name: group, type: category, values: [0, 3, "2.5", seven], missing: true, otherwise: seven}
  - {name: day, type: date, bounds: [2000-01-01, 2020-12-31], missing: true}
  - {name: moment, type: datetime, bounds: [2010-05-01T00:00:00, 2010-05-09T00:00:00], missing: true}
"""


class TestValues:
    """Values at the edges have the codes that they have in memory."""

    @pytest.fixture
    def schema(self):
        return Schema.from_yaml(MINI)

    @staticmethod
    def check(source, schema, values: dict[str, pa.Array]) -> None:
        codes = Encoder(schema)
        (batch,) = source.batches(tuple(values))
        for name, array in values.items():
            expected = codes.encode(pa.record_batch({name: array}), [name]).codes[name]
            assert batch.codes[name].tolist() == expected.tolist(), name

    @staticmethod
    def rows(column: str, storage: str, values: list[object]) -> str:
        listed = ", ".join("(null)" if value is None else f"('{value}')" for value in values)
        others = {"number", "group", "day", "moment"} - {column}
        nulls = ", ".join(f'null as "{name}"' for name in sorted(others))
        return f'select cast(v as {storage}) as "{column}", {nulls} from (values {listed}) as t(v)'

    NUMBERS = ("0", "-0.00", "3", "3.00", "2.5", "2.50", "0.1", "999.999", "1e3", "1000000", "-123456789012345678901.5")

    @pytest.mark.parametrize("column", ["number", "group"])
    def test_decimals(self, server, opened, schema, column):
        """As decimals in memory, not as the text in which the driver hands them over."""
        values = [*self.NUMBERS, None]
        exact = pa.array([value and decimal.Decimal(value) for value in values], pa.decimal256(40, 10))
        for storage in ("numeric", "numeric(40, 10)"):
            source = opened(Database(server.address(), query=self.rows(column, storage, values)))
            assert source.header.types[column] == ""
            self.check(source, schema, {column: exact})

    @pytest.mark.parametrize("storage", ["numeric", "float8", "float4"])
    @pytest.mark.parametrize("column", ["number", "group"])
    def test_numbers_that_are_none(self, server, opened, schema, column, storage):
        values = ["nan", "infinity", "-infinity", None]
        numbers = pa.array([np.nan, np.inf, -np.inf, None], pa.float32() if storage == "float4" else pa.float64())
        source = opened(Database(server.address(), query=self.rows(column, storage, values)))
        self.check(source, schema, {column: numbers})

    def test_decimals_beyond_all_floats(self, server, opened, schema):
        source = opened(Database(server.address(), query=self.rows("number", "numeric", ["1e400", "-1e400", "1e-400"])))
        self.check(source, schema, {"number": pa.array([np.inf, -np.inf, 0.0])})

    def test_money(self, server, opened, schema):
        source = opened(Database(server.address(), query=self.rows("number", "money", ["12.50", "-3"])))
        self.check(source, schema, {"number": pa.array([12.5, -3.0])})

    def test_days_and_moments_without_end(self, server, opened, schema, tmp_path):
        values = ["infinity", "-infinity", "2010-05-06", None]
        bounds = pa.array([20_000, -20_000, 14_735, None], pa.int32()).cast(pa.date32())
        with duckdb.connect(tmp_path / "none.duckdb"):
            pass
        for address in (server.address(), str(tmp_path / "none.duckdb")):
            for column, storage in (("day", "date"), ("moment", "timestamp"), ("moment", "timestamptz")):
                with closing(
                    of_database(Database(address, query=self.rows(column, storage, values)), schema)
                ) as source:
                    self.check(source, schema, {column: bounds})

    def test_blanks_at_the_end_of_char_and_a_uuid(self, server, opened):
        schema = Schema.from_yaml(MINI + "unit: {column: id, records: 2}")
        uuid = "0c7e6a52-7f7b-4a4e-9f0e-0123456789ab"
        query = (
            f"select 1 as number, 'seven'::char(9) as group, null::date as day, null::date as moment, '{uuid}'::uuid id"
        )
        (batch,) = opened(Database(server.address(), query=query), schema).records(("group", "id"))
        assert batch.to_pylist() == [{"group": "seven", "id": uuid}]

    def test_ids_that_are_numeric_keep_all_their_digits(self, server, opened):
        schema = Schema.from_yaml(MINI + "unit: {column: id, records: 2}")
        values = ("9007199254740992", "9007199254740993.00", "'NaN'", "null")
        query = " union all ".join(
            f"select 1 as number, 'seven' as group, null::date as day, null::date as moment, {value}::numeric as id"
            for value in values
        )
        (batch,) = opened(Database(server.address(), query=query), schema).records(("id",))
        assert persons(batch.column("id")).to_pylist() == [b"9007199254740992", b"9007199254740993", None, None]

    @pytest.mark.parametrize("storage", ["numeric", "numeric(10, 4)", "money"])
    def test_ids_that_are_numeric_end_in_no_zeros(self, server, opened, storage):
        schema = Schema.from_yaml(MINI + "unit: {column: id, records: 2}")
        query = " union all ".join(
            f"select 1 as number, 'seven' as group, null::date as day, null::date as moment, '{value}'::{storage} as id"
            for value in ("1.50", "1.5", "-0.20", "100", "100.00", "0.00", "10.05")
        )
        (batch,) = opened(Database(server.address(), query=query), schema).records(("id",))
        expected = [b"1.5", b"1.5", b"-0.2", b"100", b"100", b"0", b"10.05"]
        assert persons(batch.column("id")).to_pylist() == expected

    @pytest.mark.parametrize("storage", ["time", "interval", "json", "inet", "int4range", "int[]"])
    def test_types_without_plain_values_are_refused_only_where_they_are_named(self, server, opened, storage):
        query = f"select null::{storage} as number, 'seven' as group, null as day, null as moment, 1 as id"
        with pytest.raises(DataError, match=r"the query stores column 'number' as .*cast it in a query") as error:
            opened(Database(server.address(), query=query), Schema.from_yaml(MINI))
        assert "extension" not in str(error.value) or storage == "json"
        fewer = Schema.from_yaml(MINI.replace("name: number", "name: id"))
        assert opened(Database(server.address(), query=query), fewer).sum(cells_of(fewer)).sum() == 4

    @pytest.mark.parametrize(
        ("encoding", "text", "stored"),
        [("LATIN1", "'caf' || chr(233)", "café"), ("SQL_ASCII", r"convert_from('\xff6100'::bytea, 'SQL_ASCII')", None)],
    )
    def test_servers_of_another_encoding(self, server, opened, encoding, text, stored):
        """Letters arrive as they are; bytes that are no text stop nothing."""
        name = encoding.lower()
        server.run(f"create database {name} encoding '{encoding}' template template0")
        schema = Schema.from_yaml(
            "sfumato: 1\nname: x\ncolumns: [{name: drink, type: category, values: [tea, café, milk]}]"
        )
        query = f"select {text if stored else text.replace('00', '')} as drink"
        source = opened(Database(server.address(database=name), query=query), schema)
        assert source.sum(cells_of(schema)).tolist() == ([0, 1, 0] if stored else [0, 0, 1])

    def test_sqlite_stores_anything_anywhere(self, tmp_path, opened, schema):
        odd = [b"\xff\xfe", "7\x00", 3, 3.0, "3", "3.0", 2.5, float("inf"), None, True, 2**63 - 1, ""]
        path = tmp_path / "odd.sqlite3"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute('create table t (number, "group", day, moment)')
            connection.executemany("insert into t values (?, ?, ?, ?)", [[value] * 4 for value in odd])
            connection.execute("insert into t values (cast(x'ff' as text), cast(x'ff' as text), x'ff', '2010-01-01')")
        source = opened(Database(path, table="t"))
        assert source.sum(cells_of(schema)).sum() == 4 * (len(odd) + 1)
        (batch,) = source.batches(("group",))
        assert batch.codes["group"].tolist() == [3, 3, 1, 1, 1, 3, 2, 3, 4, 3, 3, 3, 3]


class TestNames:
    ODD = ('a "b" {c}', "x.y", "É%s", "select", "Case")

    @pytest.fixture
    def schema(self):
        columns = [{"name": name, "type": "integer", "bounds": [0, 9]} for name in self.ODD]
        return Schema.from_content({"sfumato": 1, "name": "odd", "columns": columns})

    @pytest.mark.parametrize("table", ["people", 'od"d. table'])
    def test_odd_names(self, kind, request, tmp_path, opened, schema, table):
        rows = ", ".join(f"{number} as {sql.quoted(name)}" for number, name in enumerate(self.ODD))
        create = f"create table {sql.quoted(table)} as select {rows}"
        match kind:
            case "postgresql":
                server = request.getfixturevalue("server")
                server.run(f"drop table if exists {sql.quoted(table)}", create)
                address = server.address()
            case "sqlite":
                address = str(tmp_path / "odd #?%20.db")
                with closing(sqlite3.connect(address)) as connection:
                    connection.execute(create)
            case _:
                address = str(tmp_path / "odd #%20.duckdb")  # DuckDB itself trips over ?
                with duckdb.connect(address) as connection:
                    connection.execute(create)
        database = Database(address, table=sql.quoted(table))
        assert list(header_types(database)) == list(self.ODD)
        (batch,) = opened(database).records(self.ODD[::-1])
        assert [int(value) for value in batch.to_pylist()[0].values()] == [4, 3, 2, 1, 0]
        assert batch.schema.names == list(self.ODD[::-1])

    @pytest.mark.parametrize("table", ["", ".", "a.", ".a", "a..b", 'a"b', '"a', '""'])
    def test_what_is_no_name(self, table):
        with pytest.raises(RequestError, match=r"is no name; write table or schema\.table"):
            Database("x.db", table=table)


ENDS = ["", ";", " ;\n", ";;", "; ;\n\n", "\n-- all of them", "; -- note", ";\n/* the\nend; */\n", "/* a */;--;\n;"]


@pytest.mark.parametrize("end", ENDS)
def test_a_query_may_end_as_shells_like_it(people, opened, cells, reference, end):
    assert np.array_equal(opened(Database(people, query=f"select * from people{end}")).sum(cells), reference)


KEPT = [
    "select ';--'",
    "select 'it''s; -- x'",
    'select "a; -- b" from "t;--"',
    r"select E'\'; -- x'",
    r"select a from t where b like'\'",
    "select $$; -- x$$",
    "select $q$; $$ /* x */$q$",
    "select a$b from t",
    "select [a--b] from [t;]",
    "select `a--b`",
    "select array['a--b', 'c']",
    "select 1 -- first\nfrom t /* ; */ where b",
    "select 1; select 2",
]


@pytest.mark.parametrize("query", KEPT)
def test_only_the_end_of_a_query_is_cut(query):
    for end in ("", ";", '; -- it\'s "over" $$'):
        assert sql.rows_of_query(query + end) == f"(\n{query}\n) as sfumato_rows"


class TestHeaders:
    def test_declared_types(self, people, kind):
        found = header_types(Database(people, table="people"))
        assert list(found)[:4] == ["ill", "age", "job", "wage"]
        if kind == "sqlite":
            assert set(found.values()) == {pa.null()}
        else:
            assert [found[name] for name in ("ill", "age", "born")] == [pa.string(), pa.int64(), pa.date32()]

    def test_a_column_that_is_not_there(self, people, opened):
        with pytest.raises(DataError, match="the query has no column 'wage'"):
            opened(Database(people, query="select age, job from people"))

    def test_a_column_that_is_there_twice(self, server, table, opened):
        with pytest.raises(DataError, match="the query has more than one column 'age'"):
            opened(Database(fill_server(server, table), query="select *, 1 as age from people"))

    def test_a_type_that_cannot_hold_the_values(self, server, table, opened):
        query = "select ill, current_date as age, job, wage, debt, born, seen, member from people"
        with pytest.raises(DataError, match="the query stores column 'age' as date32"):
            opened(Database(fill_server(server, table), query=query))

    def test_only_named_columns_are_asked_for(self, people, opened, monkeypatch):
        source = opened(Database(people, query="select * from people"))
        asked = []
        for module in ("postgresql", "sqlite_files", "duckdb_files"):
            monkeypatch.setattr(f"sfumato.sources.{module}.select", lambda *a: asked.append(a) or sql.select(*a))
        assert sum(batch.num_rows for batch in source.records(("age", "not_in_the_schema"))) == 400
        assert asked == [(['"age"', f'"not_in_the_schema"{"::text" if "postgresql" in people else ""}'], asked[0][1])]


class TestStreams:
    ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select i as age from n"

    @pytest.fixture
    def schema(self):
        return Schema.from_yaml("sfumato: 1\nname: x\ncolumns: [{name: age, type: integer, bounds: [0, 99]}]")

    def test_rows_come_as_they_are_found(self, people, kind, opened, schema):
        """The rows have no end; their first batch comes all the same."""
        query = "select range as age from range(1000000000000)" if kind == "duckdb" else self.ENDLESS
        batches = opened(Database(people, query=query), schema).records(("age",))
        assert 0 < next(batches).num_rows <= ROWS_AT_ONCE
        batches.close()

    def test_a_reading_that_was_given_up_disturbs_no_other(self, people, kind, opened, schema):
        """What is left of it is more than one batch of the driver, which PostgreSQL's measures in bytes."""
        wide = f", '{'x' * 1000}' as pad from people p, people q where q.age < 30"
        query = "select p.age as age" + (wide if kind == "postgresql" else ", 1 as pad from people p, people q")
        source = opened(Database(people, query=query), schema)
        whole = source.sum(cells_of(schema))
        batches = source.records(("age", "pad"))
        first = next(batches).num_rows
        batches.close()
        assert np.array_equal(source.sum(cells_of(schema)), whole)
        assert first < whole.sum()


class TestOneSnapshot:
    MORE = ("insert into people select * from people", "update people set age = 1, ill = 'no'")

    def check(self, database, opened, cells, reference, write) -> None:
        source = opened(database)
        assert np.array_equal(source.sum(cells), reference)
        write()
        assert np.array_equal(source.sum(cells), reference)
        source.close()
        later = opened(database).sum(cells)
        assert later.sum() == 2 * reference.sum()

    def test_of_postgresql(self, server, table, opened, cells, reference):
        database = Database(fill_server(server, table), table="people")
        self.check(database, opened, cells, reference, lambda: server.run(*self.MORE))

    def test_is_pinned_before_the_first_sum(self, server, table, opened, cells, reference):
        source = opened(Database(fill_server(server, table), table="people"))
        server.run(*self.MORE, "delete from people")
        assert np.array_equal(source.sum(cells), reference)

    def test_of_sqlite_with_a_log(self, tmp_path, table, opened, cells, reference):
        path = fill_sqlite(tmp_path / "people.db", table)
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("pragma journal_mode = wal")

            def write():
                for statement in self.MORE:
                    writer.execute(statement)

            self.check(Database(path, table="people"), opened, cells, reference, write)

    def test_of_sqlite_is_pinned_as_it_begins(self, tmp_path, table):
        path = fill_sqlite(tmp_path / "people.db", table)
        with closing(sqlite3.connect(path, isolation_level=None)) as writer, closing(SQLite(path, "people")) as reader:
            writer.execute("pragma journal_mode = wal")
            reader.begin()
            writer.execute("delete from people")
            assert next(reader.read(("age",))).num_rows == 400

    def test_of_sqlite_keeps_writers_out(self, tmp_path, table, opened, cells, reference):
        path = fill_sqlite(tmp_path / "people.db", table)
        source = opened(Database(path, table="people"))
        with closing(sqlite3.connect(path, timeout=0)) as writer:
            with pytest.raises(sqlite3.OperationalError, match="locked"), writer:
                writer.execute("delete from people")
            assert np.array_equal(source.sum(cells), reference)
            source.close()
            with writer:
                writer.execute("delete from people")

    def test_of_duckdb_keeps_writers_out(self, tmp_path, table, opened, cells, reference):
        path = fill_duckdb(tmp_path / "people.duckdb", table)
        source = opened(Database(path, table="people"))
        with pytest.raises(duckdb.Error):
            duckdb.connect(path)
        other = f"import duckdb\nduckdb.connect({path!r}).execute('delete from people')"
        assert subprocess.run([sys.executable, "-c", other], capture_output=True, check=False).returncode == 1
        assert np.array_equal(source.sum(cells), reference)


NO_SELECT = [
    "",
    "delete from people",
    "select * from people; delete from people",
    "select * from people) as a; select * from (select * from people",
    "select * from people) as a; delete from people; select * from (select * from people",
    "select * from people) as a; commit; delete from people; select * from (select * from people",
    "with gone as (delete from people returning *) select * from gone",
    "insert into people select * from people returning *",
    "create table copied as select * from people",
    "copy people to 'must-not-be-here'",
    "pragma query_only",
    "begin",
]


class TestNothingIsWritten:
    def test_a_query_is_one_select(self, people, opened, cells, reference):
        for query in NO_SELECT:
            with pytest.raises(DataError, match=r"the query cannot be run \(\w+\); write one select"):
                opened(Database(people, query=query))
        assert np.array_equal(opened(Database(people, table="people")).sum(cells), reference)

    @pytest.mark.parametrize("trick", ["gone()", "length(set_config('transaction_read_only', 'off', true))"])
    def test_not_even_by_functions_of_a_server(self, server, table, opened, cells, reference, trick):
        fill_server(server, table)
        server.run(
            "create or replace function gone() returns int language sql as 'delete from people; select 1'",
            f"grant delete on people to {ROLE}",
        )
        query = f"select ill, {trick} as age, job, wage, debt, born, seen, member from people"
        source = opened(Database(server.address(), query=query))
        check_discreet(lambda: source.sum(cells))
        source.close()
        assert np.array_equal(opened(Database(server.address(), table="people")).sum(cells), reference)

    def test_other_files_and_variables_are_no_tables_of_duckdb(self, tmp_path, table, opened):
        path = fill_duckdb(tmp_path / "people.duckdb", table)
        (tmp_path / "other.csv").write_text("age\n1\n")
        frame = table
        for place in (f"'{tmp_path / 'other.csv'}'", "frame", "reader", "rows"):
            with pytest.raises(DataError, match="the query cannot be run"):
                opened(Database(path, query=f"select * from {place}"))
        assert len(frame) == 400


class TestAddresses:
    @pytest.mark.parametrize(
        "address",
        [
            f"postgresql://me:{PASSWORD}@host/db",
            f"postgres://me:{PASSWORD}@host:5432/db",
            f"postgresql://:{PASSWORD}@/db",
            f"postgresql://me:{PASSWORD}?x#y@host/db",
            f"postgresql://me:{PASSWORD}%40x@host,other/db",
            f"postgresql://me@host/db?password={PASSWORD}",
            f"postgresql://me@host/db?sslmode=require&password={PASSWORD}",
            f"postgresql://me@host/db?p%61ssword={PASSWORD}",
            f"postgresql://host?sslpassword={PASSWORD}",
            f"postgresql://host?oauth_client_secret={PASSWORD}",
        ],
    )
    def test_a_password_is_refused_and_not_told(self, address):
        with pytest.raises(RequestError, match=r"PGPASSWORD.*pgpass.*PGPASSFILE.*service file") as error:
            Database(address, table="people")
        assert PASSWORD not in str(error.value)
        assert error.value.__context__ is None

    @pytest.mark.parametrize(
        "address",
        [
            f"host=here password={PASSWORD}",
            f"mysql://me:{PASSWORD}@host/x.db",
            f"POSTGRESQL://me:{PASSWORD}@host/x.db",
            "people.csv",
            "people",
            "",
        ],
    )
    def test_another_kind_of_address_is_refused_and_not_told(self, address):
        with pytest.raises(RequestError, match=r"neither postgresql:// nor a file that ends in \.duckdb, ") as error:
            Database(address, table="people")
        assert PASSWORD not in str(error.value)

    @pytest.mark.parametrize("what", [{}, {"table": "people", "query": "select 1"}])
    def test_a_table_or_a_query(self, what):
        with pytest.raises(RequestError, match="a table or a query, and not both"):
            Database("x.db", **what)

    def test_what_is_shown(self):
        assert repr(Database("postgresql://me@host/db", table="a.b")) == "Database('postgresql://...', table='a.b')"
        assert repr(Database(Path("x.db"), query=f"select '{TOKEN}'")) == "Database('x.db', query=...)"
        mangled = Database(f"postgresql://me:{PASSWORD}/x@host/db", table="people")  # a slash belongs to no password
        assert PASSWORD not in repr(mangled)

    @pytest.mark.parametrize(
        ("module", "address"), [("duckdb", "x.duckdb"), ("adbc_driver_postgresql", "postgres://h")]
    )
    def test_a_driver_that_is_not_installed(self, opened, monkeypatch, module, address):
        monkeypatch.setitem(sys.modules, module, None)
        for name in [name for name in sys.modules if name.startswith(f"{module}.")]:
            monkeypatch.delitem(sys.modules, name)
        with pytest.raises(DataError, match=r"is not installed; run: pip install 'sfumato\[sql\]'"):
            opened(Database(address, table="people"))

    @pytest.mark.parametrize("how", ["a file of passwords", "a service file"])
    def test_where_a_password_may_be(self, server, table, opened, cells, reference, monkeypatch, tmp_path, how):
        address = fill_server(server, table)
        monkeypatch.delenv("PGPASSWORD")
        file = tmp_path / "secret"
        if how == "a service file":
            file.write_text(f"[mine]\nhost={server.folder}\nuser={ROLE}\npassword={PASSWORD}\ndbname=postgres\n")
            monkeypatch.setenv("PGSERVICEFILE", str(file))
            address = "postgresql:///?service=mine"
        else:
            file.write_text(f"*:*:*:{ROLE}:{PASSWORD}\n")
            monkeypatch.setenv("PGPASSFILE", str(file))
        file.chmod(0o600)
        assert np.array_equal(opened(Database(address, table="people")).sum(cells), reference)


def check_discreet(work) -> None:
    with pytest.raises(DataError) as caught:
        work()
    text = told(caught.value)
    assert TOKEN not in text
    assert PASSWORD not in text
    assert "libpq" not in text
    assert caught.value.__context__ is None


def cut_after_the_first_batch(source, cut) -> None:
    """Do something while a sum is at work."""
    read = source._read

    def read_and_cut(names):
        batches = iter(read(names))
        yield next(batches)
        cut()
        yield from batches

    source._read = read_and_cut


WIDE = (
    f"select 'no' as ill, 1 as age, repeat('{TOKEN}', 10000) as job, 1.0::float8 as wage, 1.0::float8 as debt, "
    "current_date as born, current_date as seen, true as member from generate_series(1, 2000)"
)
END_ALL = f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '{ROLE}'"


class TestFaultsOfAServer:
    @pytest.fixture(autouse=True)
    def _nothing_is_printed(self, capfd):
        yield
        printed = capfd.readouterr()
        assert printed.out + printed.err == ""

    def test_the_connection_is_cut_in_the_middle_of_a_sum(self, server, opened, cells):
        source = opened(Database(server.address(), query=WIDE))
        cut_after_the_first_batch(source, lambda: server.run(END_ALL))
        check_discreet(lambda: source.sum(cells))
        source.close()
        check_discreet(lambda: source.sum(cells))

    def test_the_connection_is_cut_between_two_sums(self, server, table, opened, cells):
        source = opened(Database(fill_server(server, table), table="people"))
        source.sum(cells)
        server.run(END_ALL)
        check_discreet(lambda: source.sum(cells))
        check_discreet(lambda: source.sum(cells))
        source.close()
        source.close()

    def test_the_server_stops(self, server, table, opened, cells, reference):
        address = fill_server(server, table)
        source = opened(Database(address, query=WIDE))
        cut_after_the_first_batch(source, server.stop)
        try:
            check_discreet(lambda: source.sum(cells))
            source.close()
            with pytest.raises(DataError, match=r"cannot be opened \(OperationalError\); check the address, that"):
                opened(Database(address, table="people"))
            check_discreet(lambda: opened(Database(address, table="people")))
        finally:
            server.start()
        assert np.array_equal(opened(Database(address, table="people")).sum(cells), reference)

    def test_nobody_can_drop_the_table_meanwhile(self, server, table, opened, cells, reference):
        source = opened(Database(fill_server(server, table), table="people"))
        with pytest.raises(Exception, match="lock timeout"):
            server.run("set lock_timeout to '50ms'", "drop table people")
        assert np.array_equal(source.sum(cells), reference)

    def test_the_table_has_been_dropped(self, server, opened):
        server.run("drop table if exists people")
        check_discreet(lambda: opened(Database(server.address(), table="people")))
        with pytest.raises(DataError, match=r"the table cannot be read \(ProgrammingError\); check its name"):
            opened(Database(server.address(), table="people"))

    def test_a_role_that_may_not_read(self, server, table, opened):
        fill_server(server, table)
        with pytest.raises(DataError, match=r"the table cannot be read \(\w+\); .*that you may read it"):
            opened(Database(server.address(STRANGER), table="people"))
        check_discreet(lambda: opened(Database(server.address(STRANGER), query="select * from people")))

    @pytest.mark.parametrize("role", [ROLE, f"{TOKEN}"])
    def test_a_wrong_password(self, server, opened, monkeypatch, role):
        monkeypatch.setenv("PGPASSWORD", f"{PASSWORD} no more")
        check_discreet(lambda: opened(Database(server.address(role), table="people")))
        check_discreet(lambda: header_types(Database(server.address(role), table="people")))

    @pytest.mark.parametrize(
        "address", [f"postgresql:///db?host=/{TOKEN}", f"postgresql://h:{TOKEN}/db", f"postgresql://h/db?{TOKEN}=1"]
    )
    def test_an_address_that_leads_nowhere(self, opened, address):
        check_discreet(lambda: opened(Database(address, table="people")))

    def test_a_row_that_the_server_would_quote(self, server, table, opened, cells):
        fill_server(server, table)
        server.run(f"update people set ill = '{TOKEN}'")
        query = "select ill, ill::int as age, job, wage, debt, born, seen, member from people"
        source = opened(Database(server.address(), query=query))
        check_discreet(lambda: source.sum(cells))
        with pytest.raises(Exception, match="invalid input") as caught:  # the check has teeth: it does quote it
            next(opened(Database(server.address(), query=query)).records(("age",)))
        assert TOKEN in told(caught.value)

    def test_a_function_that_shouts(self, server, table, opened, cells):
        fill_server(server, table)
        server.run(
            "create or replace function shout(text) returns text language plpgsql "
            f"as $$ begin raise warning '{TOKEN} %', $1; return $1; end $$"
        )
        query = "select shout(ill) as ill, age, job, wage, debt, born, seen, member from people"
        assert opened(Database(server.address(), query=query)).sum(cells).any()


class TestFaultsOfFiles:
    @pytest.mark.parametrize("suffix", [".sqlite", ".duckdb"])
    @pytest.mark.parametrize("content", [None, b"", f"{TOKEN} is no database".encode() * 500])
    def test_a_file_that_is_no_database(self, tmp_path, opened, suffix, content):
        path = tmp_path / f"{TOKEN}{suffix}"
        if content is not None:
            path.write_bytes(content)
        check_discreet(lambda: opened(Database(path, table="people")))
        check_discreet(lambda: header_types(Database(path, table="people")))
        assert path.exists() == (content is not None)

    def test_a_file_that_breaks_while_it_is_read(self, tmp_path, opened, cells):
        path = tmp_path / "people.sqlite"
        fill_sqlite(path, make_table(5_000))
        source = opened(Database(path, table="people"))
        with path.open("r+b") as file:
            file.seek(4096 * 2)
            file.write(TOKEN.encode() * 40_000)
        check_discreet(lambda: source.sum(cells))
        source.close()
        check_discreet(lambda: source.sum(cells))

    def test_a_row_that_duckdb_would_quote(self, tmp_path, opened, cells):
        column = pa.array([TOKEN] * 400)
        path = fill_duckdb(tmp_path / "people.duckdb", make_table(400).set_column(0, "ill", column))
        query = "select ill, ill::int as age, job, wage, debt, born, seen, member from people"
        source = opened(Database(path, query=query))
        check_discreet(lambda: source.sum(cells))
        source.close()
        with pytest.raises(duckdb.Error) as caught:
            next(opened(Database(path, query=query)).records(("age",)))
        assert TOKEN in told(caught.value)

    @pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
    def test_a_table_that_is_not_there(self, people, opened, kind):
        with pytest.raises(DataError, match=r"the table cannot be read \(\w+\); check its name, upper and lower"):
            opened(Database(people, table="nobody"))

    @pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
    def test_after_it_is_closed(self, people, opened, cells, kind):
        source = opened(Database(people, table="people"))
        source.close()
        source.close()
        check_discreet(lambda: source.sum(cells))
