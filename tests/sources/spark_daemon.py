"""Spark's own Python daemon, with a statistic that can go wrong: for `spark.python.daemon.module` alone.

`test_house_rules` reads the list of statistics, so this one is never imported by a test.
"""

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.statistics.statistic import Block, register

TOKEN = "zx81canary"
WAIT = 30


@dataclass(frozen=True)
class Troubled:
    """Counts of ages. Who finds no file `marker` makes it, and has the trouble."""

    trouble: str
    marker: str
    length: int = 100

    title, columns = "ages", ("age",)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block(self.length, 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        raise NotImplementedError

    def __call__(self, batch: Batch) -> np.ndarray:
        if self.trouble == "error":
            raise RuntimeError(f"could not convert {TOKEN!r}")
        if self.trouble != "none" and self._is_first():
            getattr(self, f"_{self.trouble}")()
        return np.bincount(batch.codes["age"], minlength=self.length)

    def _is_first(self) -> bool:
        try:
            with Path(self.marker).open("x") as file:
                file.write(f"{os.getpid()} {_executor()}")
        except FileExistsError:
            return False
        return True

    def _death(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _wait(self) -> None:
        time.sleep(WAIT)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "troubled", **asdict(self)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Troubled":
        return cls(content["trouble"], content["marker"], content["length"])


def _executor() -> int:
    """The Java process that the daemon, which is our parent, belongs to."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


register("troubled", Troubled.from_dict)

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()
