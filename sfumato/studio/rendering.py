"""From a request to a page: what was asked, templates, redirects, files to download."""

import base64
import datetime as dt
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from sfumato._version import __version__
from sfumato.errors import RequestError
from sfumato.studio.jobs import Job, read_job
from sfumato.studio.studio import Studio
from sfumato.studio.tables import Table, read_table

_MOST_FIELDS = 50_000
STEPS = (
    ("choose", "Choose"),
    ("describe", "Describe"),
    ("check", "Check"),
    ("plan", "Plan"),
    ("release", "Release"),
    ("look", "Look"),
)


@dataclass(frozen=True)
class Ask:
    """One request: the studio, what stands in the path and behind it, and the form that was sent."""

    studio: Studio
    parts: Mapping[str, str]
    query: Mapping[str, str]
    form: FormData

    def said(self, name: str) -> str:
        """A field of the form, as text."""
        value = self.form.get(name, "")
        return value if isinstance(value, str) else ""

    @property
    def answers(self) -> dict[str, str]:
        """All fields that are text."""
        return {name: value for name, value in self.form.items() if isinstance(value, str)}

    def upload(self, name: str) -> tuple[str, bytes] | None:
        """The name and the content of an uploaded file; None where none was chosen."""
        value = self.form.get(name)
        if not isinstance(value, UploadFile) or not value.filename:
            return None
        return Path(value.filename.replace("\\", "/")).name, value.file.read()

    @property
    def table(self) -> Table:
        """The table that the path names."""
        found = read_table(self.studio.state, self.parts["table"])
        if found is None:
            raise HTTPException(404)
        return found

    @property
    def job(self) -> Job:
        """The job that the path names, of the table that it names."""
        found = read_job(self.studio.state, self.parts["job"])
        if found is None or found.table != self.parts["table"]:
            raise HTTPException(404)
        return found


Page = Callable[[Ask], Response]


def answer(page: Page) -> Callable[[Request], Awaitable[Response]]:
    """A page as an endpoint; it runs in a thread, so that others are answered meanwhile."""

    async def endpoint(request: Request) -> Response:
        studio, query = request.app.state.studio, dict(request.query_params)
        if request.method != "POST":
            return await run_in_threadpool(page, Ask(studio, request.path_params, query, FormData()))
        async with request.form(max_fields=_MOST_FIELDS, max_part_size=1 << 25) as form:
            return await run_in_threadpool(page, Ask(studio, request.path_params, query, form))

    return endpoint


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=PackageLoader("sfumato.studio"),
    )
    environment.globals["day"] = _day
    environment.filters["sentence"] = _begin_sentence
    return environment


def _begin_sentence(words: str) -> str:
    """A message with a capital letter, unless it begins with a name of something."""
    first = words.partition(" ")[0]
    return words[:1].upper() + words[1:] if first.isalpha() else words


def _day(seconds: float) -> str:
    """A time as people write it, on this machine's clock."""
    return f"{dt.datetime.fromtimestamp(seconds).astimezone():%-d %B %Y, %H:%M}"


def render(
    ask: Ask, template: str, *, step: str = "", status: int = 200, table: Table | None = None, **more: Any
) -> Response:
    """A page of ours."""
    studio = ask.studio
    text = (
        _environment()
        .get_template(template)
        .render(
            path=studio.path,
            studio=studio,
            steps=STEPS,
            step=step,
            table=table,
            release_of_library=__version__,
            **more,
        )
    )
    return HTMLResponse(text.encode(errors="replace"), status)  # half of a character may stand in anybody's words


def go(ask: Ask, *parts: str, mark: str = "") -> Response:
    """Go on to a page, so that a reload asks nothing again."""
    return RedirectResponse(ask.studio.path(*parts) + (f"#{mark}" if mark else ""), 303)


def say_error(ask: Ask, message: str, status: int = 400, table: Table | None = None, step: str = "") -> Response:
    """A page that says what is wrong."""
    return render(ask, "error.html", status=status, table=table, step=step, message=message)


def send_file(path: Path, name: str, kind: str) -> Response:
    """A file to download."""
    if not path.is_file():
        raise HTTPException(404)
    return FileResponse(path, media_type=kind, filename=re.sub(r"[^A-Za-z0-9._-]+", "_", name))


_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_ATTRIBUTE = re.compile(r'\sstyle="([^"]*)"')


def show_report(path: Path) -> Response:
    """A page that the library wrote, as it is: no scripts, and no styles but its own, each named by its hash."""
    if not path.is_file():
        raise HTTPException(404)
    text = path.read_text(encoding="utf-8")
    styles = sorted({*_STYLE.findall(text), *map(unescape, _ATTRIBUTE.findall(text))})
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in styles)
    policy = (
        f"default-src 'none'; style-src 'unsafe-hashes' {hashes}; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; sandbox allow-popups"
    )
    return HTMLResponse(text, headers={"content-security-policy": policy})


def need(condition: object, message: str) -> None:
    """Refuse a form that lacks something."""
    if not condition:
        raise RequestError(message)
