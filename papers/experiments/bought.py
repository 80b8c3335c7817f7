"""What it costs not to know a table: `python -m experiments.bought [--quick]`.

Adult with `bounds: estimate` for every number and `values: discover` for every category but the target, against the
schema that was written by hand; epsilon 1, delta 1/N, three splits. AUC of LightGBM on synthetic rows, Kolmogorov and
Smirnov's distance of numbers and total variation of categories against the training rows as they are stored, the share
of records whose number lies outside the estimated bounds, and the length of each list, its place for all other values
included, next to how many values there are.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato
from experiments.tables import learner, split
from experiments.tasks import Task, adult
from sfumato.artefact.frames import decode
from sfumato.evaluation.fidelity import fidelity
from sfumato.evaluation.learners import design, score
from sfumato.evaluation.raw_values import RawReader
from sfumato.evaluation.records import read_all, values_of
from sfumato.trusted.encoding import CategoricalCodec, Encoder

RESULTS = Path(__file__).with_suffix(".json")
SEEDS = 3


def unknown(schema: sfumato.Schema) -> sfumato.Schema:
    """The schema of somebody who knows types alone; the target's values are known."""
    content = schema.to_dict()
    for column in content["columns"]:
        if column["name"] != schema.target:
            key, word = ("values", "discover") if column["type"] == "category" else ("bounds", "estimate")
            column[key] = word
    return sfumato.Schema.from_dict(content)


def measure(task: Task, schema: sfumato.Schema, seed: int) -> dict[str, Any]:
    """One split, one release."""
    train, test = split(task, seed)
    release = sfumato.release(train, schema, epsilon=1.0, delta=1 / len(train), ledger=None, types="declared")
    known, target = release.schema, str(task.schema.target)
    batch = release.model.sample(release.size, np.random.default_rng(seed))
    drawn, held_out = values_of(batch, known), values_of(read_all(test, known), known)
    listed = Encoder(known).columns[target]
    learn = learner(task, listed.size if isinstance(listed, CategoricalCodec) else None)
    reader = RawReader(task.schema)
    table = decode(batch, Encoder(known).columns, np.random.default_rng(seed))
    apart = fidelity(reader.read(train)[0], reader.read(table)[0], task.schema).columns
    numbers = [name for name in known.by_name if known[name].type in ("number", "integer")]
    return {
        "score": float(
            score(learn(design(drawn, known), drawn[target], None)(design(held_out, known)), held_out[target]) or 0
        ),
        "KS": statistics.mean(apart[name].share for name in numbers),
        "total variation": statistics.mean(one.share for name, one in apart.items() if name not in numbers),
        "outside": {name: float(_outside(train[name], known[name].bounds)) for name in numbers},  # type: ignore[union-attr]
        "found": {
            name: [len(known[name].values), train[name].nunique()]  # type: ignore[union-attr]
            for name in known.by_name
            if name not in numbers
        },
    }


def _outside(values: pd.Series, bounds: tuple[Any, ...]) -> float:
    return float(((values < bounds[0]) | (values > bounds[1])).mean())


def main() -> None:
    """See the top."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one split; writes nothing")
    asked = parser.parse_args()
    task, results = adult(), {}
    for name, schema in (("by hand", task.schema), ("bought", unknown(task.schema))):
        runs = [measure(task, schema, seed) for seed in range(1 if asked.quick else SEEDS)]
        results[name] = runs
        for run in runs:
            print(
                f"{name}: " + ", ".join(f"{key} {run[key]:.4f}" for key in ("score", "KS", "total variation")),
                flush=True,
            )
    for key in ("outside", "found"):
        print(f"{key}: {results['bought'][0][key]}")
    if not asked.quick:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
