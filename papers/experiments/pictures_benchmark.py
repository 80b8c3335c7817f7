"""Synthetic digits by the protocol of a public benchmark: `python -m experiments.pictures_benchmark`.

MNIST's 60,000 training images are released at delta 1e-5 and 60,000 synthetic ones drawn; a small residual network
learns from these and is tested on the 10,000 real test images. Its labels are those that were drawn, or the
probabilities that the release gives each drawn image. Network and training were chosen on releases of 50,000 training
images, tested on the other 10,000 (`--choosing`); the test images are looked at once. Images are learnt from as they
are, or moved a little at every look. One release for each epsilon.

Some four hours on one core, nearly all for the networks; `--quick` three minutes, and writes nothing. With an
accelerator elsewhere:

    python -m experiments.pictures_benchmark --export FOLDER
    python -m experiments.pictures_network FOLDER --device cuda     # there
    python -m experiments.pictures_benchmark --learnt FOLDER
"""

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from experiments.cells import Cell, Figures, Results, shown, table
from experiments.pictures_network import FOUND, LABELS, REAL, TRAININGS, Training, learn
from experiments.subspace import released
from experiments.subspace_data import Wide, mnist

RESULTS = Path(__file__).with_suffix(".json")
EPSILONS, SEEDS = (0.2, 1.0, 10.0), 1
IMAGES, QUICK_IMAGES, QUICK_EPOCHS = 60_000, 10_000, 3
SIDES = (28, 28)
CASES = [*itertools.product(LABELS, TRAININGS)]
PUBLIC = {0.2: "86.2 %", 1.0: "97.1 %", 10.0: "98.6 %"}  # the benchmark's best without public data
KERNEL = {1.0: "94.0 %"}  # its best kernel embedding


def held_back(data: Wide) -> Wide:
    """The training images alone: 50,000 to be released, and the others to choose by."""
    order = np.random.default_rng(7).permutation(len(data.label))
    kept, held = np.split(order, [50_000])
    return Wide(
        data.name,
        data.numbers[kept],
        data.label[kept],
        data.numbers[held],
        data.label[held],
        data.bounds,
        data.delta,
        data.image,
    )


def draw(data: Wide, epsilon: float, images: int, folder: Path, seed: int) -> Figures:
    """Leave synthetic images, and the real ones to test on, in a folder; what it took, and what the release tells."""
    begin = time.process_time()
    release = released(data, epsilon)
    rows = release.sample(images, seed=seed, output="arrow", probabilities=True)
    pixels = np.column_stack([rows.column(name).to_numpy() for name in data.columns])
    shares = np.column_stack([rows.column(f"p(y={label})").to_numpy() for label in range(data.classes)])
    seconds = time.process_time() - begin
    own = release.predict_proba(data.rows(data.test_numbers)).argmax(axis=1)
    file = {"x": _images(pixels), "y": rows.column("y").to_numpy().astype(np.uint8), "p": shares.astype(np.float16)}
    np.savez_compressed(folder / file_of(epsilon, seed), **file, seed=seed)
    np.savez_compressed(folder / REAL, x=_images(data.test_numbers), y=data.test_label.astype(np.uint8))
    return {"the release itself": float(np.mean(own == data.test_label)), "release and draw, CPU s": seconds}


def _images(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.uint8).reshape(-1, *SIDES)


def file_of(epsilon: float, seed: int) -> str:
    return f"{epsilon:g}_{seed}.npz"


def measure(data: Wide, epsilon: float, images: int, trainings: Mapping[str, Training], seed: int) -> Figures:
    """All of it here."""
    with tempfile.TemporaryDirectory() as name:
        found = draw(data, epsilon, images, Path(name), seed)
        for labels, training in CASES:
            learnt = learn(Path(name), file_of(epsilon, seed), labels, trainings[training], "cpu")
            found[figure_of(labels, training)] = learnt["accuracy"]
    return found


def figure_of(labels: str, training: str) -> str:
    return f"{labels} labels, {training}"


def learnt_elsewhere(folder: Path, epsilon: float, seed: int) -> Figures:
    """What `export` and the network wrote; a training that was stopped has no figure."""
    found = json.loads((folder / "drawn.json").read_text())[file_of(epsilon, seed)]
    networks, stem = json.loads((folder / FOUND).read_text()), Path(file_of(epsilon, seed)).stem
    for labels, training in CASES:
        if (learnt := networks.get(f"{stem}, {labels}, {training}")) is not None:
            found[figure_of(labels, training)] = learnt["accuracy"]
    return dict(found)


def export(data: Wide, folder: Path) -> None:
    """Images of every release, for another machine. What is there is not drawn again."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = folder / "drawn.json"
    found = json.loads(notes.read_text()) if notes.exists() else {}
    for seed in range(SEEDS):
        for epsilon in EPSILONS:
            name = file_of(epsilon, seed)
            if name not in found:
                found[name] = draw(data, epsilon, IMAGES, folder, seed)
                notes.write_text(json.dumps(found, indent=1) + "\n")
                print(name, found[name], flush=True)


def cells(data: Wide, part: str, asked: argparse.Namespace) -> Iterator[Cell]:
    for epsilon in (1.0,) if asked.quick else EPSILONS:
        short = {name: replace(how, epochs=QUICK_EPOCHS) for name, how in TRAININGS.items()}
        size, trainings = (QUICK_IMAGES, short) if asked.quick else (IMAGES, TRAININGS)
        run = partial(measure, data, epsilon, size, trainings)
        if asked.learnt is not None:
            run = partial(learnt_elsewhere, asked.learnt, epsilon)
        yield Cell(part, f"epsilon {epsilon:g}", range(1 if asked.quick else SEEDS), run)


def show(results: Results, part: str, quick: bool) -> str:
    names = [*(figure_of(*case) for case in CASES), "the release itself", "release and draw, CPU s"]
    lines = []
    for epsilon in (1.0,) if quick else EPSILONS:
        figures = [shown(results.figure(part, f"epsilon {epsilon:g}", name)) for name in names]
        lines.append([f"{epsilon:g}", *figures, PUBLIC[epsilon], KERNEL.get(epsilon, "")])
    return table(["epsilon", *names, "public benchmark's best", "its best kernel embedding"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="epsilon 1, one release, 10,000 images; writes nothing")
    parser.add_argument("--choosing", action="store_true", help="release 50,000 training images, test on the others")
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="draw the images, and train nothing")
    parser.add_argument("--learnt", type=Path, metavar="FOLDER", help="take accuracies of an exported folder")
    asked = parser.parse_args()
    data, part = (held_back(mnist()), "choosing") if asked.choosing else (mnist(), "test")
    if asked.export is not None:
        export(data, asked.export)
        return
    results = Results(None if asked.quick else RESULTS)
    for cell in cells(data, part, asked):
        results.run(cell)
    print(f"\n{show(results, part, asked.quick)}\n")


if __name__ == "__main__":
    main()
