"""A small table for every mechanism and every kind of question that it asks, with persons who have several records."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import sfumato
from sfumato.fitting.retraining import fit as fitting
from tests.conftest import MIXED, make_table

ID = "person"


@dataclass(frozen=True)
class Case:
    """A release that some table and settings make."""

    schema: sfumato.Schema
    table: pa.Table
    settings: Mapping[str, Any] = field(default_factory=dict)

    def by_person(self, records: int = 3) -> "Case":
        """The same, protecting persons."""
        unit = {"unit": {"column": ID, "records": records}}
        return Case(sfumato.Schema.from_dict(self.schema.to_dict() | unit), self.table, self.settings)

    def release(self, data: Any = None, **more: Any) -> sfumato.Release:
        """Of the table, or of other data in its place."""
        settings = {
            "epsilon": 4.0,
            "delta": 1e-5,
            "ledger": None,
            "seed": 1,
            "types": "declared",
            **self.settings,
            **more,
        }
        with short_training():
            return sfumato.release(self.table if data is None else data, self.schema, **settings)


@contextmanager
def short_training(epochs: int = 5) -> Iterator[None]:
    """Inside, generators are trained for a moment: enough to compare what they were trained on."""
    with mock.patch.object(fitting, "SETTINGS", {**fitting.SETTINGS, "epochs": epochs}):
        yield


def _owned(table: pa.Table) -> pa.Table:
    """About three records a person, one person with a tenth of all, and some records of nobody."""
    rng, rows = np.random.default_rng(7), len(table)
    ids = np.where(rng.random(rows) < 0.1, rows, rng.integers(0, rows // 3, rows))
    return table.append_column(ID, pa.array(ids, mask=rng.random(rows) < 0.02))


def _numbers(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    kind = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    columns = {name: np.array([20, 45, 70])[kind] + 7 * rng.standard_normal(rows) for name in ("x", "y")}
    return pa.table({**columns, "kind": np.array(["a", "b", "c"])[kind]})


def _wide(rows: int) -> pa.Table:
    """Pictures of a bar: many pixels are blank."""
    rng = np.random.default_rng(0)
    kind, place = rng.integers(0, 2, rows), rng.integers(2, 6, rows)
    pictures = np.zeros((rows, 8, 8))
    for row in range(rows):
        if kind[row]:
            pictures[row, 1:7, place[row]] = rng.integers(100, 256, 6)
        else:
            pictures[row, place[row], 1:7] = rng.integers(100, 256, 6)
    pixels = {f"p_{j}": column for j, column in enumerate(pictures.reshape(rows, -1).T)}
    return pa.table({**pixels, "kind": np.array(["-", "|"])[kind]})


_KIND = "{name: kind, type: category, values: [a, b, c]}"
_PLANE = "{name: x, type: number, bounds: [0, 100]}, {name: y, type: number, bounds: [0, 100]}"
_PIXELS = '{name: "p_{0..63}", type: integer, bounds: [0, 255]%s}, {name: kind, type: category, values: ["-", "|"]}'


def _towns(rows: int) -> pa.Table:
    """What constraints are about: a distance, a computed column, a function to be learnt, rules."""
    rng = np.random.default_rng(0)
    low, town = rng.integers(0, 40, rows), rng.integers(0, 8, rows)
    young = low < 10
    return pa.table(
        {
            "low": low,
            "high": low + rng.integers(-2, 9, rows),
            "wide": rng.integers(0, 50, rows),
            "town": [f"t{place}" for place in town],
            "region": [f"r{place % 3}" for place in town],
            "smoker": np.where(young, False, rng.random(rows) < 0.4),
            "sex": rng.choice(["f", "m"], rows),
            "pregnant": rng.random(rows) < 0.2,
        }
    )


_TOWNS = """
{sfumato: 1, name: t, columns: [
{name: low, type: integer, bounds: [0, 40]}, {name: high, type: integer, bounds: [0, 60]},
{name: wide, type: integer, bounds: [0, 60]}, {name: town, type: category, values: [t0, t1, t2, t3, t4, t5, t6, t7]},
{name: region, type: category, values: [r0, r1, r2]}, {name: smoker, type: boolean},
{name: sex, type: category, values: [f, m]}, {name: pregnant, type: boolean}],
constraints: [high >= low, wide = high - low, {column: region, of: town}, {forbid: {low: {to: 9}, smoker: true}},
{if: {pregnant: true}, then: {sex: f}}]}
"""


def _schema(columns: str, more: str = "") -> sfumato.Schema:
    return sfumato.Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{columns}]{more}}}")


@cache
def every_case() -> dict[str, Case]:
    """Every mechanism, and every way that it goes."""
    mixed, plane, wide = _owned(make_table(1_500)), _owned(_numbers(1_500)), _owned(_wide(600))

    def by_parts(anonymize: str, approximate: str, adapt: str) -> Case:
        parts = {"anonymize": anonymize, "approximate": approximate, "adapt": adapt}
        return Case(sfumato.Schema.from_yaml(MIXED), mixed, {"mechanism": "3a", **parts})

    kinds, public = f"{_PLANE}, {_KIND}", ", target: kind, public_features: true"
    return {
        "tables": Case(sfumato.Schema.from_yaml(MIXED), mixed),
        "tables, replace": Case(sfumato.Schema.from_yaml(MIXED), mixed, {"adjacency": "replace"}),
        "tables, label": Case(sfumato.Schema.from_yaml(MIXED), mixed, {"adjacency": "label"}),
        "tables, constraints": Case(sfumato.Schema.from_yaml(_TOWNS), _owned(_towns(1_500))),
        "slices": Case(sfumato.Schema.from_yaml(MIXED), mixed, {"mechanism": "slices"}),
        "3a": by_parts("kernel", "mixture", "leaves"),
        "3a, gradients": by_parts("kernel", "mixture", "gradients"),
        "3a, slices": by_parts("slices", "mixture", "released"),
        "3a, generator": by_parts("tables", "generator", "none"),
        "mixture": Case(_schema(kinds, ", target: kind"), plane, {"mechanism": "mixture"}),
        "mixture without classes": Case(_schema(_PLANE), plane, {"mechanism": "mixture"}),
        "mixture, public features": Case(_schema(kinds, public), plane, {"mechanism": "mixture", "adjacency": "label"}),
        "subspace": Case(_schema(_PIXELS % "", ", target: kind"), wide, {"mechanism": "subspace"}),
        "subspace of pictures": Case(
            _schema(_PIXELS % ", image: [8, 8]", ", target: kind"), wide, {"mechanism": "subspace"}
        ),
    }
