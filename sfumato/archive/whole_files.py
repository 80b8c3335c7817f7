"""Files that appear whole or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import OutputError


@contextmanager
def whole_file(path: str | Path, room: int = 0) -> Iterator[BinaryIO]:
    """A new file to write to. It gets its name when the block ends well; otherwise nothing is left behind.

    `room` bytes are claimed on the disk at once, so that a full disk shows before anything is spent.

    Edge cases
        The file exists, its folder does not, the disk is full: `OutputError`. An existing file is never overwritten,
        not even one that appears while this one is written.
    """
    path = Path(path)
    refuse_existing(path)
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}; make it, or choose another")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with draft.open("xb") as file:
            if room and hasattr(os, "posix_fallocate"):  # macOS has no such call
                os.posix_fallocate(file.fileno(), 0, room)
            yield file
            file.truncate(file.tell())
            file.flush()
            os.fsync(file.fileno())
        _name(draft, path)
    except OSError as error:
        failure = OutputError(f"{path} cannot be written ({error.strerror}); free some space or choose another place")
        for note in getattr(error, "__notes__", ()):  # of what was spent already
            failure.add_note(note)
        raise failure from None
    finally:
        draft.unlink(missing_ok=True)


def refuse_existing(path: Path) -> None:
    """Raise `OutputError` where something is there already."""
    if path.exists():
        raise OutputError(f"{path} is there already; choose another name, nothing is overwritten")


def _name(draft: Path, path: Path) -> None:
    """Give the draft its name, unless somebody took it meanwhile."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        refuse_existing(path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        refuse_existing(path)
        draft.rename(path)  # a file system without links
