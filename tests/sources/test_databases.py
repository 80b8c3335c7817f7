"""Databases give the sum of the same table in memory, whatever their types, names and queries."""

import decimal
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError, RequestError
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.encoding.persons import persons
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import sql
from sfumato.trusted.sources.batches import ROWS_AT_ONCE
from sfumato.trusted.sources.databases import Database, header_types, of_database
from sfumato.trusted.sources.memory import MemorySource
from tests.sources.filled import cells_of
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite
from tests.sources.postgresql_server import ROLE


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
        assert np.array_equal(source.sum(cells), MemorySource(part, schema, declared=True).sum(cells))

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
        assert batch.codes["group"].tolist() == [3, 3, 1, 1, 1, 1, 2, 3, 4, 3, 3, 3, 3]


class TestNames:
    ODD = ('a "b" {c}', "x.y", "É%s", "select", "Case")

    @pytest.fixture
    def schema(self):
        columns = [{"name": name, "type": "integer", "bounds": [0, 9]} for name in self.ODD]
        return Schema.from_dict({"sfumato": 1, "name": "odd", "columns": columns})

    @pytest.mark.parametrize("table", ["people", 'od"d. table'])
    def test_odd_names(self, kind, request, tmp_path, opened, schema, table):
        rows = ", ".join(f"{number} as {sql.quote(name)}" for number, name in enumerate(self.ODD))
        create = f"create table {sql.quote(table)} as select {rows}"
        match kind:
            case "postgresql":
                server = request.getfixturevalue("server")
                server.run(f"drop table if exists {sql.quote(table)}", create)
                address = server.address()
            case "sqlite":
                address = str(tmp_path / "odd #?%20.db")
                with closing(sqlite3.connect(address)) as connection:
                    connection.execute(create)
            case _:
                address = str(tmp_path / "odd #%20.duckdb")  # DuckDB itself trips over ?
                with duckdb.connect(address) as connection:
                    connection.execute(create)
        database = Database(address, table=sql.quote(table))
        assert list(header_types(database)) == list(self.ODD)
        source = opened(database)
        (batch,) = source.batches(self.ODD)
        assert [batch.codes[name].tolist() for name in self.ODD] == [[0], [1], [2], [3], [4]]
        assert next(iter(source.records(self.ODD[::-1]))).schema.names == list(self.ODD[::-1])

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
            monkeypatch.setattr(
                f"sfumato.trusted.sources.{module}.select", lambda *a: asked.append(a) or sql.select(*a)
            )
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
