"""How far a job is, and what became of it. The page may be closed: the job goes on."""

import os
import signal
from contextlib import suppress

from starlette.responses import JSONResponse, Response

from sfumato.errors import SfumatoError
from sfumato.studio.jobs import Job, forget_job
from sfumato.studio.rendering import Ask, go, render, say_error

TITLES = {
    "check": "Reading the private table",
    "release": "Releasing",
    "report": "Writing the report",
    "verify": "Verifying",
    "sample": "Drawing a sample",
    "evaluate": "Comparing with the private rows",
    "audit": "Attacking the mechanism",
}


def show(ask: Ask) -> Response:
    """The stages of a job that runs, what stopped one, or the page on which its result stands."""
    job = ask.job
    if job.status == "done":
        return go(ask, *_home(job), mark="" if job.kind == "release" else job.kind)
    return render(ask, "job.html", step=_step(job), table=ask.table, job=job, title=TITLES[job.kind], home=_home(job))


def _step(job: Job) -> str:
    return job.kind if job.kind in ("check", "release") else "look"


def _home(job: Job) -> tuple[str, ...]:
    """The page on which the result of a job stands."""
    if job.kind == "check":
        return "t", job.table, "check"
    if job.kind == "release":
        return ("t", job.table, "look", job.name) if job.status == "done" else ("t", job.table, "release")
    return "t", job.table, "look", job.ask["release"]


def tell(ask: Ask) -> Response:
    """The same for the page's script."""
    job = ask.job
    return JSONResponse({"runs": job.runs, "stages": job.stages})


def stop(ask: Ask) -> Response:
    """End a job that is no release: those have spent their budget, and are let finish."""
    job = ask.job
    if job.runs and job.kind != "release":
        with suppress(ProcessLookupError):  # it may end in this moment
            os.kill(job.pid, signal.SIGTERM) if job.pid else None
    return go(ask, "t", job.table, "jobs", job.name)


def forget(ask: Ask) -> Response:
    """Remove a result, such as what a look at the private table found."""
    job, home = ask.job, _home(ask.job)
    try:
        if job.kind != "release":
            forget_job(job)
    except SfumatoError as error:
        return say_error(ask, str(error), 409, ask.table)
    return go(ask, *home)
