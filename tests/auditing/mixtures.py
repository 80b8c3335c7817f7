"""Tables, schemas and releases that the audits of mixtures share."""

from typing import Any

import numpy as np
import pyarrow as pa

import sfumato
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.schema import Schema

TEXT = """
{sfumato: 1, name: t, target: y, columns: [
  {name: a, type: number, bounds: [0, 10]}, {name: b, type: number, bounds: [-5, 5]},
  {name: y, type: category, values: ["no", "yes"]}]}
"""
LABELLED = Schema.from_yaml(TEXT)
PUBLIC_FEATURES = Schema.from_yaml(TEXT.replace("target: y", "target: y, public_features: true"))
DELTA = 1e-5


def table(tails: float = 100.0, rows: int = 3_000) -> pa.Table:
    """Two classes; the smaller the number, the heavier their tails."""
    rng = np.random.default_rng(0)
    yes = rng.random(rows) < 0.4
    a = np.where(yes, 3.5, 6.0) + rng.standard_t(tails, rows)
    b = np.where(yes, -0.5, 0.5) * (a - 5) + 0.5 * rng.standard_t(tails, rows)
    return pa.table({"a": a, "b": b, "y": np.where(yes, "yes", "no")})


def unlabelled(columns: int) -> Schema:
    fields = ", ".join(f"{{name: x{j}, type: number, bounds: [0, 1]}}" for j in range(columns))
    return Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{fields}]}}")


def clouds(columns: int, rows: int = 2_000) -> pa.Table:
    """Three components that nobody labelled."""
    rng = np.random.default_rng(1)
    middle = rng.uniform(0.2, 0.8, (3, columns))
    x = middle[rng.integers(0, 3, rows)] + rng.normal(0, 0.05, (rows, columns))
    return pa.table({f"x{j}": x[:, j] for j in range(columns)})


def released(
    epsilon: float, adjacency: Adjacency = Adjacency.ADD_REMOVE, rows: Any = None, schema: Schema = LABELLED
) -> sfumato.Release:
    rows = table() if rows is None else rows
    return sfumato.release(
        rows,
        schema,
        epsilon=epsilon,
        delta=DELTA,
        mechanism="mixture",
        adjacency=adjacency,
        ledger=None,
        types="declared",
    )
