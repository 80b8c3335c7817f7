"""The process of one job: `python -m sfumato.studio.job FOLDER LOCK`. Nothing that it meets is printed or logged."""

import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from sfumato.errors import BudgetExceededError, ReleaseWarning, SfumatoError
from sfumato.studio.state import read_json, write_json
from sfumato.trusted.redaction import public_name

_TERMINATED = 143
_PAUSE = 0.2  # seconds between two writings of the state


class Progress:
    """Writes down how far the job is; called with a few words when a stage begins."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "state.json"
        self._begun = time.monotonic()
        self._written = 0.0
        self._stages: list[tuple[float, str]] = []

    def __call__(self, words: str) -> None:
        """A stage begins."""
        now = time.monotonic()
        self._stages.append((round(now - self._begun, 1), words))
        if now - self._written >= _PAUSE:
            self._written = now
            self._write("running")

    def end(self, status: str, message: str = "", result: Any = None, heard: tuple[str, ...] = ()) -> None:
        """The last word."""
        self._stages.append((round(time.monotonic() - self._begun, 1), status))
        self._write(status, message=message, result=result, warnings=heard)

    def _write(self, status: str, **more: Any) -> None:
        write_json(self._file, {"status": status, "pid": os.getpid(), "stages": self._stages, **more})


def run_job(folder: Path) -> None:
    """Do what the folder's `job.json` asks, and write down what became of it, in words that quote no row."""
    asked, progress = read_json(folder / "job.json"), Progress(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ReleaseWarning)
        try:
            progress("starting")  # from here on a signal is told as one
            from sfumato.studio.job_kinds import KINDS

            result = KINDS[asked["kind"]](folder, asked["ask"], progress)
        except BudgetExceededError as error:
            progress.end("refused", _with_notes(str(error), error))
        except SfumatoError as error:
            progress.end("failed", _with_notes(str(error), error))
        except (KeyboardInterrupt, SystemExit) as stop:
            progress.end("stopped", _with_notes("terminated by a signal.", stop))
        except BaseException as error:  # noqa: BLE001 - its text could quote a row, so that its kind alone is told
            kind = public_name(type(error))
            progress.end(
                "failed",
                f"something unexpected happened ({kind}). Details are withheld because they could quote a row. If a "
                "release was asked for, the ledger says whether its budget counts as spent.",
            )
        else:
            progress.end("done", result=result, heard=tuple(str(one.message) for one in caught))


def _with_notes(message: str, error: BaseException) -> str:
    return "\n".join([message, *getattr(error, "__notes__", ())])


def main() -> None:
    """The entry point of the process."""
    folder, lock = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(lock, False)  # so that it is free when this process ends, whatever it has started
    os.umask(0o077)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    run_job(folder)


if __name__ == "__main__":
    main()
