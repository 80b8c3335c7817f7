"""The server: one socket on 127.0.0.1, one address to open, nothing in any log."""

import logging
import os
import socket
import warnings
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from sfumato.errors import RequestError
from sfumato.studio.app import build_app
from sfumato.studio.jobs import list_jobs
from sfumato.studio.security import Keys
from sfumato.studio.state import NAME, open_state, write_private
from sfumato.studio.studio import Studio
from sfumato.trusted.ledger import default_path
from sfumato.trusted.server_address import is_server

HOST = "127.0.0.1"


def serve(
    folder: Path,
    *,
    state: Path | None = None,
    ledger: str | None = None,
    port: int = 0,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the studio of a folder until somebody stops it.

    folder    tables are chosen below it
    state     where drafts, jobs and results are kept; by default `.sfumato-studio` in the folder
    ledger    the address of the ledger; by default the user's
    port      by default one that is free
    browser   whether to open the page in the user's browser
    say       prints a line for the user

    Edge cases
        No such folder, a state that cannot be kept, a port that is taken: an error of `sfumato.errors`.
    """
    if not folder.is_dir():
        raise RequestError(f"{folder} is no folder; name the one that holds the tables")
    os.umask(0o077)
    folder = folder.resolve()
    kept = open_state(state.resolve() if state else folder / NAME)
    with _listen(port) as listening:
        keys = Keys(_host(listening.getsockname()[1]))
        studio = Studio(folder, kept, _whole_address(ledger or str(default_path())), keys)
        place = studio.open_ledger().place  # what is wrong with it is said before anybody opens the address
        running = sum(job.runs for job in list_jobs(kept))
        say(f"The studio of {folder} is open to this machine alone, at an address that works once:\n")
        say(f"  {keys.address}\n")
        say(f"Drafts, jobs and results are kept in {kept}; the ledger is {place}.")
        if running:
            say(f"Still running from before: {running} job{'s' * (running != 1)}.")
        say("Ctrl-C stops the studio. A release that is running goes on, and is found again.")
        if browser:
            _open_browser(kept, keys.address)
        _be_quiet()
        config = uvicorn.Config(
            build_app(studio),
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            proxy_headers=False,
        )
        with suppress(KeyboardInterrupt):  # the usual end of a server
            uvicorn.Server(config).run(sockets=[listening])
    say("The studio is closed.")


def _host(port: int) -> str:
    """As browsers write it."""
    return HOST if port == 80 else f"{HOST}:{port}"


def _be_quiet() -> None:
    """What libraries warn of or log may quote a table or a request: nobody hears it, here as in a job."""
    warnings.simplefilter("ignore")
    logging.disable()


def _whole_address(ledger: str) -> str:
    """The address of a ledger that jobs find from anywhere."""
    return ledger if is_server(ledger) else str(Path(ledger).resolve())


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # before the address is told, so that nobody comes too early
    except (OSError, OverflowError):
        listening.close()
        raise RequestError(f"port {port} is taken or not allowed; leave --port out, or name another") from None
    return listening


def _open_browser(state: Path, address: str) -> None:
    """By a private file that leads there: what a program is called with, others on the machine can read."""
    page = state / "open.html"
    write_private(
        page, f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Open</a>'
    )
    webbrowser.open(page.as_uri())
