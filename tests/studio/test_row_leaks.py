"""Nothing of any row is on a page, in a log, an error or the state before somebody has the private table read."""

import logging

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


def test_a_list_cannot_bring_rows_into_the_schema(browser):
    table = browser.choose()
    for name in ("../../../stays.csv", str(browser.studio.folder / "stays.csv"), "stays.csv", "..", ""):
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
    job = next((browser.studio.state / "jobs").iterdir()).name
    browser.post("t", table, "jobs", job, "forget")
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
