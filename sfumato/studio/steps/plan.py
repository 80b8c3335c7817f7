"""Step 4: what a release would be worth and risk at each epsilon, and what the ledger still allows."""

from dataclasses import replace

from starlette.responses import Response

from sfumato.errors import SfumatoError
from sfumato.studio.forecasts import Forecast, make_forecast
from sfumato.studio.promises import Promise, make_promise
from sfumato.studio.rendering import Ask, go, render, say_error
from sfumato.studio.steps.check import complete_schema
from sfumato.studio.tables import Table, Terms, change_terms
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.ledger.purpose import check_purpose
from sfumato.trusted.schema import FamilySchema

MECHANISMS = ("auto", "tables", "mixture", "subspace", "slices", "3a")


def show(ask: Ask) -> Response:
    """The forecast, once somebody has typed how many records there are."""
    return _page(ask, ask.table)


def _page(ask: Ask, table: Table, message: str = "", status: int = 200, terms: Terms | None = None) -> Response:
    wanted = terms or table.terms
    try:
        schema = complete_schema(table)
    except SfumatoError as error:
        return say_error(ask, str(error), 409, table, "plan")
    promise: Promise | None = None
    forecast: Forecast | None = None
    if terms is None:
        try:
            promise = make_promise(schema, wanted, ask.studio.open_ledger())
            forecast = make_forecast(schema, wanted, promise.fits) if wanted.rows and not message else None
        except SfumatoError as error:
            message, status = message or str(error), 400
    return render(
        ask,
        "plan.html",
        step="plan",
        status=status,
        table=table,
        family=isinstance(schema, FamilySchema),
        terms=wanted,
        promise=promise,
        forecast=forecast,
        adjacencies=list(Adjacency),
        mechanisms=MECHANISMS,
        message=message,
    )


def save(ask: Ask) -> Response:
    """Keep what is wanted, and show its forecast."""
    table = ask.table
    try:
        terms = change_terms(table.terms, ask.answers)
        make_promise(
            complete_schema(table), replace(terms, rows=None), ask.studio.open_ledger()
        )  # what no release takes
    except SfumatoError as error:
        return _page(ask, table, str(error), 400)
    table.write_terms(terms)
    return go(ask, "t", table.name, "release" if ask.said("go") else "plan")


def set_limit(ask: Ask) -> Response:
    """Refuse, from now on, releases of this dataset beyond a total."""
    table = ask.table
    try:
        schema, terms = complete_schema(table), change_terms(table.terms, {"epsilon": ask.said("limit")})
        purpose = check_purpose(None, ask.said("purpose").strip() or None)
        unit = schema.unit.column if schema.unit else None
        limit, adjacency = Budget(terms.epsilon, terms.delta), Adjacency(terms.adjacency)
        ask.studio.open_ledger().set_limit(schema.name, limit, adjacency, unit, purpose)
    except SfumatoError as error:
        return _page(ask, table, str(error), 400)
    return go(ask, "t", table.name, "plan", mark="ledger")
