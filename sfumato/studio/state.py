"""Files that nobody else on the machine can read: where drafts, jobs and results of the studio are kept."""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import OutputError

NAME = ".sfumato-studio"
_ID = frozenset("0123456789abcdef")


def open_state(folder: Path) -> Path:
    """The folder of the state, made if it is not there, for its owner alone.

    Edge cases
        A link, a file, a folder of somebody else, no room to make it: `OutputError`.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise OutputError(f"{folder} cannot be made ({error.strerror}); name another folder with --state") from None
    if folder.is_symlink() or found.st_uid != os.getuid():
        raise OutputError(f"{folder} is a link, or belongs to somebody else; name another folder with --state")
    folder.chmod(0o700)
    for inner in ("tables", "jobs"):
        (folder / inner).mkdir(mode=0o700, exist_ok=True)
    return folder


def make_id() -> str:
    """A name for a folder that nobody can guess."""
    return secrets.token_hex(8)


def is_id(text: str) -> bool:
    """Whether an address names a folder of the state, and nothing else on the disk."""
    return len(text) == 16 and set(text) <= _ID


def write_private(path: Path, content: bytes | str) -> None:
    """Write a file as a whole, for its owner alone; what was there is replaced."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Plain content as a private file."""
    write_private(path, json.dumps(content))


def read_json(path: Path) -> Any:
    """Plain content; None where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """One at a time, among the threads and processes of this machine."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock; the system lets go of it when that process ends, however it ends."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
