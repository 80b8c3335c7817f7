"""The addresses of all pages."""

from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sfumato.errors import SfumatoError
from sfumato.studio.rendering import Ask, Page, answer, say_error
from sfumato.studio.security import COOKIE, Guard
from sfumato.studio.steps import check, choose, describe, job_pages, look, plan, release
from sfumato.studio.studio import Studio

_STATIC = {
    "studio.css": "text/css",
    "print.css": "text/css",
    "studio.js": "text/javascript",
    "live.js": "text/javascript",
    "studio.svg": "image/svg+xml",
}


def build_app(studio: Studio) -> ASGIApp:
    """The whole studio, behind its guard."""
    place = f"/{studio.keys.place}"
    table = f"{place}/t/{{table}}"
    pages: list[tuple[str, str, Page]] = [
        ("GET", f"{place}/", choose.show),
        ("POST", f"{place}/", choose.choose),
        ("GET", f"{place}/static/{{name}}", _static),
        ("GET", f"{table}/describe", describe.show),
        ("POST", f"{table}/describe", describe.save),
        ("POST", f"{table}/describe/live", describe.check_live),
        ("POST", f"{table}/describe/yaml", describe.save_yaml),
        ("POST", f"{table}/describe/book", describe.read_book),
        ("POST", f"{table}/describe/list", describe.add_list),
        ("GET", f"{table}/schema.yaml", describe.download),
        ("GET", f"{table}/check", check.show),
        ("POST", f"{table}/check", check.start),
        ("GET", f"{table}/plan", plan.show),
        ("POST", f"{table}/plan", plan.save),
        ("POST", f"{table}/plan/limit", plan.set_limit),
        ("GET", f"{table}/release", release.show),
        ("POST", f"{table}/release", release.start),
        ("GET", f"{table}/look", look.show),
        ("GET", f"{table}/look/{{job}}", look.show_release),
        ("POST", f"{table}/look/{{job}}/{{kind}}", look.ask_for),
        ("GET", f"{table}/files/{{job}}/{{what}}", look.send),
        ("GET", f"{table}/jobs/{{job}}", job_pages.show),
        ("GET", f"{table}/jobs/{{job}}/state", job_pages.tell),
        ("POST", f"{table}/jobs/{{job}}/stop", job_pages.stop),
        ("POST", f"{table}/jobs/{{job}}/forget", job_pages.forget),
    ]
    routes = [Route(path, answer(page), methods=[method]) for method, path, page in pages]
    routes += [Route("/enter", _enter, methods=["GET"]), Route("/favicon.ico", _no_picture, methods=["GET"])]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_found, SfumatoError: _not_possible})
    app.state.studio = studio
    return Guard(app, studio.keys)


async def _enter(request: Request) -> Response:
    """Exchange the token for a session.

    The first page of ours leads on to the next, so that the cookie, which is sent with requests of our own pages alone,
    goes with it even where the address was clicked elsewhere.
    """
    studio: Studio = request.app.state.studio
    session = studio.keys.exchange(request.query_params.get("token", ""))
    if session is None:
        words = (
            "This address is not valid, or was used already. If the studio is open in another tab, go there. Else stop "
            "it in the terminal and start it again; nothing is lost.\n"
        )
        return PlainTextResponse(words, 403)
    home = studio.path("")
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sfumato Studio</title>'
        f'<meta http-equiv="refresh" content="0; url={home}"></head><body><p><a href="{home}">Open the studio</a></p>'
        "</body></html>"
    )
    response = HTMLResponse(page)
    response.set_cookie(COOKIE, session, path=home, httponly=True, samesite="strict")
    return response


async def _no_picture(_: Request) -> Response:
    return Response(status_code=204)


def _static(ask: Ask) -> Response:
    name = ask.parts["name"]
    if name not in _STATIC:
        raise HTTPException(404)
    text = files("sfumato.studio").joinpath("static").joinpath(name).read_text(encoding="utf-8")
    return Response(text, media_type=_STATIC[name])


def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = "The form that was sent cannot be read." if status == 400 else "There is no such page in this studio."
    return say_error(_ask(request), words, status)


def _not_possible(request: Request, error: Exception) -> Response:
    return say_error(_ask(request), str(error), 400)


def _ask(request: Request) -> Ask:
    from starlette.datastructures import FormData

    return Ask(request.app.state.studio, {}, {}, FormData())
