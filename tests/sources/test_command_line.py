"""Databases and Spark on the command line: words, passwords, and what is left when a connection breaks."""

import json
from functools import partialmethod
from pathlib import Path

import pyarrow.parquet
import pytest

import sfumato
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.sources.postgresql import PostgreSQL
from tests.conftest import MIXED, make_table
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite
from tests.sources.postgresql_server import PASSWORD
from tests.test_cli import flat, run
from tests.test_stopping import SPENT

TABLE = make_table(300)
BY_PERSON = f"{MIXED}unit: {{column: not_in_the_schema, records: 2}}\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "s.yaml").write_text(MIXED)
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    return tmp_path


def release(place, data, *more):
    words = ["release", data, "--schema", place / "s.yaml", "--epsilon", "1", "--seed", "1"]
    return run(*words, "--out", place / "b.sfumato", *more)


def sums(place) -> list[list[int]]:
    return [item.values.tolist() for item in sfumato.open(place / "b.sfumato").measurements]


def from_memory() -> list[list[int]]:
    made = sfumato.release(TABLE, sfumato.Schema.from_yaml(MIXED), epsilon=1, seed=1, ledger=None, types="declared")
    return [item.values.tolist() for item in made.measurements]


@pytest.mark.parametrize("kind", ["postgresql", "sqlite", "duckdb"])
def test_a_table_of_a_database(place, kind, request):
    if kind == "postgresql":
        address = fill_server(request.getfixturevalue("server"), TABLE)
    else:
        address = {"sqlite": fill_sqlite, "duckdb": fill_duckdb}[kind](place / f"d.{kind}", TABLE)
    done = release(place, address, "--table", "people")
    assert done.exit_code == 0, done.output
    assert sums(place) == from_memory()
    assert PASSWORD not in done.output
    drafted = run("schema", "init", address, "--table", "people")
    assert "name: people" in drafted.output
    assert "{name: age, " in drafted.output


def test_a_query_comes_from_a_file(place):
    address = fill_sqlite(place / "d.sqlite", TABLE)
    (place / "q.sql").write_text("select * from people where 1 = 1 -- all of them\n")
    assert release(place, address, "--query", place / "q.sql").exit_code == 0
    assert sums(place) == from_memory()


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_query_is_utf_8_whatever_the_locale_and_may_have_a_mark(place, server, monkeypatch, mark):
    monkeypatch.setattr(Path, "read_text", partialmethod(in_the_locale, Path.read_text))
    address = fill_server(server, TABLE)
    (place / "q.sql").write_bytes(f"{mark}select * from people where length('é') = 1".encode())
    done = release(place, address, "--query", place / "q.sql")
    assert done.exit_code == 0, done.output
    assert sums(place) == from_memory()


def in_the_locale(path, real, encoding=None, **more):
    return real(path, encoding or "latin-1", **more)


def test_a_query_that_is_not_utf_8_is_refused(place):
    (place / "q.sql").write_bytes("select 'é'".encode("latin-1"))
    done = release(place, "d.sqlite", "--query", place / "q.sql")
    assert done.exit_code == 2
    assert "(UnicodeDecodeError); name a file with one select, in UTF-8" in flat(done.stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["postgresql://anna:topsecret@host/db", "--table", "t"], "holds a password"),
        (["postgresql://host/db?password=topsecret", "--table", "t"], "holds a password"),
        (["d.duckdb"], "needs a table or a query, and not both"),
        (["d.duckdb", "--table", "t", "--query", "q.sql"], "cannot be read"),
        (["d.duckdb", "--table", "t"], "cannot be opened"),
        (["t.parquet", "--table", "t"], "are for databases"),
        (["t.parquet", "--table", "t", "--engine", "spark"], "name the table as DATA"),
        (["s3://key:topsecret@bucket/rows"], "holds a password or key"),
        (["jdbc:postgresql://anna:topsecret@host/db"], "looks like the address of a server"),
        (["postgresql:/anna:topsecret@host/db", "--engine", "spark"], "looks like the address of a server"),
    ],
    ids=str,
)
def test_bad_words_exit_2_quote_no_secret_and_spend_nothing(place, words, message):
    done = release(place, *words)
    assert done.exit_code == 2
    assert message in flat(done.stderr)
    assert "topsecret" not in done.output
    assert not (place / "ledger.sqlite").exists()


def test_a_password_is_nowhere(place, server):
    address = fill_server(server, TABLE)
    done = release(place, address, "--table", "people")
    assert done.exit_code == 0
    exported = run("ledger", "export").output
    for text in (done.output, exported, (place / "b.sfumato").read_bytes().decode("latin-1")):
        assert PASSWORD not in text
        assert address not in text
    assert json.loads(exported.splitlines()[0])["kind"] == "reserve"


def test_a_connection_that_is_cut_leaves_no_bundle_and_counts(place, server, monkeypatch):
    """Cut by the server in mid-release, after the first question was answered."""
    address, reads = fill_server(server, TABLE), []
    real = PostgreSQL.read

    def read(self, names):
        reads.append(names)
        if len(reads) == 2:
            server.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'reader'")
        return real(self, names)

    monkeypatch.setattr(PostgreSQL, "read", read)
    done = release(place, address, "--table", "people")
    assert done.exit_code == 2
    assert "could not be read to its end" in flat(done.stderr)
    assert SPENT in flat(done.stderr)
    assert not (place / "b.sfumato").exists()
    (account,) = Ledger(place / "ledger.sqlite").accounts()
    assert (account.spent, account.unfinished) == (sfumato.Budget(1.0, 1e-6).units, 1)


@pytest.mark.slow
@pytest.mark.parametrize("schema", [MIXED, BY_PERSON], ids=["records", "persons"])
def test_spark_reads_a_file(place, spark, schema):
    (place / "s.yaml").write_text(schema)
    done = release(place, place / "t.parquet", "--engine", "spark")
    assert done.exit_code == 0, done.output
    expected = sfumato.release(
        TABLE, sfumato.Schema.from_yaml(schema), epsilon=1, seed=1, ledger=None, types="declared"
    )
    assert sums(place) == [item.values.tolist() for item in expected.measurements]


@pytest.mark.slow
def test_spark_reads_a_table_of_its_catalog(place, spark):
    spark.createDataFrame(TABLE).createOrReplaceTempView("stays")
    assert release(place, "stays", "--engine", "spark").exit_code == 0
    assert sums(place) == from_memory()
    spark.catalog.dropTempView("stays")
    (place / "b.sfumato").unlink()
    missing = release(place, "no_such_table", "--engine", "spark")
    assert missing.exit_code == 2
    assert "Spark cannot open no_such_table" in flat(missing.stderr)


def test_a_limit_by_person(place):
    (place / "s.yaml").write_text(BY_PERSON)
    limited = run("ledger", "set-limit", "mixed", "--epsilon", "1", "--unit", "not_in_the_schema")
    assert "under add-remove by not_in_the_schema dataset mixed has spent epsilon 0 of epsilon 1" in flat(
        limited.output
    )
    done = release(place, place / "t.parquet")
    assert done.exit_code == 0
    assert "under add-remove by not_in_the_schema dataset mixed has spent epsilon 1 of epsilon 1" in flat(done.output)
    (place / "b.sfumato").unlink()
    assert release(place, place / "t.parquet").exit_code == 3
    (place / "s.yaml").write_text(MIXED)
    refused = release(place, place / "t.parquet")
    assert refused.exit_code == 3
    assert "gives no guarantee for it" in flat(refused.stderr)
