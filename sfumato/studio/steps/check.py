"""Step 3: what of the private table the schema does not take as it is. For the custodian's eyes only."""

from starlette.responses import Response

from sfumato.errors import RequestError, SfumatoError
from sfumato.evaluation.checking import ADVICE
from sfumato.studio.jobs import list_jobs, start_job
from sfumato.studio.problems import check_draft
from sfumato.studio.rendering import Ask, go, render
from sfumato.studio.state import make_id
from sfumato.studio.tables import Table
from sfumato.trusted.schema.file import AnySchema


def complete_schema(table: Table) -> AnySchema:
    """The schema of a table, if it is complete; else `RequestError`."""
    findings = check_draft(table.draft, table.lists)
    if findings.schema is None:
        raise RequestError(f"the description is not complete: {findings.troubles[0].words}; go back to step 2")
    return findings.schema


def show(ask: Ask) -> Response:
    """What this step does, and what the last look found."""
    return _page(ask, ask.table)


def _page(ask: Ask, table: Table, message: str = "", status: int = 200) -> Response:
    jobs = list_jobs(ask.studio.state, table.name, "check")
    return render(
        ask,
        "check.html",
        step="check",
        status=status,
        table=table,
        complete=check_draft(table.draft, table.lists).schema is not None,
        job=jobs[0] if jobs else None,
        changed=bool(jobs) and jobs[0].ask["version"] != table.version,
        ticket=make_id(),
        advice=ADVICE,
        message=message,
    )


def start(ask: Ask) -> Response:
    """Read the private table, in a process of its own."""
    table = ask.table
    try:
        wanted = {
            "location": table.location.to_dict(),
            "schema": complete_schema(table).to_dict(),
            "version": table.version,
        }
        job = start_job(ask.studio.state, ask.said("ticket"), "check", table.name, wanted)
    except SfumatoError as error:
        return _page(ask, table, str(error), 400)
    return go(ask, "t", table.name, "jobs", job)
