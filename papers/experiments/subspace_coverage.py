"""How often 90 % intervals of class means hold the means of the class's own records."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sfumato
from experiments.cells import Cell, Figures, Results, shown, table
from experiments.subspace_data import isolet, mnist
from sfumato.artefact.release import Release
from sfumato.trusted.arrays import IntArray

COLUMNS, CLASSES, LEVEL = 30, 3, 0.9
CASES = [
    (rows, epsilon, at_bounds)
    for rows, epsilon in ((20_000, 1.0), (20_000, 4.0), (2_000, 1.0))
    for at_bounds in (False, True)
]
REAL = {"MNIST, epsilon 1": mnist, "isolet, epsilon 1": isolet}


def inside(release: Release, numbers: NDArray[Any], label: IntArray) -> NDArray[np.bool_]:
    """Which intervals hold (classes x columns), of columns without a log scale."""
    found = release.parameters(level=LEVEL, output="arrow")
    own = np.array([numbers[label == k].mean(axis=0) for k in range(int(label.max()) + 1)])
    low, high = (found.column(name).to_numpy().reshape(own.shape) for name in ("low", "high"))
    return np.asarray((low <= own) & (own <= high))


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
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "c", "columns": columns, "target": "y"})
    private = pa.table({**{f"x_{j}": numbers[:, j] for j in range(COLUMNS)}, "y": label})
    release = sfumato.release(
        private, schema, epsilon=epsilon, delta=1e-5, mechanism="subspace", ledger=None, types="declared"
    )
    return {"held": float(inside(release, numbers, label).mean())}


def held_in_real(case: str, _: int) -> Figures:
    """Columns of which all records have the same value, such as blank pixels, are counted apart."""
    data = REAL[case]()
    release = sfumato.release(
        data.table(), data.schema(), epsilon=1.0, delta=data.delta, mechanism="subspace", ledger=None, types="declared"
    )
    found, constant = inside(release, data.numbers, data.label), np.ptp(data.numbers, axis=0) == 0
    apart = {"held, constant": float(found[:, constant].mean())} if constant.any() else {}
    return {"held": float(found[:, ~constant].mean()), **apart}


def case_of(rows: int, epsilon: float, at_bounds: bool) -> str:
    return f"{rows} records, epsilon {epsilon:g}, {'most' if at_bounds else 'no'} values on a bound"


def cells(quick: bool) -> Iterator[Cell]:
    for case in CASES:
        yield Cell("coverage", case_of(*case), range(2 if quick else 10), partial(held, *case))
    for name in () if quick else REAL:
        yield Cell("coverage", name, range(3), partial(held_in_real, name))


def show(results: Results) -> str:
    cases = [case for case in (*(case_of(*case) for case in CASES), *REAL) if results.find("coverage", case)]
    figures = ("held", "held, constant")
    rows = [[case, *(shown(results.figure("coverage", case, figure)) for figure in figures)] for case in cases]
    return table([f"{LEVEL:.0%} intervals of class means that hold", "share", "of constant columns"], rows)
