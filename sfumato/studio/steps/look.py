"""Step 6: what was released: report, sample, verification, the custodian's evaluation, audit, history."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from sfumato.artefact.about import load_about
from sfumato.artefact.bundle import open_release
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.promise import plain_promise, risk_lines
from sfumato.artefact.questions import quality_of
from sfumato.artefact.verdict import judge
from sfumato.bookkeeping.accounts import describe_accounts
from sfumato.bookkeeping.lines import lines_of
from sfumato.errors import RequestError, SfumatoError
from sfumato.fitting.conditions import parse_given
from sfumato.studio.job_kinds import AUDIT, BUNDLE, PRIVATE, REPORT
from sfumato.studio.jobs import Job, list_jobs, start_job
from sfumato.studio.locations import find_location
from sfumato.studio.rendering import Ask, go, render, send_file, show_report
from sfumato.studio.state import make_id, write_private
from sfumato.studio.tables import Table, change_terms

_MOST_ROWS = 50_000_000
_BINARY = "application/octet-stream"


def show(ask: Ask) -> Response:
    """All releases of a table, and what the ledger holds of its dataset."""
    table = ask.table
    releases = list_jobs(ask.studio.state, table.name, "release")
    names = {job.ask["schema"]["name"] for job in releases}
    book = ask.studio.open_ledger()
    try:
        lines = [line for line in lines_of(book.entries()) if line.dataset in names]
        accounts = [words for name in sorted(names) for words in describe_accounts(book, name)]
    except SfumatoError as error:
        lines, accounts = [], [str(error)]
    return render(ask, "look.html", step="look", table=table, releases=releases, lines=lines[::-1], accounts=accounts)


def show_release(ask: Ask) -> Response:
    """One release, and all that was made of it."""
    return _page(ask, ask.table, _release(ask))


def _release(ask: Ask) -> Job:
    job = ask.job
    if job.kind != "release" or job.status != "done":
        raise HTTPException(404)
    return job


def _page(ask: Ask, table: Table, job: Job, message: str = "", status: int = 200) -> Response:
    made = [one for one in list_jobs(ask.studio.state, table.name) if one.ask.get("release") == job.name]
    latest = {
        kind: next((one for one in made if one.kind == kind), None)
        for kind in ("verify", "evaluate", "audit", "report")
    }
    return render(
        ask,
        "release_made.html",
        step="look",
        status=status,
        table=table,
        job=job,
        facts=_facts(job),
        samples=[one for one in made if one.kind == "sample"],
        latest=latest,
        has_report=(job.folder / REPORT).is_file(),
        tickets={kind: make_id() for kind in ("sample", "verify", "evaluate", "audit", "report")},
        message=message,
    )


def _facts(job: Job) -> dict[str, Any]:
    """The promise in plain words and what it is good for, from the bundle."""
    opened = open_release(job.folder / BUNDLE)
    statement, family = opened.statement, isinstance(opened, FamilyRelease)
    target = None if isinstance(opened, FamilyRelease) else opened.schema.target
    return {
        "plain": plain_promise(statement, target),
        "risks": risk_lines(statement, target),
        "statement": statement,
        "verdict": None if isinstance(opened, FamilyRelease) else judge(quality_of(opened)),
        "family": family,
        "size": opened.size,
    }


def ask_for(ask: Ask) -> Response:
    """Start a job on a release: a sample, a verification, an evaluation, an audit, a report."""
    table, job, kind = ask.table, _release(ask), ask.parts["kind"]
    makers = {"sample": _sample, "verify": _verify, "evaluate": _evaluate, "audit": _audit, "report": _report}
    if kind not in makers:
        raise HTTPException(404)
    try:
        wanted = {"release": job.name, "bundle": str(job.folder / BUNDLE), **makers[kind](ask, job)}
        name = start_job(ask.studio.state, ask.said("ticket"), kind, table.name, wanted)
    except SfumatoError as error:
        return _page(ask, table, job, str(error), 400)
    return go(ask, "t", table.name, "jobs", name)


def _sample(ask: Ask, _: Job) -> Mapping[str, Any]:
    form, rows = ask.said("form"), change_terms(ask.table.terms, ask.answers).rows
    if form not in ("csv", "parquet", "sqlite"):
        raise RequestError("choose CSV or Parquet")
    if rows is not None and not 1 <= rows <= _MOST_ROWS:
        raise RequestError(f"rows is {rows}; draw between 1 and {_MOST_ROWS:,}")
    given = ask.said("given").strip()
    if given:
        parse_given(given)
    return {"form": form, "rows": rows, "given": given}


def _verify(ask: Ask, _: Job) -> Mapping[str, Any]:
    return {"ledger": ask.studio.ledger}


def _evaluate(ask: Ask, job: Job) -> Mapping[str, Any]:
    test = find_location(
        ask.studio.folder, ask.said("test"), ask.said("test_table"), family=bool(job.ask["location"]["family"])
    )
    return {"location": job.ask["location"], "test": test.to_dict()}


def _audit(ask: Ask, job: Job) -> Mapping[str, Any]:
    terms = {key: job.ask[key] for key in ("schema", "epsilon", "delta", "adjacency", "mechanism")}
    return {**terms, "quick": not ask.said("whole")}


def _report(ask: Ask, job: Job) -> Mapping[str, Any]:
    uploaded = ask.upload("file")
    if uploaded is None:
        raise RequestError("no file was chosen; choose an about.yaml; `sfumato about` prints one to fill in")
    path = job.folder / "about.yaml"
    write_private(path, uploaded[1])
    try:
        load_about(path)
    except SfumatoError as error:
        path.unlink()
        raise RequestError(str(error).replace(str(path), uploaded[0])) from None
    return {"about": str(path)}


def send(ask: Ask) -> Response:
    """A file of a job: shown as a page, or downloaded."""
    job, what = ask.job, ask.parts["what"]
    if job.status != "done":
        raise HTTPException(404)
    name = str((job.result or {}).get("dataset") or ask.table.name)
    match job.kind, what:
        case "release", "bundle":
            return send_file(job.folder / BUNDLE, f"{name}.sfumato", _BINARY)
        case "release" | "report", "report":
            return show_report(job.folder / REPORT)
        case "release" | "report", "report.html":
            return send_file(job.folder / REPORT, f"{name}.html", "text/html")
        case "audit", "audit":
            return show_report(job.folder / AUDIT)
        case "evaluate", "private":
            return show_report(job.folder / PRIVATE)
        case "sample", "table":
            file = job.folder / str((job.result or {})["file"])
            return send_file(file, file.name, _BINARY)
    raise HTTPException(404)
