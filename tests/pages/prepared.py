"""What pages take for granted: files and names that a reader would have, made up here.

A tutorial gets none of it. It starts in an empty folder, and writes all that it needs.
"""

import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

import sfumato
from sfumato.demo import FAMILY_SCHEMA, SCHEMA
from sfumato.demo.make_clinic import make_clinic
from sfumato.demo.make_hospital import make_hospital

Names = dict[str, Any]
_YEARS = ["1900-01-01", "2026-12-31"]
_ABOUT = """
custodian: Invented Clinic
custodian_kind: Government
purpose: to plan beds and to teach
region: Nowhere
published: 2026-01-31
author: Ada
license: CC-BY-4.0
"""


def _numbers(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "type": "number", "bounds": [0, 1000], "missing": "lab" in name} for name in names]


def _integers(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "type": "integer", "bounds": [0, 3000]} for name in names]


def _days(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "type": "date", "bounds": _YEARS} for name in names]


def _lists(**lists: list[str]) -> list[dict[str, Any]]:
    return [{"name": name, "type": "category", "values": values} for name, values in lists.items()]


BASE_SCHEMA: dict[str, Any] = {
    "sfumato": 1,
    "name": "base",
    "columns": [
        *_numbers("cost", "latitude", "longitude", "urban", "suburban", "rural", "weight", "lab_value"),
        *_days("admitted", "discharged", "born"),
        *_integers("age", "birth_year", "beds", "free", "taken"),
        *({"name": name, "type": "datetime", "bounds": _YEARS} for name in ("arrived", "seen_at")),
        {"name": "lab_date", "type": "date", "bounds": _YEARS, "missing": True},
        {"name": "pregnant", "type": "boolean"},
        *_lists(
            city=["Paris", "Rome"], country=["France", "Italy"], zip=["1", "2", "3"], county=["a", "b"], sex=["F", "M"],
            schooling=["school", "master", "doctorate"], ward=["surgery", "maternity"], shift=["day", "night"],
        ),
    ],
}  # fmt: skip
"""A schema with every column that an example of a part of one names."""


def stays_schema() -> Names:
    """That of the embedded clinic; the ward may be missing."""
    content: Names = yaml.safe_load(Path(SCHEMA).read_text(encoding="utf-8"))
    content["columns"][2]["missing"] = True
    return content


@cache
def _rows() -> pa.Table:
    return make_clinic()


@cache
def stays_release(mechanism: str = "tables") -> sfumato.Release:
    """A release of the embedded clinic, made once for all pages."""
    content = stays_schema()
    if mechanism == "slices":
        content["columns"] = [content["columns"][0], *content["columns"][6:]]
    schema = sfumato.Schema.from_dict(content)
    found = sfumato.release(
        _rows().slice(0, 2_000), schema, epsilon=1.0, mechanism=mechanism, ledger=None, types="declared"
    )
    assert isinstance(found, sfumato.Release)
    return found


def prepare_stays(folder: Path) -> Names:
    """The clinic as files, a release of it, and the names that pages use for them."""
    content = stays_schema()
    for column in content["columns"]:
        if column["type"] == "date":
            column["bounds"] = [str(end) for end in column["bounds"]]
    (folder / "stays.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    (folder / "about.yaml").write_text(_ABOUT, encoding="utf-8")
    (folder / "cities.csv").write_text("city,country\nParis,France\nRome,Italy\n", encoding="utf-8")
    private, held_out = _rows().slice(0, 2_000), _rows().slice(3_200)
    for name, table in {"stays": private, "kept": held_out, "some": held_out.slice(0, 200)}.items():
        pq.write_table(table, folder / f"{name}.parquet")
    release = stays_release()
    for name in ("stays", "2025"):
        release.save(folder / f"{name}.sfumato")
    schema = sfumato.Schema.load(folder / "stays.yaml")
    names = {"release": release, "schema": schema, "folder": folder, "private": private, "real": private}
    by_path = {"data": "stays.parquet", "stays": folder / "stays.parquet"}
    return {**names, **by_path, "test": held_out, "held_out": held_out, "rows": held_out}


def prepare_hospital(folder: Path) -> Names:
    """The family of tables, of few persons."""
    (folder / "hospital.yaml").write_bytes(Path(FAMILY_SCHEMA).read_bytes())
    for name, seed in (("hospital", 5), ("kept", 6)):
        (folder / name).mkdir()
        tables = make_hospital(seed, 1_500)
        for table, rows in tables.items():
            pq.write_table(rows, folder / name / f"{table}.parquet")
    return {"family": None, **tables}


def prepare_databases(folder: Path) -> Names:
    """The clinic in SQLite and in DuckDB."""
    import duckdb

    frame = _rows().slice(0, 2_000).to_pandas().assign(year=2022)
    with sqlite3.connect(folder / "clinic.sqlite") as connection:
        frame.astype({"admitted": str}).to_sql("stays", connection, index=False)
    connection.close()
    with duckdb.connect(str(folder / "clinic.duckdb")) as duck:
        duck.execute("create table stays as select * from frame")
    (folder / "stays.sql").write_text("select * from stays where year >= 2020;", encoding="utf-8")
    return {}


def prepare_pictures(folder: Path) -> Names:
    """Made-up pictures of 28 by 28: a bright bar for each digit."""
    rng = np.random.default_rng(3)
    digit = rng.integers(0, 10, 1_500)
    pictures = rng.integers(0, 40, (1_500, 28, 28))
    for row, value in enumerate(digit):
        pictures[row, 2 * value + 4 : 2 * value + 7, 4:24] += 180
    pixels = {f"pixel_{j}": pa.array(column, pa.uint8()) for j, column in enumerate(pictures.reshape(1_500, -1).T)}
    table = pa.table({**pixels, "digit": pa.array(digit, pa.uint8())})
    pq.write_table(table, folder / "digits.parquet")
    return {"rows": table.slice(0, 50), "upper_half": pictures[0, :14].ravel().tolist()}


def prepare_flowers(folder: Path) -> Names:
    """What the page on mixtures asks of its own tables."""
    from sklearn.datasets import load_iris

    found = load_iris(as_frame=True)
    columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    rows = found.data.set_axis(columns, axis=1)
    bounds = ((4, 8), (2, 4.5), (1, 7), (0, 2.6))
    numbers = [{"name": name, "type": "number", "bounds": ends} for name, ends in zip(columns, bounds, strict=True)]
    bare = sfumato.Schema.from_dict({"sfumato": 1, "name": "flowers", "columns": numbers})
    kinds = rows.assign(kind=found.target_names[found.target])
    kind = {"name": "kind", "type": "category", "values": [str(name) for name in found.target_names]}
    whole = sfumato.Schema.from_dict({"sfumato": 1, "name": "f", "columns": [*numbers, kind], "target": "kind"})
    other = sfumato.release(kinds, whole, epsilon=2.0, delta=1e-5, mechanism="mixture", ledger=None)
    data = {"X": rows.to_numpy(), "y": found.target.to_numpy()}
    return {"rows": rows, "schema_without_kind": bare, "another_release": other, **data}


def prepare_values(folder: Path) -> Names:
    """The clinic as a CSV file with ids, and a schema that protects whoever has one."""
    frame = _rows().slice(0, 500).to_pandas()
    frame.insert(0, "patient_id", [f"p{row // 2}" for row in range(len(frame))])
    frame.to_csv(folder / "stays.csv", index=False)
    return {"pd": pd}


def prepare_slices(folder: Path) -> Names:
    """A network of one's own, letters and digits, and records for noise without a curator; all of them small."""
    from sfumato.fitting.generators.networks import mlp
    from sfumato.local import LocalSlices

    content = stays_schema()
    del content["target"]
    bare = sfumato.Schema.from_dict({**content, "columns": [content["columns"][0], *content["columns"][6:8]]})
    names = {"letters": folder / "stays.parquet", "schema_without_target": bare, "public_digits": _rows().slice(0, 300)}
    noisy = LocalSlices(sfumato.Schema.load(folder / "stays.yaml"), epsilon=4).randomize(_rows())
    return {**names, "my_own_records": _rows().slice(0, 50), "noisy_of_everybody": noisy, "MyGenerator": mlp}


_OF_PAGE: dict[str, tuple[Callable[[Path], Names], ...]] = {
    "families.md": (prepare_hospital,),
    "README.md": (prepare_hospital,),
    "engines.md": (prepare_databases,),
    "databases.md": (prepare_databases,),
    "subspace.md": (prepare_pictures,),
    "pictures.md": (prepare_pictures,),
    "mixture.md": (prepare_flowers,),
    "slices.md": (prepare_slices,),
    "values.md": (prepare_values,),
}


def prepare(page: Path, folder: Path) -> Names:
    """The files and names of a page; none for a tutorial."""
    names: Names = {"__name__": "page"}
    if page.parent.name != "tutorials":
        for function in (prepare_stays, *_OF_PAGE.get(page.name, ())):
            names |= function(folder)
        names["sfumato"] = sfumato
    return names
