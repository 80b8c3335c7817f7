"""An office's table, from its file to a sample that looks the same: check, release, sample, read back."""

import csv
import datetime as dt
import json
import re
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app

ROWS = 4_000
TOWNS = {"KÖLN": 0.5, "DÜREN": 0.3, "MÖNCHENGLADBACH": 0.15, "ÜBACH-PALENBERG": 0.05}
ZIPS = ["50667", "52349", "41061", "01067"]
FIRST, LAST = dt.date(2021, 1, 1), dt.date(2022, 12, 31)
SCHEMA = """
sfumato: 1
name: aufnahmen
columns:
  - {name: Ort, type: category, values: [KÖLN, DÜREN, MÖNCHENGLADBACH, ÜBACH-PALENBERG]}
  - {name: PLZ, type: category, values: {file: plz.csv, column: plz}}
  - {name: Kosten, type: number, bounds: [0, 20000]}
  - {name: Blutdruck, type: integer, bounds: [60, 240], missing: true}
  - {name: Aufnahme, type: date, bounds: [2021-01-01, 2022-12-31]}
  - {name: Geschlecht, type: category, values: [W, M]}
target: Geschlecht
text: {separator: ";", encoding: latin-1, decimal: ",", thousands: ".", units: [EUR], dates: "%d.%m.%Y"}
"""


def in_german(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(".,", ",."))


def make_rows() -> list[list[str]]:
    rng = np.random.default_rng(7)
    pressure = np.where(rng.random(ROWS) < 0.4, 120, np.clip(rng.normal(135, 18, ROWS), 80, 200).round())
    return [
        [town, zip_code, f"{in_german(cost)} EUR", f"{systolic:.0f}" if known else "", f"{day:%d.%m.%Y}", sex]
        for town, zip_code, cost, systolic, known, day, sex in zip(
            rng.choice(list(TOWNS), ROWS, p=list(TOWNS.values())),
            rng.choice(ZIPS, ROWS, p=[0.4, 0.3, 0.2, 0.1]),
            np.clip(rng.lognormal(7.5, 0.6, ROWS), 1, 19_000),
            pressure,
            rng.random(ROWS) < 0.9,
            [FIRST + dt.timedelta(days=int(days)) for days in rng.integers(0, 730, ROWS)],
            rng.choice(["W", "M"], ROWS, p=[0.55, 0.45]),
            strict=True,
        )
    ]


def run(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """The folder, after the whole way; the rows; what `check` and `schema init` said; the sample as it was written."""
    folder = tmp_path_factory.mktemp("office")
    rows, names = make_rows(), ["Ort", "PLZ", "Kosten", "Blutdruck", "Aufnahme", "Geschlecht"]
    text = "\r\n".join(";".join(row) for row in [names, *rows])
    (folder / "AUFNAHMEN.CSV").write_bytes(text.encode("latin-1"))
    (folder / "plz.csv").write_text("plz,ort\n" + "".join(f"{one},x\n" for one in ZIPS))
    (folder / "s.yaml").write_text(SCHEMA)
    said = {
        "draft": run("schema", "init", folder / "AUFNAHMEN.CSV"),
        "check": run("check", folder / "AUFNAHMEN.CSV", "--schema", folder / "s.yaml", "--out", folder / "c.json"),
    }
    run(
        *("release", folder / "AUFNAHMEN.CSV", "--schema", folder / "s.yaml", "--epsilon", 2),
        *("--ledger", folder / "ledger.sqlite", "--out", folder / "a.sfumato"),
    )
    run("sample", folder / "a.sfumato", "-n", ROWS, "--seed", 1, "--out", folder / "sample.csv")
    sample = (folder / "sample.csv").read_bytes().decode("latin-1")
    return folder, rows, said, list(csv.reader(sample.splitlines(), delimiter=";"))


def share(rows: list[list[str]], place: int, value: str) -> float:
    return Counter(row[place] for row in rows)[value] / len(rows)


def test_the_draft_knows_the_separator(story):
    said = story[2]["draft"]
    assert 'text: {separator: ";"}' in said
    assert "name: Aufnahme," in said


def test_the_check_finds_nothing_to_correct(story):
    folder, _, said, _ = story
    columns = json.loads((folder / "c.json").read_text())["columns"]
    assert all(column["misread"] == 0 and column["rows"] == ROWS for column in columns)
    assert "separated by" not in said["check"]
    assert "looks like" not in said["check"]


def test_the_check_names_other_capitals_and_a_schema_without_the_format(story):
    folder = story[0]
    (folder / "other.yaml").write_text(SCHEMA.replace("KÖLN", "Köln"))
    said = run("check", folder / "AUFNAHMEN.CSV", "--schema", folder / "other.yaml")
    assert re.search(r"'KÖLN' in (49|50)\.\d% of the rows differs from 'Köln' in case", said)
    (folder / "plain.yaml").write_text(SCHEMA.partition("text:")[0])
    done = CliRunner().invoke(app, ["check", f"{folder}/AUFNAHMEN.CSV", "--schema", f"{folder}/plain.yaml"])
    said = " ".join(done.output.split())
    assert done.exit_code == 2
    assert 'write `text: {separator: ";"}` into the schema' in said
    assert "write `text: {encoding: cp1252}` into the schema" in said


def test_listed_values_keep_their_letters_and_shares(story):
    _, rows, _, (header, *sample) = story
    assert header == ["Ort", "PLZ", "Kosten", "Blutdruck", "Aufnahme", "Geschlecht"]
    for place, values in ((0, TOWNS), (1, ZIPS), (5, "WM")):
        assert {row[place] for row in sample} <= set(values)
        for value in values:
            assert abs(share(sample, place, value) - share(rows, place, value)) < 0.04


def test_a_heap_stays_one_and_nothing_piles_up_at_the_bounds(story):
    _, rows, _, (_, *sample) = story
    assert abs(share(sample, 3, "120") - share(rows, 3, "120")) < 0.05
    assert abs(share(sample, 3, "") - share(rows, 3, "")) < 0.04
    for place, bounds in ((2, ("0", "20000")), (3, ("60", "240")), (4, ("01.01.2021", "31.12.2022"))):
        assert max(share(sample, place, bound) for bound in bounds) < 0.02


def test_amounts_and_dates_come_back_as_they_were_written(story):
    _, rows, _, (_, *sample) = story
    costs = [float(row[2].replace(",", ".")) for row in sample]
    truth = [float(row[2].removesuffix(" EUR").replace(".", "").replace(",", ".")) for row in rows]
    assert abs(np.median(costs) / np.median(truth) - 1) < 0.15
    assert any("," in row[2] for row in sample)
    assert not any("." in row[2] for row in sample)
    days = [dt.datetime.strptime(row[4], "%d.%m.%Y").date() for row in sample]
    assert FIRST <= min(days) <= max(days) <= LAST


def test_the_sample_is_a_table_of_the_same_schema(story):
    folder = story[0]
    run("check", folder / "sample.csv", "--schema", folder / "s.yaml", "--out", folder / "again.json")
    columns = json.loads((folder / "again.json").read_text())["columns"]
    assert all(column["misread"] == 0 and column["rows"] == ROWS for column in columns)
