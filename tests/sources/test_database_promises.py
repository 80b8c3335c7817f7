"""A database is seen at one moment, nothing is written to it, and its password stands nowhere."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

from sfumato.errors import DataError, RequestError
from sfumato.trusted.sources.databases import Database
from sfumato.trusted.sources.sqlite_files import SQLite
from tests.sources.filled import TOKEN, check_discreet
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite
from tests.sources.postgresql_server import PASSWORD, ROLE


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
