"""How often 90 % intervals of class means hold the means of the class's own records."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

import sfumato
from experiments.cells import Cell, Figures, Results, shown, table

COLUMNS, CLASSES, LEVEL = 30, 3, 0.9
CASES = [
    (rows, epsilon, at_bounds)
    for rows, epsilon in ((20_000, 1.0), (20_000, 4.0), (2_000, 1.0))
    for at_bounds in (False, True)
]


def held(rows: int, epsilon: float, at_bounds: bool, seed: int) -> Figures:
    """Three classes in three directions of thirty columns; at bounds, most values are 0."""
    rng, public = np.random.default_rng([8, seed]), np.random.default_rng(99)
    basis, centres = public.standard_normal((3, COLUMNS)), public.standard_normal((CLASSES, COLUMNS))
    label = rng.choice(CLASSES, rows, p=[0.5, 0.3, 0.2])
    latent = rng.standard_normal((rows, 3)) * np.array([1.0, 0.7, 0.4])
    noise = 0.02 * rng.standard_normal((rows, COLUMNS))
    numbers = np.clip(0.45 + 0.1 * centres[label] + 0.06 * latent @ basis + noise - 0.4 * at_bounds, 0, 1)
    columns = [
        {"name": f"x_{{0..{COLUMNS - 1}}}", "type": "number", "bounds": [0, 1]},
        {"name": "y", "type": "category", "values": list(range(CLASSES))},
    ]
    schema = sfumato.Schema.from_content({"sfumato": 1, "name": "c", "columns": columns, "target": "y"})
    private = pa.table({**{f"x_{j}": numbers[:, j] for j in range(COLUMNS)}, "y": label})
    release = sfumato.release(private, schema, epsilon=epsilon, delta=1e-5, mechanism="subspace", ledger=None)
    found = release.parameters(level=LEVEL, frame="arrow")
    own = np.concatenate([numbers[label == k].mean(axis=0) for k in range(CLASSES)])
    inside = (found.column("low").to_numpy() <= own) & (own <= found.column("high").to_numpy())
    return {"held": float(inside.mean())}


def case_of(rows: int, epsilon: float, at_bounds: bool) -> str:
    return f"{rows} records, epsilon {epsilon:g}, {'most' if at_bounds else 'no'} values on a bound"


def cells(quick: bool) -> Iterator[Cell]:
    for case in CASES:
        yield Cell("coverage", case_of(*case), range(2 if quick else 10), partial(held, *case))


def show(results: Results) -> str:
    rows = [[case_of(*case), shown(results.figure("coverage", case_of(*case), "held"))] for case in CASES]
    return table([f"{LEVEL:.0%} intervals of class means that hold", "share"], rows)
