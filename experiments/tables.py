"""Train on synthetic rows, test on real ones: `python -m experiments.tables [--quick]`.

Adult, a random 75/25 split stratified on the label, delta = 1/N, LightGBM with its defaults trained on as many
synthetic rows as the noisy size says, area under the ROC curve on the real test rows. The data is read from
$SFUMATO_DATA.
"""

import argparse
import json
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import sfumato

RESULTS = Path(__file__).with_suffix(".json")
EPSILONS = (0.2, 1.0, 3.0)


@dataclass(frozen=True)
class Task:
    """A table with a schema that names a two-class target."""

    name: str
    rows: pd.DataFrame
    schema: sfumato.Schema

    @property
    def positive(self) -> Any:
        return self.schema[self.schema.target].values[1]  # type: ignore[union-attr, index]


def adult(folder: Path) -> Task:
    """The training part of Adult. Bounds are its documented ranges rounded outward; lists stand for its code book."""
    rows = pd.read_parquet(folder / "adult.parquet")
    rows = rows[rows["split"] == "train"].drop(columns="split").reset_index(drop=True)
    bounds = {
        "age": (17, 90),
        "fnlwgt": (10_000, 1_500_000),
        "education-num": (1, 16),
        "capital-gain": (0, 99_999),
        "capital-loss": (0, 4_500),
        "hours-per-week": (1, 99),
    }
    columns = [
        {"name": name, "type": "integer", "bounds": bounds[name]}
        if name in bounds
        else {"name": name, "type": "category", "values": sorted(rows[name].unique())}
        for name in rows.columns
    ]
    schema = sfumato.Schema.from_content({"sfumato": 1, "name": "adult", "columns": columns, "target": "income"})
    return Task("adult", rows, schema)


def design(rows: pd.DataFrame, schema: sfumato.Schema) -> np.ndarray[Any, Any]:
    """Numbers as they are, categories as their place in the list, missing as NaN."""
    columns = [
        pd.Categorical(rows[name], categories=list(schema[name].values)).codes  # type: ignore[union-attr]
        if schema[name].type == "category"
        else pd.to_numeric(rows[name])
        for name in schema.features
    ]
    return np.column_stack(columns).astype(float)


def auc(train: pd.DataFrame, test: pd.DataFrame, task: Task) -> float:
    """Train on one table, test on another."""
    model = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    model.fit(design(train, task.schema), train[task.schema.target] == task.positive)
    scores = model.predict_proba(design(test, task.schema))[:, 1]
    return float(roc_auc_score(test[task.schema.target] == task.positive, scores))


def score(task: Task, epsilon: float | None, seed: int) -> dict[str, float]:
    """One split, one release (none: the real rows), one learner; and the released model as a classifier itself."""
    train, test = train_test_split(task.rows, test_size=0.25, random_state=seed, stratify=task.rows[task.schema.target])
    if epsilon is None:
        return {"auc": auc(train, test, task)}
    begin = time.process_time()
    release = sfumato.release(train, task.schema, epsilon=epsilon, delta=1 / len(train), ledger=None)
    synthetic = release.sample()
    seconds = time.process_time() - begin
    direct = roc_auc_score(test[task.schema.target] == task.positive, release.predict_proba(test)[:, 1])
    return {"auc": auc(synthetic, test, task), "direct": float(direct), "cpu seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed instead of five; results are not written")
    quick = parser.parse_args().quick
    folder = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        raise SystemExit(f"no real data at {folder}; set SFUMATO_DATA to a folder that holds it")
    task, seeds, results = adult(folder), range(1 if quick else 5), []
    for epsilon in (None, *EPSILONS):
        runs = [score(task, epsilon, seed) for seed in seeds]
        figures = {key: [run[key] for run in runs] for key in runs[0]}
        results.append({"task": task.name, "epsilon": epsilon, "order": 1, "seeds": len(seeds), **figures})
        spread = statistics.stdev(figures["auc"]) if len(seeds) > 1 else float("nan")
        label = "real rows" if epsilon is None else f"epsilon {epsilon:g}"
        rest = "".join(f", {key} {statistics.mean(values):.4g}" for key, values in figures.items() if key != "auc")
        print(f"{task.name}, {label:12s} AUC {statistics.mean(figures['auc']):.4f} +- {spread:.4f}{rest}", flush=True)
    if not quick:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
