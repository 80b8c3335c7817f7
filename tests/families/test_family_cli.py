"""The command line with a family of tables: what it prints and what it writes."""

import json
import sqlite3

import duckdb
import pyarrow.csv
import pyarrow.parquet
import pytest

from sfumato.demo import FAMILY_SCHEMA
from tests.families.commands import NAMES, flat, run, tokened, write_folder
from tests.families.hospital import broken_tables, schema


def test_a_release_says_its_promise_and_is_in_the_ledger(place):
    said = flat((place / "said").read_text())
    assert "h.sfumato holds the release" in said
    assert "(1, 1e-06)-differential privacy for one person, all of their rows in all tables" in said
    assert "the sum of patients.number of stays; noise is" in said
    assert "times the largest effect of one person" in said
    assert "under add-remove by patient_id dataset hospital has spent epsilon 1" in said


def test_verify_holds_and_finds_the_ledger_entry(place):
    checked = run("verify", place / "h.sfumato", "--ledger", place / "l.sqlite")
    assert checked.exit_code == 0, checked.output
    assert "measurements follow the schema: 3 tables, 5 views" in flat(checked.output)
    assert "statement is in the ledger" in checked.output
    assert checked.output.count(" ok ") == 12


def test_inspect_shows_the_schema_and_what_is_not_protected(place):
    shown = flat(run("inspect", place / "h.sfumato").output)
    assert "parent: patients rows: [0, 20] order: admitted" in shown
    assert "stays.admitted >= patients.born" in shown
    assert "Somebody under several keys" in shown


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_sample_is_a_folder_with_a_file_for_each_table(place, tmp_path, suffix):
    words = ("sample", place / "h.sfumato", "-n", 90, "--seed", 1, "--out", tmp_path / "drawn")
    done = run(*words, *(["--csv"] if suffix == ".csv" else []))
    assert done.exit_code == 0, done.output
    assert "holds 90 synthetic persons: 90 rows of patients" in flat(done.output)
    read = pyarrow.parquet.read_table if suffix == ".parquet" else pyarrow.csv.read_csv
    found = {name: read(tmp_path / "drawn" / f"{name}{suffix}") for name in NAMES}
    for name in NAMES:
        assert found[name].column_names == [one for one in tokened(400)[name].column_names if one != "note"]
    keys = [one if suffix == ".csv" else str(one) for one in range(1, 91)]  # text, as they were; CSV declares no types
    assert found["patients"].column("patient_id").to_pylist() == keys
    assert set(found["stays"].column("patient_id").to_pylist()) <= set(keys)
    assert "All rows are linked" in run("check", tmp_path / "drawn", "--schema", FAMILY_SCHEMA).output


@pytest.mark.parametrize("file", ["h.sqlite", "h.db", "h.duckdb"])
def test_a_sample_is_a_database_whose_keys_match(place, tmp_path, file):
    done = run("sample", place / "h.sfumato", "-n", 60, "--seed", 1, "--out", tmp_path / file)
    assert done.exit_code == 0, done.output
    connect = duckdb.connect if file.endswith("duckdb") else sqlite3.connect
    connection = connect(str(tmp_path / file))
    lonely = "select count(*) from stays where patient_id not in (select patient_id from patients)"
    assert connection.execute(lonely).fetchone() == (0,)
    assert connection.execute("select count(*), min(patient_id) from patients").fetchone() == (60, "1")
    born = connection.execute("select born from patients limit 1").fetchone()[0]
    if connect is sqlite3.connect:
        assert connection.execute("pragma foreign_key_check").fetchall() == []
        assert [row[2] for row in connection.execute("pragma foreign_key_list(diagnoses)")] == ["stays"]
        assert len(born) == len("1950-01-01")
    connection.close()
    assert "All rows are linked" in run("check", tmp_path / file, "--schema", FAMILY_SCHEMA).output


def test_conditions_are_of_tables(place, tmp_path):
    words = ("--given", "patients.sex=f,stays.ward=surgery|cardiology", "--out", tmp_path / "some")
    assert run("sample", place / "h.sfumato", "-n", 20, *words).exit_code == 0
    assert set(pyarrow.parquet.read_table(tmp_path / "some" / "patients.parquet").column("sex").to_pylist()) == {"f"}
    stays = pyarrow.parquet.read_table(tmp_path / "some" / "stays.parquet").to_pandas()
    assert stays[stays.ward.isin(["surgery", "cardiology"])].patient_id.nunique() == 20


def test_a_report_is_written(place, tmp_path):
    assert run("report", place / "h.sfumato", "--out", tmp_path / "r.html").exit_code == 0
    assert "one person" in (tmp_path / "r.html").read_text()


def test_an_evaluation_prints_topics_and_writes_page_and_numbers(place, tmp_path):
    words = ("--real", place / "private", "--test", place / "kept", "--out", tmp_path / "e.html")
    done = run("evaluate", place / "h.sfumato", *words)
    assert done.exit_code == 0, done.output
    assert "stays: a column with its own value before: apart by" in done.output
    assert "diagnoses: rows above, by person" in done.output
    assert json.loads((tmp_path / "e.json").read_text())["persons"]["real"] == 400
    assert (tmp_path / "e.html").read_text().startswith("<!doctype html>")


def test_schema_check_counts_tables_and_columns():
    said = flat(run("schema", "check", FAMILY_SCHEMA).output)
    assert f"is valid: family hospital, {len(schema().tables)} tables, 12 columns, 5 views." in said


@pytest.mark.parametrize("command", ["release", "sample", "evaluate"])
def test_help_mentions_families(command):
    assert "family" in run(command, "--help").output


def test_check_names_what_is_misread_and_what_is_not_linked(place, tmp_path):
    write_folder(tmp_path / "broken", broken_tables())
    done = run("check", tmp_path / "broken", "--schema", FAMILY_SCHEMA, "--out", tmp_path / "c.json")
    assert done.exit_code == 0, done.output
    assert "39 of 251 rows have no parent row, no key, or one that another row of the person has" in flat(done.output)
    assert "rows are beyond the most that the schema allows" in flat(done.output)
    content = json.loads((tmp_path / "c.json").read_text())
    assert [one["unlinked"] for one in content["links"]] == [6, 39, 4]
    misread = flat(run("check", place / "private", "--schema", FAMILY_SCHEMA).output)
    assert "ward: " in misread
    assert "4 of 5 columns are as the schema says" in misread
    assert "All rows are linked" in misread


def test_check_refuses_a_table_of_a_database_by_itself(place):
    failed = run("check", place / "private", "--schema", FAMILY_SCHEMA, "--table", "stays")
    assert failed.exit_code == 2
    assert "leave out --table" in flat(failed.stderr)
