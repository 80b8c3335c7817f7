"""Whatever happens to a database while it is read: an error that quotes neither rows nor passwords."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError
from sfumato.trusted.sources.databases import Database, header_types
from tests.conftest import make_table
from tests.leaks import everything_shown
from tests.sources.filled import TOKEN, check_discreet
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite
from tests.sources.postgresql_server import PASSWORD, ROLE, STRANGER


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
        assert TOKEN in everything_shown(caught.value)

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
        assert TOKEN in everything_shown(caught.value)

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
