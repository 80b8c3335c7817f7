"""The command line with a family of tables: how it exits, and that nothing is written or spent."""

import pytest

from tests.families.commands import flat, release, run, write_folder
from tests.families.hospital import tables

SAMPLES = {
    "no table": (["--given", "sex=f"], "'sex' names no table; write TABLE.COLUMN=value"),
    "unknown table": (["--given", "wards.sex=f"], "there is no table 'wards'"),
    "unknown column": (["--given", "patients.sax=f"], "no column 'sax' (did you mean 'sex'?)"),
    "no range": (["--given", "stays.cost=70..60"], "is no range"),
    "below zero": (["-n", "-5"], "the number of persons is -5"),
    "probabilities": (["--probabilities"], "are for single tables"),
    "estimate": (["--estimate", "wide"], "are for single tables"),
}


@pytest.mark.parametrize(("words", "message"), SAMPLES.values(), ids=SAMPLES)
def test_bad_requests_exit_2_and_write_nothing(place, tmp_path, words, message):
    failed = run("sample", place / "h.sfumato", "--out", tmp_path / "x", *words)
    assert failed.exit_code == 2
    assert message in flat(failed.stderr)
    assert list(tmp_path.iterdir()) == []


PLACES = {
    "another kind of file": ("x.parquet", "is no place for several tables"),
    "no folder": ("no/x", "there is no folder"),
    "something": ("there", "is there already"),
}


@pytest.mark.parametrize(("out", "message"), PLACES.values(), ids=PLACES)
def test_places_that_cannot_be_written_exit_2_and_leave_no_draft(place, tmp_path, out, message):
    (tmp_path / "there").mkdir()
    failed = run("sample", place / "h.sfumato", "-n", 5, "--out", tmp_path / out)
    assert failed.exit_code == 2
    assert message in flat(failed.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


BAD = {
    "mechanism": (["--mechanism", "tables"], "has a mechanism of its own"),
    "label": (["--adjacency", "label"], "label adjacency is not for families"),
    "table": (["--table", "stays"], "leave out --table and --query"),
    "epsilon of 0": (["--epsilon", "0"], "epsilon is 0"),
    "epsilon too small": (["--epsilon", "1e-8"], "epsilon"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_releases_exit_2_and_spend_nothing(place, tmp_path, words, message):
    failed = release(place, "--ledger", tmp_path / "l.sqlite", *words)
    assert failed.exit_code == 2
    assert message in flat(failed.stderr)
    assert run("ledger", "export", "--ledger", tmp_path / "l.sqlite").output == ""
    assert not (place / "x.sfumato").exists()


def test_a_limit_of_persons_refuses_with_exit_3(place, tmp_path):
    ledger = tmp_path / "l.sqlite"
    assert run("ledger", "set-limit", "hospital", "--epsilon", 0.5, "--ledger", ledger).exit_code == 0
    refused = release(place, "--ledger", ledger)
    assert refused.exit_code == 3
    assert "limit of dataset 'hospital' does not allow" in flat(refused.stderr)


def test_a_folder_that_lacks_a_table_exits_2(place, tmp_path):
    write_folder(tmp_path / "half", {"patients": tables(50)["patients"]})
    failed = release(place, "--ledger", tmp_path / "l.sqlite", data=str(tmp_path / "half"))
    assert failed.exit_code == 2
    assert "stays" in failed.stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("retrain", ["--out", "x.sfumato"]),
        ("export", ["--to", "card", "--out", "x.md"]),
        ("verify", ["--features", "x.csv"]),
    ],
)
def test_commands_for_single_tables_say_so(place, command, words):
    failed = run(command, place / "h.sfumato", *words)
    assert failed.exit_code == 2
    assert "famil" in failed.stderr
