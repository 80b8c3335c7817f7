"""How long a durable spend takes, and what many killed writers leave behind: `python -m benchmarks.ledger [trials]`."""

import sys
import tempfile
import time
from pathlib import Path

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.ledger import Ledger
from tests.privacy.crashing import trials


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.sqlite")
        begin = time.perf_counter()
        for _ in range(200):
            ledger.reserve("clinic", Adjacency.ADD_REMOVE, 1, {})
        print(f"{(time.perf_counter() - begin) / 200 * 1e3:.1f} ms a durable spend, over the first 200 entries")
    print(trials(int(sys.argv[1]) if len(sys.argv) > 1 else 25))


if __name__ == "__main__":
    main()
