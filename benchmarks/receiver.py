"""What a receiver waits for: import, opening a bundle, a sample. `python -m benchmarks.receiver`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import sfumato
from sfumato.demo import SCHEMA, TABLE

PARTS = {
    "import numpy, pyarrow": "import numpy, pyarrow",
    "import sfumato and its open()": "import sfumato; sfumato.open",
    "the same, and open a bundle": "import sfumato, sys; sfumato.open(sys.argv[1])",
    "the same, and draw 100,000 rows": "import sfumato, sys; sfumato.open(sys.argv[1]).sample(100_000)",
}
CLOCK = "import time; begin = time.perf_counter()\n{}\nprint(time.perf_counter() - begin)"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "clinic.sfumato")
        sfumato.release(TABLE, SCHEMA, epsilon=1.0, ledger=None, types="declared").save(path)
        for name, code in PARTS.items():
            runs = [
                float(
                    subprocess.run(
                        [sys.executable, "-c", CLOCK.format(code), path], capture_output=True, check=True
                    ).stdout
                )
                for _ in range(5)
            ]
            print(f"{name:34s} {min(runs):.3f} s")


if __name__ == "__main__":
    main()
