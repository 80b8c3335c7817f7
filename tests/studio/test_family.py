"""The whole story with two tables that belong together: from a folder to the report, a sample, the comparison."""

import csv
import sqlite3
from contextlib import closing

import pytest

from sfumato.studio import jobs
from sfumato.trusted.ledger import Ledger
from tests.studio.test_row_leaks import assert_clean, everything_kept

PERSONS = 401
CANARIES = ("zx81canary", "zx82canary", "7654321")
YAML = """
sfumato: 2
name: ward
tables:
  patients:
    key: patient_id
    columns:
      - {name: sex, type: category, values: [f, m], otherwise: f}
      - {name: age, type: integer, bounds: [0, 110]}
    leave_out: [name]
  stays:
    parent: patients
    rows: [0, 4]
    columns:
      - {name: days, type: integer, bounds: [0, 60]}
      - {name: ward, type: category, values: [surgery, maternity], otherwise: surgery}
    target: ward
"""


def write_family(folder, persons=PERSONS):
    """No canary is in a header; ids, names and strange values are in the rows."""
    folder.mkdir()
    with (folder / "patients.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["patient_id", "sex", "age", "name"])
        lines.writerows([7654321000 + i, "fm"[i % 2], i % 90, "zx82canary"] for i in range(persons))
    with (folder / "stays.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["patient_id", "days", "ward"])
        for i in range(persons):
            lines.writerows(
                [7654321000 + i, (i + k) % 30, ("surgery", "maternity", "zx81canary")[(i + k) % 3]]
                for k in range(i % 3)
            )


@pytest.fixture
def table(browser):
    """The folder, chosen and described."""
    write_family(browser.studio.folder / "ward")
    page = browser._keep(browser.client.get(browser.studio.path("") + "?folder=ward")).text
    assert "tables that belong together" in page
    table = browser.choose("ward", family="on")
    draft = browser.get("t", table, "schema.yaml").text
    assert "parent: patients" in draft
    assert "key: patient_id" in draft
    assert "5 places to fill in" in browser.get("t", table, "describe").text
    browser.describe(table, YAML)
    return table


def test_from_a_folder_to_the_report(browser, table, jobs_here, tmp_path):
    assert "Go on to check" in browser.get("t", table, "describe").text
    page = browser.post("t", table, "plan", data={"rows": "400", "epsilon": "3"}).text
    assert "Persons, about" in page
    assert "<svg" in page
    for step in ("describe", "check", "plan", "release", "look"):
        assert browser.get("t", table, step).status_code == 200
    assert "one person, all of their rows in all tables" in browser.get("t", table, "release").text
    for canary in CANARIES:
        assert canary not in "".join(browser.shown) + everything_kept(browser.studio.state)

    page = browser.ask("t", table, "check").text
    assert "columns are taken as they are" in page
    assert "zx81canary" in page
    assert "7654321" not in page  # an id is no value that the description lists
    browser.shown.clear()

    page = browser.ask("t", table, "release", dataset="ward", purpose="yearly report").text
    assert "persons, with noise" in page
    assert "a given person" in page
    job = jobs.list_jobs(browser.studio.state, kind="release")[0].name
    look = ("t", table, "look", job)
    report = browser.get("t", table, "files", job, "report")
    assert "patients" in report.text
    assert "stays" in report.text
    assert "'unsafe-inline'" not in report.headers["content-security-policy"]
    browser.ask(*look, "sample", page=browser.get(*look).text, rows="50", form="sqlite")
    sample = jobs.list_jobs(browser.studio.state, table, "sample")[0].name
    answer = browser.client.get(browser.studio.path("t", table, "files", sample, "table"))
    assert 'filename="synthetic.sqlite"' in answer.headers["content-disposition"]
    (tmp_path / "got.sqlite").write_bytes(answer.content)
    with closing(sqlite3.connect(tmp_path / "got.sqlite")) as connection:
        assert connection.execute("select count(*) from patients").fetchone() == (50,)
        orphans = "select count(*) from stays where patient_id not in (select patient_id from patients)"
        assert connection.execute(orphans).fetchone() == (0,)
    page = browser.ask(*look, "verify", page=browser.get(*look).text).text
    assert "keeps its claim" in page
    assert "yearly report" in browser.get("t", table, "look").text
    assert sum(entry.is_reservation for entry in Ledger(browser.studio.ledger).entries()) == 1
    for canary in CANARIES:
        assert canary not in "".join(browser.shown) + answer.content.decode("latin-1")


@pytest.mark.slow  # it trains learners
def test_the_comparison_takes_a_folder_too(browser, table, jobs_here):
    write_family(browser.studio.folder / "kept", 120)
    browser.post("t", table, "plan", data={"rows": "400", "epsilon": "3"}, follow=False)
    browser.ask("t", table, "release", dataset="ward")
    look = ("t", table, "look", jobs.list_jobs(browser.studio.state, kind="release")[0].name)
    page = browser.ask(*look, "evaluate", page=browser.get(*look).text, test="kept").text
    assert "Open the private page" in page
    name = jobs.list_jobs(browser.studio.state, kind="evaluate")[0].name
    private = browser.get("t", table, "files", name, "private")
    assert "for the custodian alone" in private.text
    assert "7654321" not in private.text


@pytest.mark.parametrize("what", ["orphan", "double"])
def test_what_does_not_belong_together_is_told_in_step_3_alone(browser, table, jobs_here, what):
    folder = browser.studio.folder / "ward"
    with (folder / ("stays.csv" if what == "orphan" else "patients.csv")).open("a") as file:
        file.write("9999999999,3,surgery\n" * 5 if what == "orphan" else "7654321000,f,3,zx82canary\n" * 5)
    page = browser.ask("t", table, "check").text
    assert "What was found" in page
    browser.shown.clear()
    browser.post("t", table, "plan", data={"rows": "400", "epsilon": "3"}, follow=False)
    page = browser.ask("t", table, "release", dataset="ward").text
    assert "persons, with noise" in page
    assert_clean(page)
    assert "9999999999" not in page


def test_a_folder_that_is_no_family(browser):
    (browser.studio.folder / "alone").mkdir()
    (browser.studio.folder / "alone" / "a.csv").write_text("zx81canary\n1\n")
    answer = browser.post("", data={"location": "alone", "family": "on"})
    assert answer.status_code == 400
    assert "does not hold files of two tables" in answer.text
    answer = browser.post("", data={"location": "stays.csv", "family": "on"})
    assert answer.status_code == 400
    assert "is no folder" in answer.text
