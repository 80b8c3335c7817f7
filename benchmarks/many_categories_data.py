"""Tables of 30 columns, one of them a long list of codes, such as zip codes, diagnoses or merchants."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import yaml

from sfumato.trusted.arrays import FloatArray, IntArray

COLUMNS = 30
REGIONS = 12
_EXPONENT = 1.1  # of Zipf's law
_IN_ITS_REGION = 0.8  # share of the records whose region is that of their code


def texts(values: int) -> list[str]:
    """The codes of the long list, in an order that says nothing about how frequent they are."""
    order = np.random.default_rng(7).permutation(values)
    return [f"C{place:06d}" for place in order]


def shares(values: int) -> FloatArray:
    """How frequent each code is, the most frequent first: by Zipf's law."""
    weights: FloatArray = np.arange(1, values + 1, dtype=np.float64) ** -_EXPONENT
    weights /= weights.sum()
    return weights


def write(folder: Path, rows: int, values: int) -> None:
    """`table.parquet`, `schema.yaml`, and `codes.txt`, the list that the schema names."""
    rng = np.random.default_rng(0)
    code = rng.choice(values, rows, p=shares(values))
    region = np.where(rng.random(rows) < _IN_ITS_REGION, code % REGIONS, rng.integers(0, REGIONS, rows))
    names = np.array(texts(values))
    columns: dict[str, Any] = {"code": names[code], "region": np.array([f"r{n}" for n in range(REGIONS)])[region]}
    schema: list[dict[str, Any]] = [
        {"name": "code", "type": "category", "values": {"file": "codes.txt"}},
        {"name": "region", "type": "category", "values": [f"r{n}" for n in range(REGIONS)]},
    ]
    for place in range(COLUMNS - 3):
        name, (column, described) = f"x{place}", _other(place, rng, region)
        columns[name] = column
        schema.append({"name": name, **described})
    columns["ill"] = rng.random(rows) < 0.1 + 0.6 * region / REGIONS
    schema.append({"name": "ill", "type": "boolean"})
    pyarrow.parquet.write_table(pa.table(columns), folder / "table.parquet")
    (folder / "codes.txt").write_text("\n".join(sorted(names.tolist())) + "\n")
    content = {"sfumato": 1, "name": f"codes_{values}", "columns": schema, "target": "ill"}
    (folder / "schema.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def _other(place: int, rng: np.random.Generator, region: IntArray) -> tuple[Any, dict[str, Any]]:
    """A short list, an integer or a number, each of which depends on the region."""
    rows = len(region)
    if place % 3 == 0:
        size = 3 + place
        return (region + rng.integers(0, 3, rows)) % size, {"type": "category", "values": list(range(size))}
    if place % 3 == 1:
        return rng.poisson(20 + region, rows), {"type": "integer", "bounds": [0, 99]}
    return rng.gamma(2, 100 + 10 * region, rows), {"type": "number", "bounds": [0, 5_000]}
