"""The columns of table 1 that are this library's own: a proven release, its rows, and the release as a classifier."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sfumato
from experiments.clustmix.data import WIDE, rows_of, task, wide
from experiments.clustmix.learning import score, told
from experiments.clustmix.methods import EPSILON, delta_of
from experiments.tables import split as split_task
from sfumato.evaluation.learners import design
from sfumato.evaluation.records import read_all, values_of

ROWS = 20_000  # drawn from releases of wide tables: any number can be
ADJACENCY = "replace"  # what ClustMix and most rivals claim to protect: one replaced record


class Proven(NamedTuple):
    """LightGBM on rows that were drawn from a release, and the release's own probabilities."""

    rows: float
    itself: float


@cache
def proven(name: str, seed: int) -> Proven:
    """One release by the mechanism that the schema asks for, `tables` or `subspace`, with its defaults."""
    return _wide(name, seed) if name in WIDE else _narrow(name, seed)


def _narrow(name: str, seed: int) -> Proven:
    one, schema = task(name), task(name).schema
    train, test = split_task(one, seed)
    delta = delta_of(name, len(train))
    release = sfumato.release(
        train, schema, epsilon=EPSILON, delta=delta, adjacency=ADJACENCY, ledger=None, types="declared"
    )
    drawn = release.model.sample(release.size, np.random.default_rng(seed))
    made, held_out = values_of(drawn, schema), read_all(test, schema)
    truth, target = values_of(held_out, schema), str(schema.target)
    label, classes = truth[target].astype(np.int64), rows_of(name).classes
    learnt = told(name, design(made, schema), made[target].astype(np.int64), design(truth, schema), classes)
    return Proven(score(name, learnt, label), score(name, release.predict_encoded(held_out), label))


def _wide(name: str, seed: int) -> Proven:
    data, split = wide(name), rows_of(name).split(seed)
    low, high = data.bounds
    numbers: list[NDArray[Any]] = [rows * (high - low) + low for rows in (split.X, split.test_X)]
    train, test = [np.rint(rows).astype(np.int64) for rows in numbers] if isinstance(low, int) else numbers
    table = pa.table({column: train[:, j] for j, column in enumerate(data.columns)}).append_column(
        "y", pa.array(split.y)
    )
    delta = delta_of(name, len(split.y))
    release = sfumato.release(
        table,
        data.schema(),
        epsilon=EPSILON,
        delta=delta,
        adjacency=ADJACENCY,
        mechanism="subspace",
        ledger=None,
        types="declared",
    )
    drawn = release.sample(ROWS, seed=seed, output="arrow")
    made = np.column_stack([drawn.column(column).to_numpy() for column in data.columns])
    learnt = told(name, made, drawn.column("y").to_numpy(), test, data.classes)
    return Proven(score(name, learnt, split.test_y), score(name, release.predict_proba(data.rows(test)), split.test_y))
