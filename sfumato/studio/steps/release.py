"""Step 5: one deliberate click, on a page that names the dataset, the promise and the cost."""

from starlette.responses import Response

from sfumato.errors import RequestError, SfumatoError
from sfumato.studio.jobs import list_jobs, start_job
from sfumato.studio.promises import make_promise
from sfumato.studio.rendering import Ask, go, need, render, say_error
from sfumato.studio.state import make_id
from sfumato.studio.steps.check import complete_schema
from sfumato.studio.tables import Table
from sfumato.trusted.ledger.purpose import check_purpose

_STALE = (
    "the description, the terms or the ledger has changed since this page was shown, perhaps in another tab or by a "
    "release that was made meanwhile; read the page again before you release. Nothing was read or spent"
)


def show(ask: Ask) -> Response:
    """What would be released, on what terms."""
    return _page(ask, ask.table)


def _page(ask: Ask, table: Table, message: str = "", status: int = 200) -> Response:
    try:
        schema, terms = complete_schema(table), table.terms
        promise = make_promise(schema, terms, ask.studio.open_ledger())
    except SfumatoError as error:
        return say_error(ask, str(error), 409, table, "release")
    running = [
        job for job in list_jobs(ask.studio.state, kind="release") if job.runs and _dataset(job.ask) == schema.name
    ]
    return render(
        ask,
        "release.html",
        step="release",
        status=status,
        table=table,
        schema=schema,
        terms=terms,
        promise=promise,
        allowed=promise.is_allowed(terms),
        running=running,
        ticket=make_id(),
        message=message,
        typed=ask.answers,
    )


def _dataset(wanted: object) -> str:
    return str(wanted["schema"]["name"])  # type: ignore[index]


def start(ask: Ask) -> Response:
    """Release, once: the same form is the same job, however often it is sent."""
    table, state, ticket = ask.table, ask.studio.state, ask.said("ticket")
    try:
        schema, terms, book = complete_schema(table), table.terms, ask.studio.open_ledger()
        purpose = check_purpose(ask.said("who").strip() or None, ask.said("purpose").strip() or None)

        def check() -> None:
            need(
                ask.said("dataset").strip() == schema.name,
                f"to release, type the name of the dataset, {schema.name}, into the field; nothing was read or spent",
            )
            for job in list_jobs(state, kind="release"):
                if job.runs and _dataset(job.ask) == schema.name:
                    raise RequestError(f"a release of {schema.name} is running; wait until it has ended")
            need(ask.said("mark") == make_promise(schema, terms, book).mark, _STALE)

        wanted = {
            "location": table.location.to_dict(),
            "schema": schema.to_dict(),
            "epsilon": terms.epsilon,
            "delta": terms.delta,
            "adjacency": terms.adjacency,
            "mechanism": terms.mechanism,
            "ledger": ask.studio.ledger,
            "purpose": purpose.purpose,
            "who": purpose.who,
        }
        job = start_job(state, ticket, "release", table.name, wanted, check)
    except SfumatoError as error:
        return _page(ask, table, str(error), 409)
    return go(ask, "t", table.name, "jobs", job)
