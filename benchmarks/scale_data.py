"""Tables of any number of rows and columns, made by a generator and written to Parquet in row groups."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import sfumato

GROUP = 500_000
WORDS = [f"word {place} of a list" for place in range(40)]
REGIONS = ["north", "south", "east", "west"]
KINDS: dict[str, dict[str, Any]] = {
    "height": {"type": "number", "bounds": [100, 250], "missing": True},
    "job": {"type": "category", "values": WORDS},
    "age": {"type": "integer", "bounds": [0, 120]},
    "fare": {"type": "number", "bounds": [0, 500]},
    "region": {"type": "category", "values": REGIONS, "missing": True},
    "hours": {"type": "integer", "bounds": [0, 100], "missing": True},
    "income": {"type": "number", "bounds": [0, 1_000_000], "scale": "log"},
    "balance": {"type": "integer", "bounds": [0, 10_000_000]},
    "member": {"type": "boolean"},
}
TARGET, PERSON, RECORDS = "ill", "person", 3


def kinds(columns: int) -> dict[str, str]:
    """The kind of each column but the target: all kinds in turn."""
    in_turn = list(KINDS)
    return {f"{in_turn[place % len(in_turn)]}_{place}": in_turn[place % len(in_turn)] for place in range(columns - 1)}


def schema_of(columns: int, by_person: bool = False) -> sfumato.Schema:
    named = [{"name": name, **KINDS[kind]} for name, kind in kinds(columns).items()]
    unit = {"unit": {"column": PERSON, "records": RECORDS}} if by_person else {}
    content = {
        "sfumato": 1,
        "name": "scale",
        "columns": [*named, {"name": TARGET, "type": "boolean"}],
        "target": TARGET,
    }
    return sfumato.Schema.from_dict(content | unit)


def write(path: Path, rows: int, columns: int, seed: int = 0) -> None:
    """A third of the rows are ill, and every column shows it; a person has three records, wherever they stand."""
    rng, writer = np.random.default_rng(seed), None
    for start in range(0, rows, GROUP):
        part = _part(rng, min(GROUP, rows - start), columns, rows)
        writer = writer or pyarrow.parquet.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer:
        writer.close()


def _part(rng: np.random.Generator, rows: int, columns: int, of: int) -> pa.Table:
    ill = rng.random(rows) < 0.3
    made = {name: _column(kind, rng, rows, ill) for name, kind in kinds(columns).items()}
    return pa.table({**made, TARGET: ill, PERSON: rng.integers(0, max(1, of // 3), rows)})


def _column(kind: str, rng: np.random.Generator, rows: int, ill: Any) -> pa.Array:
    normal = rng.standard_normal(rows) + 0.5 * ill
    absent = rng.random(rows) < 0.05 if KINDS[kind].get("missing") else None
    match kind:
        case "height":
            return pa.array(170 + 10 * normal, mask=absent)
        case "fare":
            return pa.array(np.exp(3 + normal))
        case "income":
            return pa.array(np.where(rng.random(rows) < 0.2, 0.0, np.exp(9 + normal)))
        case "age":
            return pa.array(np.rint(50 + 18 * normal).astype(np.int64))
        case "hours":
            return pa.array(np.rint(40 + 10 * normal).astype(np.int32), mask=absent)
        case "balance":
            return pa.array(np.exp(8 + 2 * normal).astype(np.int64))
        case "member":
            return pa.array(normal > 0)
    values = WORDS if kind == "job" else REGIONS
    places = np.clip(len(values) / 2 + len(values) / 6 * normal, 0, len(values) - 1).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(places, mask=absent), values)
