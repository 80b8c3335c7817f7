"""Step 1: a file, a folder or a table of a database. Names and types of columns are looked at, and no value."""

from starlette.responses import Response

from sfumato.errors import SfumatoError
from sfumato.studio.headers import looks_like_record, names_and_types, read_columns
from sfumato.studio.jobs import list_jobs
from sfumato.studio.locations import find_location, list_database, list_entries
from sfumato.studio.rendering import Ask, go, render
from sfumato.studio.tables import add_table, list_tables


def show(ask: Ask) -> Response:
    """What may be chosen, and the tables that were chosen before."""
    return _page(ask)


def _page(ask: Ask, message: str = "", *, doubtful: bool = False, status: int = 200) -> Response:
    inside, studio = ask.query.get("folder", ask.said("folder")), ask.studio
    try:
        entries = list_entries(studio.folder, inside)
    except SfumatoError as error:
        inside, entries, message = "", list_entries(studio.folder, ""), message or str(error)
    database, names = ask.query.get("database", ""), list[str]()
    if database:
        try:
            names = list_database(studio.folder, database)
        except SfumatoError as error:
            database, message = "", message or str(error)
    releases = {job.table for job in list_jobs(studio.state, kind="release") if job.status == "done"}
    return render(
        ask,
        "choose.html",
        step="choose",
        status=status,
        entries=entries,
        inside="" if inside == "." else inside,
        database=database,
        names=names,
        tables=list_tables(studio.state),
        releases=releases,
        message=message,
        doubtful=doubtful,
        typed=ask.answers,
    )


def choose(ask: Ask) -> Response:
    """Read the header of a table, draft its schema, and go on."""
    try:
        family = bool(ask.said("family"))
        location = find_location(ask.studio.folder, ask.said("location"), ask.said("table"), family=family)
        tables = read_columns(location)
        if any(map(looks_like_record, tables.values())) and not ask.said("anyway"):
            return _page(ask, doubtful=True, status=409)
        table = add_table(ask.studio.state, location, names_and_types(tables))
    except SfumatoError as error:
        return _page(ask, str(error), status=400)
    return go(ask, "t", table.name, "describe")
