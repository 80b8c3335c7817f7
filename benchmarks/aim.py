"""`tables` beside dpmm's AIM, on the same rows and budget: `python -m benchmarks.aim [--seeds N]`.

Adult, 75 % of the rows, delta = 1/N, one thread each. AIM lives in an environment of its own (`.venv-aim`, made on the
first run), because dpmm pins old versions. Printed: CPU seconds, LightGBM's AUC on real test rows, and the mean total
variation of all pairs of columns from the training rows, on neutral cells and on the very cells that AIM was fitted to
(for AIM before its rows are turned back into numbers: its best case).
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiments.tables import learner, raw, split
from experiments.tasks import Task, adult

import sfumato
from sfumato.evaluation.fidelity import fidelity
from sfumato.evaluation.learners import design, score
from sfumato.evaluation.records import read_all, values_of

HOME = Path(__file__).parents[1] / ".venv-aim"
NEEDS = ["dpmm==0.1.9", "pyarrow<20"]
EPSILONS = (0.2, 1.0, 3.0)


def interpreter() -> Path:
    """The peer's Python, made if it is not there."""
    python = HOME / "bin" / "python"
    if not python.exists():
        print("making an environment for dpmm ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDS], check=True)
    return python


def aim(train: pd.DataFrame, task: Task, epsilon: float, seed: int, folder: Path) -> dict[str, Any]:
    """Its rows, the codes it fitted, and what it took."""
    domain = {
        name: {"lower": column.bounds[0], "upper": column.bounds[1]}
        if hasattr(column, "bounds")
        else {"categories": list(column.values)}  # type: ignore[union-attr]
        for name, column in task.schema.by_name.items()
    }
    train.to_parquet(folder / "train.parquet")
    (folder / "domain.json").write_text(json.dumps(domain))
    out = folder / "aim"
    command = [interpreter(), Path(__file__).with_name("aim_peer.py"), folder / "train.parquet", folder / "domain.json"]
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    subprocess.run(
        [*map(str, command), str(epsilon), str(1 / len(train)), str(seed), str(out)],
        check=True,
        env={**os.environ, **one_thread},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    tables = {name: pd.read_parquet(f"{out}.{name}") for name in ("rows", "codes", "train")}
    return {**json.loads(Path(f"{out}.json").read_text()), **tables}


def apart(here: pd.DataFrame, there: pd.DataFrame) -> float:
    """The mean total variation of all pairs of coded columns."""
    found = []
    for one, two in itertools.combinations(here.columns, 2):
        shares = [rows.groupby([one, two], observed=True).size() / len(rows) for rows in (here, there)]
        found.append(float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2))
    return float(np.mean(found))


def on_cells(rows: pd.DataFrame, edges: dict[str, list[float]], names: list[str]) -> pd.DataFrame:
    """The cells of a peer for any rows."""
    return pd.DataFrame(
        {
            name: np.searchsorted(edges[name][1:-1], rows[name].astype(float), side="right")
            if name in edges
            else rows[name].astype(str).to_numpy()
            for name in names
        }
    )


def compare(task: Task, epsilon: float, seed: int, folder: Path) -> dict[str, float]:
    train, test = split(task, seed)
    schema, target = task.schema, str(task.schema.target)
    real, held_out = (values_of(read_all(rows, schema), schema) for rows in (train, test))
    learn = learner(task, 2)

    begin = time.process_time()
    release = sfumato.release(train, schema, epsilon=epsilon, delta=1 / len(train), ledger=None, types="declared")
    ours = release.sample(seed=seed)
    seconds = time.process_time() - begin
    peer = aim(train, task, epsilon, seed, folder)
    names, found = list(peer["train"].columns), {}
    for name, rows in (("sfumato", ours), ("AIM", peer["rows"][list(train.columns)])):
        values = values_of(read_all(rows, schema), schema)
        predicted = learn(design(values, schema), values[target], None)(design(held_out, schema))
        found[f"{name} AUC"] = float(score(predicted, held_out[target]) or 0)
        found[f"{name} neutral"] = fidelity(raw(real), raw(values), schema).mean_pair
    cells = [on_cells(rows, peer["edges"], names) for rows in (train, ours)]
    return {
        "sfumato seconds": seconds,
        "AIM seconds": peer["cpu seconds"],
        **found,
        "sfumato AIM's cells": apart(*cells),
        "AIM AIM's cells": apart(peer["train"], peer["codes"][names]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    seeds, task = parser.parse_args().seeds, adult()
    with tempfile.TemporaryDirectory() as folder:
        for epsilon in EPSILONS:
            runs = [compare(task, epsilon, seed, Path(folder)) for seed in range(seeds)]
            mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            ratio = mean["AIM seconds"] / mean["sfumato seconds"]
            print(f"epsilon {epsilon:g}: AIM takes {ratio:.0f} times as long", flush=True)
            for name in ("sfumato", "AIM"):
                parts = {
                    key.removeprefix(name + " "): value for key, value in mean.items() if key.startswith(name + " ")
                }
                print(f"  {name:8s} " + ", ".join(f"{key} {value:.4f}" for key, value in parts.items()), flush=True)


if __name__ == "__main__":
    main()
