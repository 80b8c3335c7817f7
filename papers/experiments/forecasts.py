"""How well a plan forecasts a release: `python -m experiments.forecasts [--sets SET ...] [--show]`.

The tables of `experiments.forecasts_data` are released by `tables`, real ones with 3,000 and 20,000 rows at epsilon
0.3, 1 and 3, made ones and fresh ones once or a few times, with delta 1e-6, add-remove and noise from a seed. Each
release is compared with the rows that it was made from:

column    total variation of a column, mean over the columns: listed values as they are, numbers cut at the deciles
pair      the same of two columns, mean over all pairs
mean      |mean of the release - mean of the rows| over the range between the bounds, mean over the columns of numbers
gap       area under the ROC curve, or R squared, of LightGBM trained on the rows, less that of the release's own
          predictor, on other rows; 0.001 where the release is no worse. None where a class has fewer than 50 of the
          rows: of those LightGBM itself learns little
groups    listed values that as many records hold as the smallest group that survives, up to twice as many: how many
          there are, and of how many the count is wrong by half or more

A plan forecasts these from schema, budget and rows alone. `--show` fits the laws of `sfumato.artefact.quality` to the
building tables, see `experiments.forecasts_fit`, prints how often the intervals of the library hold, and draws them.

The data is read from $SFUMATO_DATA.
"""

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sfumato
from experiments.forecasts_data import SETS, open_task, releases_of, split_rows
from experiments.forecasts_fit import MEASURES, add_first_figures, coverage, fit_law, forecasts, leave_out
from experiments.forecasts_picture import draw_forecasts
from experiments.tasks import Task
from sfumato.artefact.quality import expected_quality
from sfumato.evaluation.learners import design, learners, score
from sfumato.evaluation.records import read_all, values_of
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Encoder
from sfumato.trusted.schema.bounds import span_of

RESULTS = Path(__file__).with_suffix(".json")
PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "forecasts.svg"
DELTA = 1e-6
DRAWN = 200_000
LEAST_GAP = 0.001
FEWEST = 50  # records of a class

Values = Mapping[str, FloatArray]


def measure(task: Task, rows: int, epsilons: Sequence[float]) -> Iterator[dict[str, Any]]:
    """One split and one release for each epsilon."""
    train, test = split_rows(task, rows, seed=rows)
    real, held_out = (read_all(part, task.schema) for part in (train, test))
    values, truth = values_of(real, task.schema), values_of(held_out, task.schema)
    targeted = task.schema.target is not None
    reached = learn(task, values, truth) if targeted else None
    enough = targeted and fewest_of_a_class(task, values) >= FEWEST
    for epsilon in epsilons:
        begin = time.process_time()
        release = sfumato.release(
            train, task.schema, epsilon=epsilon, delta=DELTA, ledger=None, types="declared", seed=rows
        )
        seconds = time.process_time() - begin
        drawn = values_of(release.model.sample(DRAWN, np.random.default_rng(0)), task.schema)
        own = score_of(release, held_out, truth) if targeted else None
        yield {
            "task": task.name,
            "rows": len(train),
            "epsilon": epsilon,
            "real": reached,
            "own": own,
            "gap": max(LEAST_GAP, float(reached or 0) - float(own or 0)) if enough else None,
            **distances(task, values, drawn),
            "mean": error_of_means(release, values),
            "groups": groups_wrong(release, values, drawn),
            "seconds": round(seconds, 1),
        }


def learn(task: Task, values: Values, truth: Values) -> float:
    """What LightGBM reaches that is trained on the rows themselves."""
    target = str(task.schema.target)
    codes = Encoder(task.schema).columns[target]
    classes = codes.size if isinstance(codes, CategoricalCodec) else None
    predict = learners(task.schema, classes)["LightGBM"](design(values, task.schema), values[target], None)
    return float(score(*labelled(predict(design(truth, task.schema)), truth[target])) or 0)


def score_of(release: sfumato.Release, held_out: Batch, truth: Values) -> float | None:
    """What the release's own predictor reaches."""
    return score(*labelled(release.predict_encoded(held_out), truth[str(release.schema.target)]))


def fewest_of_a_class(task: Task, values: Values) -> float:
    """How many records the rarest class of the target has; of a number there are no classes."""
    target = str(task.schema.target)
    if task.schema[target].type not in ("category", "boolean"):
        return math.inf
    label = values[target]
    return int(np.unique(label[~np.isnan(label)], return_counts=True)[1].min())


def labelled(predicted: FloatArray, label: FloatArray) -> tuple[FloatArray, FloatArray]:
    known = ~np.isnan(label)
    return predicted[known], label[known]


def distances(task: Task, real: Values, drawn: Values) -> dict[str, float]:
    cells = {name: in_cells(task, name, real[name], drawn[name]) for name in real}
    columns = [apart(*one) for one in cells.values()]
    pairs = [apart(*crossed(one, two)) for one, two in itertools.combinations(cells.values(), 2)]
    return {"column": float(np.mean(columns)), "pair": float(np.mean(pairs))}


def in_cells(task: Task, name: str, real: FloatArray, drawn: FloatArray) -> tuple[IntArray, IntArray]:
    """The cell of every row in both tables: a listed value, or a tenth of the real rows."""
    if task.schema[name].type in ("category", "boolean"):
        here, there = (np.nan_to_num(column, nan=-1).astype(np.int64) + 1 for column in (real, drawn))
        return here, there
    cuts = np.unique(np.nanquantile(real, np.linspace(0.1, 0.9, 9)))
    places = [np.where(np.isnan(one), 0, 1 + np.searchsorted(cuts, one, side="right")) for one in (real, drawn)]
    return places[0], places[1]


def crossed(one: tuple[IntArray, IntArray], two: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    size = 1 + max(int(part.max()) for part in two)
    return one[0] * size + two[0], one[1] * size + two[1]


def apart(real: IntArray, drawn: IntArray) -> float:
    """Total variation."""
    size = 1 + max(int(real.max()), int(drawn.max()))
    here, there = (np.bincount(part, minlength=size) / len(part) for part in (real, drawn))
    return float(np.abs(here - there).sum() / 2)


def error_of_means(release: sfumato.Release, values: Values) -> float | None:
    found = []
    for column in release.schema.columns:
        if column.type in ("integer", "number"):
            low, high = span_of(column)
            told = release.mean(column.name).mean
            assert isinstance(told, float)
            found.append(abs(told - float(np.nanmean(values[column.name]))) / (high - low))
    return float(np.mean(found)) if found else None


def groups_wrong(release: sfumato.Release, real: Values, drawn: Values) -> list[int]:
    """How many groups there are of the smallest size that survives up to twice it, and how many are wrong by half."""
    asked = [(item.statistic, item.sigma) for item in release.measurements]
    smallest = expected_quality(asked, release.schema, release.size).smallest_group
    there = wrong = 0
    for column in release.schema.columns:
        if column.type == "category":
            size = len(column.values) + 1
            counts = np.bincount(np.nan_to_num(real[column.name], nan=size - 1).astype(int), minlength=size)
            shares = np.bincount(np.nan_to_num(drawn[column.name], nan=size - 1).astype(int), minlength=size)
            told = shares * len(real[column.name]) / len(drawn[column.name])
            looked_at = (counts >= smallest) & (counts < 2 * smallest)
            there += int(looked_at.sum())
            wrong += int((np.abs(told - counts) >= counts / 2)[looked_at].sum())
    return [there, wrong]


def show(results: list[dict[str, Any]]) -> None:
    """The laws that the building tables ask for, and how often those of the library hold; a picture of both."""
    found = {}
    for name, measure in MEASURES.items():
        points = forecasts(results, measure, measure.law)
        found[name] = (measure, points)
        print(f"{name}: fitted {fit_law(results, measure)}\n    in the library {measure.law}")
        left_out = leave_out(results, measure)
        for words, tasks in SETS.items():
            print(f"    {words}: {_words(*coverage(points, tasks))}")
            if set(tasks) <= set(measure.building):
                print(f"        its law is fitted to these; each file left out: {_words(*coverage(left_out, tasks))}")
    for words, tasks in SETS.items():
        groups = np.array([item["groups"] for item in results if item["task"] in tasks]).reshape(-1, 2).sum(axis=0)
        print(f"groups of the smallest size, {words}: {groups[1]} of {groups[0]} wrong by half")
    draw_forecasts(found, PICTURE)


def _words(held: int, known: int) -> str:
    return f"{held} of {known} hold"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", choices=list(SETS), help="some sets; the results of others are kept")
    parser.add_argument("--show", action="store_true", help="release nothing: laws, coverage and picture")
    asked = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for name in () if asked.show else [task for words in asked.sets or SETS for task in SETS[words]]:
        results = [item for item in results if item["task"] != name]
        for rows, epsilons in releases_of(name):
            for found in measure(open_task(name), rows, epsilons):
                results.append(found)
                print(json.dumps(found), flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if asked.show:
        show(add_first_figures(results))


if __name__ == "__main__":
    main()
