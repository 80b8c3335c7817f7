"""Which requests are heard: those of the one browser that was let in, sent by our own pages.

docs/studio.md has the threat model. In short: the server listens on 127.0.0.1 alone; a name that somebody points there
is not ours (Host); a page from elsewhere cannot ask on the user's behalf (Origin, Sec-Fetch-Site, SameSite); another
user of the machine has neither the cookie nor the address it belongs to.
"""

import secrets
import threading
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "sfumato_studio"
OPEN = ("/enter", "/favicon.ico")
"""Paths that are heard without a session: where the token is exchanged, and what browsers ask for beside it."""
MOST_BYTES = 32 << 20  # of one request: code books and lists of values
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": CSP,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass
class Keys:
    """What lets the one browser in.

    host     as the browser must name the server: 127.0.0.1 and the port
    place    the first part of every page's path. Cookies know no ports, so a server of somebody else at 127.0.0.1 could
             ask a browser for ours; it is bound to this path, which nobody else knows
    token    opens the studio once; `session` is then the cookie's value
    """

    host: str
    place: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def origin(self) -> str:
        """As browsers write it."""
        return f"http://{self.host}"

    @property
    def address(self) -> str:
        """What opens the studio, once."""
        return f"{self.origin}/enter?token={self.token}"

    def exchange(self, token: str) -> str | None:
        """The session for the token; None for a wrong or used one."""
        with self._lock:
            if self.token is None or not secrets.compare_digest(token.encode(), self.token.encode()):
                return None
            self.token, self.session = None, secrets.token_urlsafe(32)
            return self.session

    def knows(self, session: str) -> bool:
        """Whether it is the session that the token was exchanged for."""
        return self.session is not None and secrets.compare_digest(session.encode(), self.session.encode())


class Guard:
    """Stands before every page: refuses strange requests, adds headers, and lets no error out in words of its own."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = _with_headers(message.get("headers", ()))
            await send(message)

        if (refused := refuse(scope, self._keys)) is not None:
            await _say(send_guarded, *refused)
            return
        try:
            await self._app(scope, receive, send_guarded)
        except Exception:  # noqa: BLE001 - its text may reach neither page nor log
            if not begun:
                await _say(send_guarded, 500, "Something went wrong in the studio; this request released nothing.")


def refuse(scope: Scope, keys: Keys) -> tuple[int, str] | None:
    """Why a request is not heard; None for one that is."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    names = [name.lower() for name, _ in scope["headers"]]
    if names.count(b"host") != 1 or headers["host"] != keys.host:
        return 421, f"This is not the name of the studio. Its pages are at {keys.origin}."
    entering = scope["path"] in OPEN
    if scope["method"] not in ("GET", "POST"):
        return 405, "This method is not used here."
    origins = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"origin"]
    if origins != [keys.origin] and (origins or scope["method"] == "POST"):
        return 403, "The request comes from a page that is not the studio's."
    if not entering and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "The request comes from a page that is not the studio's."
    if not headers.get("content-length", "0").isdigit() or "transfer-encoding" in headers:
        return 411, "The length of the request is not given."
    if int(headers.get("content-length", "0")) > MOST_BYTES:
        return 413, f"This is more than {MOST_BYTES >> 20} MiB, the most that is taken at once."
    if not entering and not any(map(keys.knows, _sessions_in(headers.get("cookie", "")))):
        return 403, "The studio is closed here. Open the address that the terminal shows; it works once."
    return None


def _sessions_in(cookies: str) -> list[str]:
    """Every value of our cookie. Other servers on 127.0.0.1 may have set cookies that go with it, of any form."""
    named = (part.strip().partition("=") for part in cookies.split(";"))
    return [value for name, _, value in named if name == COOKIE]


def _with_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Ours, unless the page has its own; a page may only say more of what it may load."""
    own: MutableMapping[bytes, Any] = {name.lower(): value for name, value in headers}
    added = [(name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in own]
    return [*headers, *added]


async def _say(send: Send, status: int, words: str) -> None:
    body = f"{words}\n".encode()
    kind = (b"content-type", b"text/plain; charset=utf-8")
    await send({"type": "http.response.start", "status": status, "headers": [kind]})
    await send({"type": "http.response.body", "body": body})
