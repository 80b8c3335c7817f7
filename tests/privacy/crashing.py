"""Several writers, killed again and again in the middle of a release: what the ledger says afterwards.

python -m tests.privacy.crashing [trials]
"""

import multiprocessing as mp
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sfumato.errors import BudgetExceededError, LedgerError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.ledger import Ledger

LIMIT = Budget(1.0, 1e-6)
WRITERS = 4

Writer = Callable[[Ledger, Path, int], None]
Place = Callable[[Path], str | Path]
"""From an empty folder to the address of an empty ledger."""


def in_a_file(folder: Path) -> Path:
    """A ledger in the folder."""
    return folder / "ledger.sqlite"


def honest(ledger: Ledger, seen: Path, units: int) -> None:
    """Reserve, then let the release be seen, then commit: as the custodian does."""
    reservation = ledger.reserve("clinic", Adjacency.ADD_REMOVE, units, {})
    show(seen, units)
    ledger.commit(reservation, "statement")


def show(seen: Path, units: int) -> None:
    """Let the world see a release of this cost: one line in a file that everybody appends to."""
    with seen.open("ab", buffering=0) as file:
        file.write(f"{units}\n".encode())


@dataclass
class Outcome:
    """What happened in some trials."""

    trials: int = 0
    kills: int = 0
    releases: int = 0
    trials_at_the_limit: int = 0
    overspent: int = 0
    unrecorded: int = 0
    corrupt: int = 0

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def work(write: Writer, address: str | Path, seen: Path, most: int) -> None:
    """A writer: releases of random cost until the limit refuses again and again."""
    rng, ledger = random.Random(os.getpid()), Ledger(address)
    while True:
        try:
            write(ledger, seen, rng.randint(most // 10, most))
        except BudgetExceededError:
            if rng.random() < 0.05:
                return


def trial(
    write: Writer = honest,
    seconds: float = 1.5,
    place: Place = in_a_file,
    pause: tuple[float, float] = (0.01, 0.05),
    most: int = LIMIT.units // 40,
) -> Outcome:
    """Four writers on one ledger; one of them is killed after every short pause and started anew.

    A release costs `most` units at most.
    """
    context = mp.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        address, seen = place(Path(folder)), Path(folder) / "seen"
        Ledger(address).set_limit("clinic", LIMIT)

        def start() -> mp.process.BaseProcess:
            process = context.Process(target=work, args=(write, address, seen, most))
            process.start()
            return process

        writers, end, kills = [start() for _ in range(WRITERS)], time.monotonic() + seconds, 0
        while time.monotonic() < end:
            time.sleep(random.uniform(*pause))
            one = random.randrange(WRITERS)
            kills += kill(writers[one])
            writers[one] = start()
        for writer in writers:
            kill(writer)
        return judge(address, seen, kills, most)


def kill(process: mp.process.BaseProcess) -> int:
    """End a writer that this trial started, at once."""
    alive = process.is_alive()
    if alive and process.pid is not None:
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return int(alive)


def judge(address: str | Path, seen: Path, kills: int, most: int) -> Outcome:
    """What the ledger says against what was seen; an entry of our own waits for what a server still has to finish."""
    shown = [int(line) for line in seen.read_text().split()] if seen.exists() else []
    try:
        Ledger(address).set_limit("another", LIMIT)
        (account,) = Ledger(address).accounts("clinic")
    except LedgerError:
        return Outcome(1, kills, len(shown), 0, 0, 0, 1)
    full = account.spent > LIMIT.units - most
    return Outcome(1, kills, len(shown), full, account.spent > LIMIT.units, sum(shown) > account.spent, 0)


def trials(count: int, write: Writer = honest, **more: Any) -> Outcome:
    """Several trials, added up."""
    return sum((trial(write, **more) for _ in range(count)), Outcome())


def trials_until(kills: int, releases: int, write: Writer = honest, **more: Any) -> Outcome:
    """As many trials as it takes, on a machine that may be busy; an end to them where something is wrong."""
    outcome = Outcome()
    while (outcome.kills < kills or outcome.releases < releases) and outcome.trials < kills:
        outcome += trial(write, **more)
    return outcome


if __name__ == "__main__":
    print(trials(int(sys.argv[1]) if len(sys.argv) > 1 else 25))
