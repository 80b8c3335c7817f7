"""Jobs: what takes time or reads rows, each in a process of its own with its state in files.

A job is a folder. Its name is the ticket of the form that asked for it, so that a form that is sent twice is one job.
`job.json` says what is asked, `state.json` how far it is. The process holds `lock` from before it begins until it ends,
however it ends: a server that is started later can tell what still runs.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import RequestError
from sfumato.studio.state import hold_lock, is_id, is_locked, read_json, write_json

ENDED = ("done", "refused", "failed", "stopped")
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Job:
    """One job as its files tell it.

    kind     check, release, verify, sample, evaluate, audit or report
    table    the chosen table it is of
    ask      what was asked
    status   running; done, refused (by the ledger), failed, stopped (by a signal), or lost: its process ended without a
             word
    stages   what it said that it is doing, with the seconds since it began
    result   what a job that is done found, as plain content
    pid      of its process, while it runs
    """

    folder: Path
    kind: str
    table: str
    ask: Mapping[str, Any]
    made: float
    status: str
    stages: tuple[tuple[float, str], ...] = ()
    message: str = ""
    warnings: tuple[str, ...] = ()
    result: Mapping[str, Any] | None = None
    pid: int | None = None

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def runs(self) -> bool:
        """Whether its process has not ended."""
        return self.status == "running"


def start_job(
    state: Path,
    ticket: str,
    kind: str,
    table: str,
    ask: Mapping[str, Any],
    check: Callable[[], None] = lambda: None,
) -> str:
    """Start a job, unless this ticket has started it already; its name.

    check   raises where it must not begin; no other job begins meanwhile
    """
    if not is_id(ticket):
        raise RequestError("the form is not one of this studio; open the page again")
    folder = state / "jobs" / ticket
    with hold_lock(state / "start.lock"):
        if folder.exists():
            return ticket
        check()
        folder.mkdir(mode=0o700)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            write_json(folder / "job.json", {"kind": kind, "table": table, "made": time.time(), "ask": dict(ask)})
            _spawn(folder, lock)
        finally:
            os.close(lock)  # the process has it now
    return ticket


def _spawn(folder: Path, lock: int) -> None:
    """A process in a session of its own, which no signal to the server reaches; its streams lead nowhere."""
    _children[:] = [child for child in _children if child.poll() is None]
    command = [sys.executable, "-P", "-m", "sfumato.studio.job", str(folder), str(lock)]
    nowhere = subprocess.DEVNULL
    root = Path(__file__).parents[2]
    found_at = (
        [] if root.name in ("site-packages", "dist-packages") else [str(root)]
    )  # a checkout that is not installed
    found_at += filter(None, [os.environ.get("PYTHONPATH")])
    child = subprocess.Popen(  # noqa: S603 - our own module
        command,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        pass_fds=[lock],
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(found_at)},
    )
    _children.append(child)


def read_job(state: Path, name: str) -> Job | None:
    """A job by its name; None where there is none."""
    folder = state / "jobs" / name
    asked = read_json(folder / "job.json") if is_id(name) else None
    if asked is None:
        return None
    runs = is_locked(folder / "lock")  # looked at first: it ends after its last word
    said = read_json(folder / "state.json") or {}
    status = said.get("status", "running")
    if status not in ENDED:
        status = "running" if runs else "lost"
    return Job(
        folder,
        asked["kind"],
        asked["table"],
        asked["ask"],
        asked["made"],
        status,
        tuple((seconds, words) for seconds, words in said.get("stages", ())),
        said.get("message", ""),
        tuple(said.get("warnings", ())),
        said.get("result"),
        said.get("pid") if status == "running" else None,
    )


def list_jobs(state: Path, table: str | None = None, kind: str | None = None) -> list[Job]:
    """The jobs of a table, or of all; the latest first."""
    names = [path.name for path in (state / "jobs").iterdir()]
    found = [job for name in names if (job := read_job(state, name)) is not None]
    wanted = [job for job in found if table in (None, job.table) and kind in (None, job.kind)]
    return sorted(wanted, key=lambda job: -job.made)


def forget_job(job: Job) -> None:
    """Remove all files of a job that has ended."""
    if job.runs:
        raise RequestError("the job still runs; wait until it has ended")
    shutil.rmtree(job.folder)  # with what a job that was killed has left there
