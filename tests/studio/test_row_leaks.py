"""Nothing of any row is on a page, in a log, an error or the state before somebody has the private table read."""

import gzip
import logging
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.studio import job_kinds
from sfumato.studio.steps import describe
from tests.studio.conftest import CANARIES, ROWS, YAML


def everything_kept(state) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in state.rglob("*") if path.is_file())


def assert_clean(words: str) -> None:
    for canary in (*CANARIES, str(ROWS), f"{ROWS:,}"):
        assert canary not in words


@pytest.mark.parametrize("name", ["stays.csv", "stays.parquet", "."])
def test_no_row_before_the_check(browser, name, caplog, capfd):
    if name == ".":
        (browser.studio.folder / "stays.parquet").unlink()  # a folder of one kind of file
    with caplog.at_level(logging.DEBUG):
        table = browser.choose(name)
        page = browser.get("t", table, "describe").text
        version = browser.hidden(page, "version")
        live = browser.post(
            "t", table, "describe", "live", data={"version": version, "name": "stays", "c0.type": "number"}
        )
        assert live.status_code == 200
        browser.post("t", table, "describe", data={"version": live.json()["version"], "preset": "1:age"})
        browser.describe(table)
        browser.post("t", table, "plan", data={"rows": "5000", "epsilon": "1"})
        for step in ("describe", "check", "plan", "release", "look", "schema.yaml"):
            assert browser.get("t", table, step).status_code == 200
        browser.post("t", table, "release", data={"dataset": "wrong", "ticket": "0" * 16, "mark": ""})
        browser.get("")
    assert_clean("".join(browser.shown))
    assert_clean(everything_kept(browser.studio.state))
    assert_clean(caplog.text + "".join(capfd.readouterr()))


def test_a_page_that_shows_a_value_is_seen(browser, monkeypatch):
    """The check above can fail."""
    monkeypatch.setattr(describe, "_summary", lambda _: "zx81canary")
    browser.get("t", browser.choose(), "describe")
    with pytest.raises(AssertionError):
        assert_clean("".join(browser.shown))


def test_a_file_without_a_header_is_not_shown(browser):
    (browser.studio.folder / "bare.csv").write_text("7654321,1903-07-23,424242.25,zx81canary\n1,2,3,4\n")
    answer = browser.post("", data={"location": "bare.csv"})
    assert answer.status_code == 409
    assert "may be a record" in answer.text
    assert_clean(answer.text + everything_kept(browser.studio.state))
    answer = browser.post("", data={"location": "bare.csv", "anyway": "on"})  # years as names of columns, say
    assert "/describe" in str(answer.url)


@pytest.mark.parametrize(
    "lines",
    [
        'age,"ward\n{rows}',  # a quote that is not closed takes rows into the name
        "age,ward\x85{rows}",
        "age,ward\u2028{rows}",
        "age,ward\x1e{rows}",
        "age," + "zx81canary" * 50 + "\n{rows}",
        "zx81canary,surgery,34\n{rows}",
        "zx81canary,12:30\n{rows}",
        "zx81canary,1903-07-23T00:00\n{rows}",
        "zx81canary,ada@example.org\n{rows}",
        "zx81canary,NaN\n{rows}",
        " ,,,,\n{rows}",
    ],
)
@pytest.mark.parametrize("family", [False, True])
def test_a_first_line_that_is_no_line_of_names_is_not_shown(browser, lines, family):
    text = lines.format(rows="7654321,zx81canary\n" * 9)
    folder = browser.studio.folder / "more"
    folder.mkdir()
    for name in ("one.csv", "other.csv") if family else ("one.csv",):
        (folder / name).write_text(text)
    if family:
        answer = browser.post("", data={"location": "more", "family": "on"})
    else:
        answer = browser.post("", data={"location": "more/one.csv"})
    assert answer.status_code in (400, 409)
    assert_clean(answer.text + everything_kept(browser.studio.state))


def test_a_table_that_has_lost_its_header_is_not_drafted_anew(browser):
    table = browser.choose()
    (browser.studio.folder / "stays.csv").write_text("7654321,1903-07-23,424242.25,zx81canary\n1,2,3,4\n")
    answer = browser.post("t", table, "describe", "book", files={"file": ("book.csv", "name,type\nage,integer\n")})
    assert answer.status_code == 400
    assert "have changed" in answer.text
    browser.describe(table)
    assert_clean("".join(browser.shown) + everything_kept(browser.studio.state))


def test_names_of_partitions_are_values(browser):
    part = browser.studio.folder / "stays" / "ward=zx81canary"
    part.mkdir(parents=True)
    (part / "part.csv").write_text("age\n1\n")
    page = browser._keep(browser.client.get(browser.studio.path("") + "?folder=stays")).text
    assert "The whole folder is one table" in page
    browser.choose("stays")
    assert_clean("".join(browser.shown))


def broken_csv(path):
    path.write_bytes(b"patient_id,age,ward,cost\n" + b'7654321,"zx81canary\n\xff\xfe,,,,,"x"zx82canary\0\n' * 40)


def broken_packed_csv(path):
    rows = b"".join(
        b"7654321,%d,zx81canary%d,424242.25\n" % (row * 7919 % 1009, row) for row in range(300_000)
    )  # beyond what opening it unpacks
    content = bytearray(gzip.compress(b"patient_id,age,ward,cost\n" + rows))
    content[-3000:-2000] = bytes(1000)
    path.write_bytes(content)


def broken_parquet(path):
    columns = {"age": range(ROWS), "ward": [f"zx81canary{row}" for row in range(ROWS)], "cost": [424242.25] * ROWS}
    table = pa.table({name: list(column) for name, column in columns.items()})
    pyarrow.parquet.write_table(table, path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[30:400] = b"zx81canary" * 37
    path.write_bytes(content)


def broken_sqlite(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table stays (age integer, ward text, cost real)")
        rows = [("zx81canary", b"zx82canary\xff", "424242.25"), (7654321 * 10**12, "\ud7ff", float("inf"))]
        connection.executemany("insert into stays values (?, ?, ?)", rows * 50)
        connection.execute("insert into stays values (1, cast(x'7a78383163616e617279ff' as text), 1)")
        connection.commit()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("broken.csv", broken_csv),
        ("broken.csv.gz", broken_packed_csv),
        ("broken.parquet", broken_parquet),
        ("broken.sqlite", broken_sqlite),
    ],
)
def test_a_release_of_a_broken_table_tells_nothing_of_it(browser, jobs_here, name, make, caplog, capfd):
    """Without step 3, and whatever raises among the rows."""
    make(browser.studio.folder / name)
    with caplog.at_level(logging.DEBUG):
        table = browser.choose(name, table="stays" if name.endswith(".sqlite") else "")
        browser.describe(table, YAML.replace(", born, notes", ""))
        browser.post("t", table, "plan", data={"rows": "5000", "epsilon": "1"})
        page = browser.ask("t", table, "release", dataset="stays").text
        assert "Releasing" in page or "Open the public report" in page
        for step in ("describe", "check", "plan", "release", "look"):
            browser.get("t", table, step)
    assert_clean("".join(browser.shown))
    assert_clean(everything_kept(browser.studio.state))
    assert_clean(caplog.text + "".join(capfd.readouterr()))


def test_a_list_cannot_bring_rows_into_the_schema(browser):
    table = browser.choose()
    for name in ("../../../stays.csv", str(browser.studio.folder / "stays.csv"), "stays.csv", "..", "", "x" * 5000):
        text = YAML.replace("[surgery, maternity]", f"{{file: {name!r}, column: ward}}")
        version = browser.hidden(browser.get("t", table, "describe").text, "version")
        page = browser.post("t", table, "describe", "yaml", data={"yaml": text, "version": version}).text
        assert "was not uploaded here" in page
    assert_clean("".join(browser.shown))


def test_what_a_check_finds_is_on_its_page_alone_and_can_be_deleted(browser, jobs_here):
    table = browser.choose()
    browser.describe(table)
    page = browser.wait(browser.ask("t", table, "check")).text
    assert "zx81canary" in page
    assert "for the custodian's eyes only" in page.replace("&#39;", "'")
    assert "33.3 %" in page
    for step in ("describe", "plan", "release", "look"):
        assert "zx81canary" not in browser.get("t", table, step).text
    job = next((browser.studio.state / "jobs").iterdir())
    (job / "left").mkdir()  # by a process that was killed
    (job / "left" / "part").write_text("zx81canary")
    browser.post("t", table, "jobs", job.name, "forget")
    assert_clean(everything_kept(browser.studio.state))
    assert "zx81canary" not in browser.get("t", table, "check").text


def test_an_error_of_a_job_quotes_no_row(browser, jobs_here, monkeypatch):
    def broken(folder, ask, progress):
        raise RuntimeError("zx81canary")

    table = browser.choose()
    browser.describe(table)
    monkeypatch.setitem(job_kinds.KINDS, "check", broken)
    page = browser.ask("t", table, "check").text
    assert "Something unexpected happened (RuntimeError)" in page
    assert_clean(page + everything_kept(browser.studio.state))
