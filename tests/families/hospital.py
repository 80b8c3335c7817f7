"""A small hospital for tests: persons without rows, with many, and rows that do not fit together."""

from functools import cache

import numpy as np
import pyarrow as pa

from sfumato.demo import FAMILY_SCHEMA
from sfumato.demo.make_hospital import make_hospital
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.file import read_schema
from sfumato.trusted.statistics import Cells, CodeSums, PersonLevel


@cache
def schema() -> FamilySchema:
    found = read_schema(FAMILY_SCHEMA)
    assert isinstance(found, FamilySchema)
    return found


@cache
def tables(persons: int = 300, seed: int = 5) -> dict[str, pa.Table]:
    return make_hospital(seed, persons)


@cache
def broken_tables(persons: int = 120, seed: int = 5) -> dict[str, pa.Table]:
    """The same with rows that name nobody, keys that come twice or not at all, and one patient with very many rows."""
    found = tables(persons, seed)
    patients, stays, diagnoses = found["patients"], found["stays"], found["diagnoses"]
    crowd = stays.take(pa.array(np.arange(60) % len(stays)))
    crowd = crowd.set_column(0, "stay_id", pa.array(90_000 + np.arange(60) // 2, pa.int32()))
    crowd = crowd.set_column(1, "patient_id", pa.array(np.full(60, 1_000), pa.int32()))
    strangers = stays.slice(0, 5).set_column(1, "patient_id", pa.array([5, None, 7, 8, None], pa.int32()))
    nameless = stays.slice(3, 4).set_column(0, "stay_id", pa.array([None] * 4, pa.int32()))
    shared = stays.slice(10, 3).set_column(0, "stay_id", stays.column("stay_id").slice(20, 3))
    orphans = diagnoses.slice(0, 4).set_column(0, "stay_id", pa.array([1, None, 2, None], pa.int32()))
    doubles = patients.slice(0, 6).set_column(1, "sex", pa.array(["m", "f"] * 3))
    return {
        "patients": pa.concat_tables([patients, doubles]),
        "stays": pa.concat_tables([stays, crowd, strangers, nameless, shared]),
        "diagnoses": pa.concat_tables([diagnoses, orphans, diagnoses.slice(0, 30)]),
    }


def questions(family: FamilySchema | None = None, seed: int = 0) -> list[PersonLevel]:
    """Of every view: each column alone, and some pairs, on random cells, and sums of codes."""
    rng = np.random.default_rng(seed)
    found = []
    for name, view in family_layout_of(family or schema()).views.items():
        sizes = {one.name: one.codes.size for one in view.columns}
        grids = {column: _random_cells(size, rng) for column, size in sizes.items()}
        names = list(sizes)
        pairs = tuple((names[i], names[j]) for i, j in rng.choice(len(names), (12, 2)) if i != j)
        asked = (*((one,) for one in names), *pairs)
        weights = tuple(rng.uniform(0.2, 1.0, len(asked)).tolist())
        found.append(PersonLevel(Cells(asked, grids, None, weights), name))
        found.append(PersonLevel(CodeSums({column: sizes[column] - 1 for column in names if sizes[column] > 1}), name))
    return found


def _random_cells(codes: int, rng: np.random.Generator) -> Grid:
    runs = np.unique(rng.integers(0, 4, min(codes, 97)), return_inverse=True)[1]
    return Grid.of_cells(runs[np.arange(codes) % len(runs)])
