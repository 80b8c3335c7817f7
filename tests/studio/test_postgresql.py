"""The whole story with a table of a PostgreSQL server: choose, describe, check, plan, release, sample, evaluate."""

import re

import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.studio import jobs
from sfumato.trusted.ledger import Ledger
from tests.sources.postgresql_server import PASSWORD, ROLE, STRANGER
from tests.sources.servers import running_server, server
from tests.studio.conftest import CANARIES, make_table
from tests.studio.test_row_leaks import assert_clean, everything_kept

__all__ = ["running_server", "server"]


@pytest.fixture
def address(server):
    """Where the table `stays` is, with the rows of every other test here."""
    pytest.importorskip("adbc_driver_postgresql")
    server.run(
        "drop schema if exists clinic cascade", "create schema clinic", f"grant usage on schema clinic to {ROLE}"
    )
    server.run(
        "create type clinic.ward as enum ('surgery', 'maternity', 'zx81canary')",
        "create table clinic.stays (patient_id int, age int, ward clinic.ward, cost double precision, born date, "
        "notes text)",
        f"grant select on clinic.stays to {ROLE}",
    )
    rows = [
        f"({row['patient_id']}, {row['age']}, '{row['ward']}', {row['cost']}, '{row['born']}', '{row['notes']}')"
        for row in make_table().to_pylist()
    ]
    server.run(f"insert into clinic.stays values {', '.join(rows)}")
    return server.address()


@pytest.mark.slow  # seven processes
def test_the_whole_story(browser, address, tmp_path):
    """Jobs are processes here: the password goes to them by the environment, and stands nowhere else."""
    table = browser.choose(address, table="clinic.stays")
    page = browser.get("t", table, "describe").text
    assert "patient_id" in page
    assert "{name: age, type: integer" in browser.get("t", table, "schema.yaml").text
    browser.describe(table)
    browser.post("t", table, "plan", data={"rows": "1000", "epsilon": "1"})
    for step in ("describe", "check", "plan", "release", "look"):
        assert browser.get("t", table, step).status_code == 200
    assert_clean("".join(browser.shown) + everything_kept(browser.studio.state))

    page = browser.wait(browser.ask("t", table, "check")).text
    assert "zx81canary" in page
    assert "33.3 %" in page
    browser.shown.clear()

    page = browser.wait(browser.ask("t", table, "release", dataset="stays", purpose="yearly report")).text
    assert "Nobody who reads this release can tell with confidence" in page
    job = jobs.list_jobs(browser.studio.state, kind="release")[0].name
    look = ("t", table, "look", job)
    assert "What it is good for" in browser.get("t", table, "files", job, "report").text
    browser.wait(browser.ask(*look, "sample", page=browser.get(*look).text, rows="300", form="parquet"))
    sample = jobs.list_jobs(browser.studio.state, table, "sample")[0].name
    (tmp_path / "got.parquet").write_bytes(
        browser.client.get(browser.studio.path("t", table, "files", sample, "table")).content
    )
    drawn = pyarrow.parquet.read_table(tmp_path / "got.parquet")
    assert drawn.num_rows == 300
    assert pa.types.is_integer(drawn.schema.field("age").type)
    page = browser.wait(browser.ask(*look, "verify", page=browser.get(*look).text)).text
    assert "keeps its claim" in page
    assert "yearly report" in browser.get("t", table, "look").text
    assert sum(entry.is_reservation for entry in Ledger(browser.studio.ledger).entries()) == 1
    for shown in browser.shown:
        for canary in CANARIES:
            assert canary not in shown
    assert PASSWORD not in "".join(browser.shown) + everything_kept(browser.studio.state)


@pytest.mark.slow  # it trains learners
def test_rows_that_were_kept_apart_may_be_another_table(browser, address, server, jobs_here):
    server.run("create table clinic.kept as select * from clinic.stays limit 300")
    server.run(f"grant select on clinic.kept to {ROLE}")
    table = browser.choose(address, table="clinic.stays")
    browser.describe(table)
    browser.ask("t", table, "release", dataset="stays")
    look = ("t", table, "look", jobs.list_jobs(browser.studio.state, kind="release")[0].name)
    page = browser.ask(*look, "evaluate", page=browser.get(*look).text, test=address, test_table="clinic.kept").text
    assert "Open the private page" in page


@pytest.mark.parametrize(
    ("role", "table"),
    [
        (STRANGER, "clinic.stays"),
        (ROLE, "clinic.nothing"),
        (ROLE, "clinic.stays; drop table clinic.stays"),
        (ROLE, '"clinic"."stays" where age > 80'),
        ("nobody", "clinic.stays"),
    ],
)
def test_what_the_server_does_not_give(browser, address, server, role, table, caplog):
    answer = browser.post("", data={"location": server.address(role), "table": table})
    assert answer.status_code == 400
    assert "zx81canary" not in answer.text + caplog.text
    assert PASSWORD not in answer.text + caplog.text
    assert not list((browser.studio.state / "tables").iterdir())
    assert re.search(r"correct|check|no name", answer.text)
    browser.choose(address, table="clinic.stays")  # it is still there


def test_a_table_that_went_away_before_its_release(browser, address, server, jobs_here):
    table = browser.choose(address, table="clinic.stays")
    browser.describe(table)
    server.run("alter table clinic.stays rename to other")
    page = browser.ask("t", table, "release", dataset="stays").text
    assert "came to nothing" in page
    assert_clean(page + everything_kept(browser.studio.state))
    assert not any(entry.is_reservation for entry in Ledger(browser.studio.ledger).entries())
