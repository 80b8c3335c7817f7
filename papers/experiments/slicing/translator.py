"""What `release.translate` is worth: `python -m experiments.slicing.translator [--quick]`.

MNIST, with labels, is public; USPS, without, is private. USPS is released once, as any table of numbers that are one
image; MNIST is translated by the bundle alone, and a small network learns from the translated images and their labels.
Figures are its accuracy on the test images of USPS, of three seeds. Written beside the script, after every run:
`translator.json`; runs that are in it are not run again. `--quick` takes few images and steps and writes nothing.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato
from experiments.cells import table as plain_table
from experiments.slicing.images import SIDE, Digits, digits
from experiments.slicing.slices_of_images import DELTA, GREYS
from sfumato.artefact.release import Release

RESULTS = Path(__file__).with_suffix(".json")
SOURCE_ONLY = "not translated"
RUNS = (("slices", 1.0), (SOURCE_ONLY, None), ("tables", 1.0), ("slices", 5.0), ("slices", 0.2))
SEEDS, STEPS, CLASSIFIER_STEPS, BATCH, RATE, CLASSES = 3, 300, 1_000, 256, 2e-3, 10
QUICK_IMAGES, QUICK_STEPS = 1_000, 20
LABEL = "digit"
SCHEMA = {
    "sfumato": 1,
    "name": "letters",
    "columns": [
        {
            "name": f"p_{{0..{SIDE * SIDE - 1}}}",
            "type": "integer",
            "bounds": [0, GREYS - 1],
            "image": [SIDE, SIDE],
        }
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few images and steps; writes nothing")
    parser.add_argument("--only", nargs="*", help="some runs by name, such as 'slices, epsilon 1, seed 0'")
    asked = parser.parse_args()
    found = {} if asked.quick else kept()
    wanted = [(method, epsilon, seed) for method, epsilon in RUNS for seed in range(1 if asked.quick else SEEDS)]
    for run in wanted:
        key = key_of(*run)
        if key in found or key not in (asked.only or [key]):
            continue
        one = measured(*run, asked.quick)
        print(f"{key}: {one}", flush=True)
        found = (kept() if not asked.quick else found) | {key: one}
        if not asked.quick:
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(plain_table(["", *HEAD], lines(found)))


def kept() -> dict[str, dict[str, float]]:
    """The runs so far; others may have added some."""
    found: dict[str, dict[str, float]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def key_of(method: str, epsilon: float | None, seed: int) -> str:
    return f"{method}{'' if epsilon is None else f', epsilon {epsilon:g}'}, seed {seed}"


def measured(method: str, epsilon: float | None, seed: int, quick: bool) -> dict[str, float]:
    """Accuracy on the test images; how far slices held back are off, before and after, and the seconds it took."""
    source, target = digits("MNIST"), digits("USPS")
    if quick:
        source, target = (one.first(QUICK_IMAGES) for one in (source, target))
    if epsilon is None:
        return {"accuracy": taught(source.X, source.y, target, seed, quick)}
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "letters.sfumato"
        private = table_of(target.X)
        made = sfumato.release(
            private,
            sfumato.Schema.from_dict(SCHEMA),
            epsilon=epsilon,
            delta=DELTA,
            mechanism=method,
            adjacency="replace",
            ledger=None,
            seed=seed,
            types="declared",
        )
        made.save(bundle)
        received = sfumato.open(bundle)
    assert isinstance(received, Release)  # a single table was released
    told: list[float] = []
    released = time.perf_counter()
    moved = received.translate(
        table_of(source.X).append_column(LABEL, pa.array(source.y)),
        steps=QUICK_STEPS if quick else STEPS,
        seed=seed,
        progress=lambda step: told.extend([] if step.held_back is None else [step.held_back]),
    )
    translated = time.perf_counter()
    rows = np.stack([moved[name].to_numpy() for name in moved.column_names if name != LABEL], axis=1) / (GREYS - 1)
    return {
        "accuracy": taught(rows, moved[LABEL].to_numpy(), target, seed, quick),
        "before": told[0],
        "after": min(told),
        "seconds of the release": released - begin,
        "seconds": translated - released,
    }


def table_of(images: Any) -> pa.Table:
    """Whole grey levels, a column for each pixel."""
    greys = np.rint(np.asarray(images) * (GREYS - 1)).astype(np.int64)
    return pa.table({f"p_{place}": column for place, column in enumerate(greys.T)})


def taught(images: Any, labels: Any, target: Digits, seed: int, quick: bool) -> float:
    """The accuracy on test images of the private set, of a classifier that saw these images."""
    import torch
    from sfumato_papers.baselines.networks import descend, seeded, tensor

    from experiments.slicing.translation import classifier

    rng, steps = np.random.default_rng(seed), QUICK_STEPS if quick else CLASSIFIER_STEPS
    known: Any = np.array(images, dtype=np.float32)
    told = tensor(np.array(labels))
    with seeded(rng):
        network = classifier(CLASSES)
        optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
        slowing = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        for _ in range(steps):
            some = rng.integers(len(told), size=BATCH)
            seen = tensor(known[some]).reshape(-1, 1, SIDE, SIDE)
            descend(optimizer, torch.nn.functional.cross_entropy(network(seen), told[some]))
            slowing.step()
        network.eval()
        with torch.no_grad():
            test: Any = target.test_X
            said = network(tensor(test).reshape(-1, 1, SIDE, SIDE)).argmax(dim=1)
    return float((said.cpu().numpy() == target.test_y).mean())


HEAD = ("accuracy", "slices held back, before", "after")


def lines(found: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """A line for each method and epsilon: mean and standard deviation over seeds."""
    rows = []
    for method, epsilon in RUNS:
        runs = [found[key] for seed in range(SEEDS) if (key := key_of(method, epsilon, seed)) in found]
        cells = [_spread([one["accuracy"] for one in runs], "{:.3f}")]
        cells += [_spread([one[name] for one in runs if name in one], "{:.1f}") for name in ("before", "after")]
        rows.append(
            [key_of(method, epsilon, 0).removesuffix(", seed 0"), *(cells if runs else ["not run"] * len(cells))]
        )
    return rows


def _spread(values: list[float], text: str) -> str:
    if not values:
        return ""
    mean = text.format(statistics.mean(values))
    return f"{mean} ± {text.format(statistics.stdev(values))}" if len(values) > 1 else mean


if __name__ == "__main__":
    main()
