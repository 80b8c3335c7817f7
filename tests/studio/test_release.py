"""One release, however often it is asked for; a limit; a second tab; a job that outlives its server."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from sfumato.studio import jobs
from sfumato.studio.state import make_id
from sfumato.studio.tables import Terms, change_terms
from sfumato.trusted.ledger import Ledger
from tests.studio.conftest import CANARIES, YAML


@pytest.fixture
def table(browser):
    """A table that is described and planned."""
    name = browser.choose()
    browser.describe(name)
    browser.post("t", name, "plan", data={"rows": "1000", "epsilon": "1"}, follow=False)
    return name


def releases(browser):
    return [entry for entry in Ledger(browser.studio.ledger).entries() if entry.is_reservation]


def test_a_release_is_made_and_looked_at(browser, table, jobs_here, tmp_path):
    page = browser.get("t", table, "release").text
    assert "(1, 1e-06)-differential privacy for one record" in page
    page = browser.wait(browser.ask("t", table, "release", dataset="stays", purpose="yearly report", who="Ada")).text
    assert "Nobody who reads this release can tell with confidence" in page
    job = jobs.list_jobs(browser.studio.state, kind="release")[0].name
    bundle = browser.client.get(browser.studio.path("t", table, "files", job, "bundle"))
    assert 'filename="stays.sfumato"' in bundle.headers["content-disposition"]
    (tmp_path / "got.sfumato").write_bytes(bundle.content)

    report = browser.get("t", table, "files", job, "report")
    policy = report.headers["content-security-policy"]
    assert "'unsafe-inline'" not in policy
    assert "script-src" not in policy
    assert "sandbox" in policy
    assert "What it is good for" in report.text

    look = ("t", table, "look", job)
    browser.ask(*look, "sample", page=browser.get(*look).text, rows="200", form="csv")
    browser.ask(*look, "sample", page=browser.get(*look).text, rows="100", form="parquet", given="age=40..60")
    samples = jobs.list_jobs(browser.studio.state, table, "sample")
    got = [browser.client.get(browser.studio.path("t", table, "files", one.name, "table")).content for one in samples]
    (tmp_path / "some.parquet").write_bytes(got[0])
    assert pyarrow.parquet.read_table(tmp_path / "some.parquet").num_rows == 100
    assert len(got[1].splitlines()) == 201

    page = browser.ask(*look, "verify", page=browser.get(*look).text).text
    assert "keeps its claim" in page
    assert "statement is in the ledger" in page
    about = {"file": ("about.yaml", "custodian: The Hospital\npurpose: research\n")}
    ticket = re.search(r'/report".*?name="ticket" value="(\w+)"', page, re.DOTALL)[1]
    page = browser.post(*look, "report", data={"ticket": ticket}, files=about).text
    assert "The report with about.yaml" in page
    page = browser.post(*look, "report", data={"ticket": make_id()}, files={"file": ("a.yaml", "x: 1")}).text
    assert "a.yaml" in page

    page = browser.get("t", table, "look").text
    assert "yearly report" in page
    assert "Ada" in page
    assert len(releases(browser)) == 1
    for shown in browser.shown:
        for canary in CANARIES:
            assert canary not in shown  # a release is public, and none of it is a row


@pytest.mark.slow  # it trains learners
def test_an_evaluation_is_private_and_can_be_deleted(browser, table, jobs_here):
    kept = pyarrow.csv.read_csv(browser.studio.folder / "stays.csv").slice(0, 300)
    pyarrow.parquet.write_table(kept, browser.studio.folder / "kept.parquet")
    browser.ask("t", table, "release", dataset="stays")
    look = ("t", table, "look", jobs.list_jobs(browser.studio.state, kind="release")[0].name)
    page = browser.ask(*look, "evaluate", page=browser.get(*look).text, test="kept.parquet").text
    assert "Open the private page" in page
    name = jobs.list_jobs(browser.studio.state, kind="evaluate")[0].name
    private = browser.get("t", table, "files", name, "private")
    assert "for the custodian alone" in private.text
    assert "'unsafe-inline'" not in private.headers["content-security-policy"]
    browser.post("t", table, "jobs", name, "forget")
    assert browser.get("t", table, "files", name, "private").status_code == 404
    answer = browser.ask(*look, "evaluate", page=browser.get(*look).text, test="../elsewhere.csv")
    assert answer.status_code == 400
    assert "is not below" in answer.text


def test_the_name_must_be_typed(browser, table, jobs_here):
    for name in ("", "stay", "Stays", "clinic"):
        answer = browser.ask("t", table, "release", dataset=name)
        assert answer.status_code == 409
        assert "type the name of the dataset" in answer.text
    assert not releases(browser)


def test_a_form_that_is_sent_many_times_is_one_release(browser, table, jobs_here):
    page = browser.get("t", table, "release").text
    fields = {name: browser.hidden(page, name) for name in ("ticket", "mark")} | {"dataset": "stays"}
    with ThreadPoolExecutor(4) as clicks:
        answers = list(clicks.map(lambda _: browser.post("t", table, "release", data=fields, follow=False), range(4)))
    assert {answer.status_code for answer in answers} == {303}
    assert len({answer.headers["location"] for answer in answers}) == 1
    again = browser.post("t", table, "release", data=fields, follow=False)  # reloaded when it is long done
    assert again.headers["location"] == answers[0].headers["location"]
    assert len(releases(browser)) == 1


def test_a_second_tab_cannot_release_what_the_first_did(browser, table, jobs_here):
    first, second = browser.get("t", table, "release").text, browser.get("t", table, "release").text
    assert browser.hidden(first, "ticket") != browser.hidden(second, "ticket")
    browser.ask("t", table, "release", page=first, dataset="stays")
    answer = browser.ask("t", table, "release", page=second, dataset="stays")
    assert answer.status_code == 409
    assert "has changed since this page was shown" in answer.text
    assert len(releases(browser)) == 1


@pytest.mark.parametrize("change", ["epsilon", "schema"])
def test_what_was_changed_in_another_tab_is_not_released(browser, table, jobs_here, change):
    page = browser.get("t", table, "release").text
    if change == "epsilon":
        browser.post("t", table, "plan", data={"rows": "1000", "epsilon": "9"}, follow=False)
    else:
        browser.describe(table, YAML.replace("110", "120"))
    answer = browser.ask("t", table, "release", page=page, dataset="stays")
    assert answer.status_code == 409
    assert not releases(browser)


def test_a_limit_refuses_in_the_words_of_the_command_line(browser, table, jobs_here):
    browser.post("t", table, "plan", "limit", data={"limit": "0.5", "purpose": "decision of the board"}, follow=False)
    assert "beyond is shaded" in browser.get("t", table, "plan").text
    page = browser.get("t", table, "release")
    assert "the largest that does is 0.5" in page.text
    answer = browser.wait(browser.ask("t", table, "release", dataset="stays"))
    assert "The ledger refuses this release" in answer.text
    assert "limit of dataset &#39;stays&#39; does not allow this release of epsilon 1" in answer.text
    assert "nothing was read" in answer.text
    assert not releases(browser)


def test_terms_that_no_release_takes(browser, table):
    for terms in (
        *({"epsilon": one} for one in ("0", "many", "-1", "nan", "inf")),
        *({"rows": one} for one in ("all", "-3", "1.5", "12,34", "9" * 40)),
        *({"delta": "2"}, {"adjacency": "none"}, {"mechanism": "magic"}),
    ):
        answer = browser.post("t", table, "plan", data={"rows": "1000", "epsilon": "1", **terms})
        assert answer.status_code == 400, terms
        assert "notice" in answer.text
    assert browser.get("t", table, "plan").status_code == 200


@pytest.mark.parametrize(
    ("typed", "read"), [("50000", 50_000), ("50,000", 50_000), ("1.234.567", 1_234_567), (" 5 000 ", 5_000), ("", None)]
)
def test_numbers_as_people_write_them(typed, read):
    assert change_terms(Terms(), {"rows": typed}).rows == read
    assert change_terms(Terms(), {"epsilon": "0,5"}).epsilon == 0.5


def test_nothing_of_a_release_without_a_whole_description(browser):
    table = browser.choose()
    for step in ("plan", "release"):
        answer = browser.get("t", table, step)
        assert answer.status_code == 409
        assert "not complete" in answer.text
    assert browser.post("t", table, "release", data={"ticket": make_id(), "dataset": "stays"}).status_code == 409
    assert not releases(browser)


def test_another_release_of_the_dataset_waits(browser, table, monkeypatch):
    monkeypatch.setattr(jobs, "_spawn", lambda folder, lock: os.set_inheritable(os.dup(lock), True))  # holds it on
    browser.ask("t", table, "release", dataset="stays")
    page = browser.get("t", table, "release").text
    assert "A release of stays is running" in page
    mark = "x" * 32
    answer = browser.post("t", table, "release", data={"ticket": make_id(), "mark": mark, "dataset": "stays"})
    assert answer.status_code == 409
    assert "is running" in answer.text


def test_a_job_that_never_began_is_lost_and_spends_nothing(browser, table, monkeypatch):
    monkeypatch.setattr(jobs, "_spawn", lambda folder, lock: None)
    answer = browser.ask("t", table, "release", dataset="stays")
    assert "ended without a word" in answer.text
    assert not releases(browser)
    assert browser.get("t", table, "look").status_code == 200


def test_a_job_that_breaks_counts_and_says_so(browser, table, jobs_here, monkeypatch):
    from sfumato.trusted.curator import Curator

    def broken(*_):
        raise RuntimeError("zx81canary")

    monkeypatch.setattr(Curator, "measure", broken)
    page = browser.ask("t", table, "release", dataset="stays").text
    assert "Something unexpected happened (RuntimeError)" in page
    assert "zx81canary" not in page
    assert "not finished" in browser.get("t", table, "look").text
    assert len(releases(browser)) == 1


class Server:
    """A studio in a process of its own, as `sfumato studio` starts it."""

    def __init__(self, folder: Path, ledger: Path) -> None:
        command = [sys.executable, "-u", "-m", "sfumato", "studio", folder, "--no-browser", "--ledger", ledger]
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.said = ""
        while "Ctrl-C" not in self.said and (line := self.process.stdout.readline()):
            self.said += line
        self.address = re.search(r"http://\S+", self.said)[0]

    def let_in(self):
        import httpx2

        origin = self.address.partition("/enter")[0]
        client = httpx2.Client(base_url=origin, headers={"origin": origin}, follow_redirects=True, timeout=60)
        home = re.search(r"url=([^\"]+)", client.get(self.address).text)[1]
        return client, home

    def kill(self, how: int = signal.SIGKILL) -> str:
        self.process.send_signal(how)
        return self.process.communicate(timeout=60)[0]


def test_a_killed_server_loses_nothing(folder, tmp_path):
    """The release goes on without it, a new server finds it, and nothing was logged."""
    ledger = tmp_path / "ledger.sqlite"
    server = Server(folder, ledger)
    try:
        client, home = server.let_in()
        with closing(client):
            page = client.post(home, data={"location": "stays.csv"})
            table = re.search(r"/t/([0-9a-f]{16})/", str(page.url))[1]
            version = re.search(r'name="version" value="(\w+)"', page.text)[1]
            client.post(f"{home}t/{table}/describe/yaml", data={"yaml": YAML, "version": version})
            page = client.get(f"{home}t/{table}/release").text
            fields = {name: re.search(rf'name="{name}" value="(\w+)"', page)[1] for name in ("ticket", "mark")}
            answer = client.post(f"{home}t/{table}/release", data={**fields, "dataset": "stays"})
            assert answer.status_code == 200
    finally:
        said = server.kill()
    assert said == ""
    server = Server(folder, ledger)
    try:
        assert server.address.partition("/enter")[0] + home not in server.said
        client, home = server.let_in()
        with closing(client):
            again = client.post(f"{home}t/{table}/release", data={**fields, "dataset": "stays"})  # a reload of the tab
            assert again.status_code == 200
            for _ in range(600):
                page = client.get(f"{home}t/{table}/jobs/{fields['ticket']}").text
                if "Open the public report" in page:
                    break
                time.sleep(0.1)
            assert "Nobody who reads this release" in page
    finally:
        said = server.kill(signal.SIGINT)
    assert said.strip() == "The studio is closed."
    assert sum(entry.is_reservation for entry in Ledger(ledger).entries()) == 1


def test_a_killed_job_is_found_dead(browser, table):
    """The lock goes with the process, and the page says what that means."""
    browser.ask("t", table, "release", dataset="stays")
    job = jobs.list_jobs(browser.studio.state, kind="release")[0]
    for _ in range(1200):
        job = jobs.read_job(browser.studio.state, job.name)
        if job.pid or not job.runs:
            break
        time.sleep(0.05)
    assert job.pid
    os.kill(job.pid, signal.SIGKILL)
    for child in list(jobs._children):
        child.wait(30)
    page = browser.get("t", table, "jobs", job.name).text
    assert "ended without a word" in page
    assert "counts as spent" in page


def test_a_job_may_end_while_somebody_stops_it(browser, table, monkeypatch):
    def gone(*_):
        raise ProcessLookupError

    answer = browser.ask("t", table, "check")
    job = answer.url.path.rpartition("/")[2]
    monkeypatch.setattr(os, "kill", gone)
    assert browser.post("t", table, "jobs", job, "stop").status_code == 200
    monkeypatch.undo()
    browser.wait(answer)


def test_a_stopped_job_says_so(browser, table):
    """A signal ends a job that is no release."""
    answer = browser.ask("t", table, "check")
    job = answer.url.path.rpartition("/")[2]
    for _ in range(3000):
        found = jobs.read_job(browser.studio.state, job)
        if found.pid or not found.runs:
            break
        time.sleep(0.02)
    answer = browser.wait(browser.post("t", table, "jobs", job, "stop"))
    assert "erminated by a signal" in answer.text or "What was found" in answer.text  # it may have been quicker
