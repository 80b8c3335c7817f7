"""One bundle, three architectures, and a ledger that does not move: `python -m experiments.slicing.architectures`.

The table Coverage is released once by `slices` at epsilon 5.1. From the bundle alone the generators that the library
brings and one of our own, a linear map without any hidden layer, are trained, each from two starts. Figures are as in
the census table. Written beside the script: `architectures.json`.
"""

import hashlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import sfumato
from experiments.cells import table as plain_table
from experiments.slicing.methods import DELTA, EPSILON, Case, judged
from experiments.slicing.metrics import METRICS
from experiments.slicing.tasks import coded_rows, rows_of, task
from experiments.tables import split
from sfumato.artefact.release import Release
from sfumato.fitting.generators import LATENT

HERE = Path(__file__).parent
TASK, EPOCHS, STARTS = "Coverage", 1_000, (0, 1)


class Linear(torch.nn.Linear):  # type: ignore[misc]
    """No hidden layer: what anybody could bring."""

    def sample(self, z: Any) -> Any:
        return self(z)


NAMES: dict[str, Any] = {
    "mlp": "mlp",
    "residual": "residual",
    "linear, our own": lambda layout: Linear(LATENT + layout.classes, layout.width),
}


def main() -> None:
    one = task(TASK)
    train = split(one, 0)[0]
    with tempfile.TemporaryDirectory() as folder:
        ledger, bundle = Path(folder) / "ledger.sqlite", Path(folder) / "coverage.sfumato"
        made = sfumato.release(
            train,
            one.schema,
            epsilon=EPSILON,
            delta=DELTA,
            mechanism="slices",
            adjacency="replace",
            ledger=ledger,
            types="declared",
        )
        made.save(bundle)
        before = hashlib.sha256(ledger.read_bytes()).hexdigest()
        found = {f"{name}, start {start}": _trained(bundle, name, start) for name in NAMES for start in STARTS}
        same = hashlib.sha256(ledger.read_bytes()).hexdigest() == before
    rows = [
        [name, *(f"{one[metric]:.3f}" for metric in METRICS), f"{one['seconds']:.0f}"] for name, one in found.items()
    ]
    print(plain_table(["", *METRICS, "seconds"], rows))
    print(f"\nthe ledger is as it was: {same}")
    (HERE / "architectures.json").write_text(json.dumps({"ledger unchanged": same, "runs": found}, indent=1) + "\n")


def _trained(bundle: Path, name: str, start: int) -> dict[str, float]:
    begin, received = time.perf_counter(), sfumato.open(bundle)
    assert isinstance(received, Release)  # a single table was released
    torch.manual_seed(start)
    trained = received.retrain(NAMES[name], EPOCHS, start)
    seconds = time.perf_counter() - begin
    rows = rows_of(TASK)
    drawn = coded_rows(trained.sample(seed=start, output="arrow"), received.schema)
    return {**judged(Case(TASK, rows), rows.split(0).filled(), drawn), "seconds": seconds}


if __name__ == "__main__":
    main()
