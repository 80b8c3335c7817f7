"""Ways to release a family within one epsilon and delta for a person with all of their rows, and models without them.

family     the library's release of a family of tables
unit k     a single table: a row with the rows above it is one record, of which k of a person count; rows come without
           links. Where the family has three levels, one such table for each table with a parent
apart      a release of each table on its own: with the number of rows below as a column, and one record of a person;
           rows are dealt to parent rows at random
HMA, PAR   SDV's model of several tables and of sequences: not private, run by another interpreter

Where there are several releases, each has the same share of the budget, in mu squared.
"""

import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato
from experiments.families_data import Column, Family
from experiments.families_measures import Judge, Unlinked, derive
from sfumato.trusted.budget import epsilon_of, mu_of

DELTA = 1e-5
PEER = Path(__file__).parents[2] / "benchmarks" / "family_peer.py"
INTERPRETER = "SFUMATO_SDV_PYTHON"
PEER_PERSONS, PEER_SECONDS = 3_000, 1_200


@dataclass(frozen=True)
class Drawn:
    """What came out of a design, CPU seconds of fit and draw, and further figures by table."""

    tables: Family | Unlinked
    fit: float
    draw: float
    more: Mapping[str, dict[str, float]]


class NotRunError(Exception):
    """Why a design has no result."""


def share_of(epsilon: float, parts: int) -> float:
    """The epsilon of one of several releases that together are one of the whole, at the same delta."""
    return epsilon if parts == 1 else epsilon_of(mu_of(epsilon, DELTA) / math.sqrt(parts), DELTA) * (1 - 1e-12)


def run_family(family: Family, epsilon: float, seed: int, judge: Judge | None = None, held_out: Any = None) -> Drawn:
    """The release of the whole family; with a judge also what it tells by itself of the events of persons held out."""
    begin = time.process_time()
    release = sfumato.release(
        dict(family.frames), family.schema, epsilon=epsilon, delta=DELTA, types="declared", ledger=None, seed=100 + seed
    )
    fitted = time.process_time()
    frames = release.sample(family.persons, seed=seed, output="pandas")
    end = time.process_time()
    more: dict[str, dict[str, float]] = {}
    for table in family.children if judge is not None else ():
        event = family.questions[table].event
        if judge is not None and release.targets.get(table) == event.column:
            told = release.predict_proba(dict(held_out.frames), table)
            classes = [str(value) in map(str, event.values) for value in release.classes(table)]
            area = judge.told(told[:, classes].sum(axis=1), table, held_out.frames[table])
            more[table] = {"AUC event, by the release": area}
    return Drawn(family.with_frames(frames), fitted - begin, end - fitted, more)


def run_unit(family: Family, epsilon: float, seed: int, records: int) -> Drawn:
    flats, fit, draw = {}, 0.0, 0.0
    key = family.schema.tables[family.schema.root].key or ""
    for table in family.children:
        rows = flat_rows(family, table)
        path = family.schema.path(table)
        columns = [column for name in path for column in family.columns(name)]
        schema = _schema(family, f"{family.name}-{table}", columns, table, _rules(family, path), (key, records))
        begin = time.process_time()
        release = _release(rows, schema, share_of(epsilon, len(family.children)), seed)
        fitted = time.process_time()
        flats[table] = release.sample(len(rows), seed=seed)
        fit, draw = fit + fitted - begin, draw + time.process_time() - fitted
    return Drawn(Unlinked(flats), fit, draw, {})


def flat_rows(family: Family, table: str) -> pd.DataFrame:
    """The rows of a table with those above them, and the person's key."""
    schema = family.schema
    path = schema.path(table)
    rows = family.frames[path[0]]
    for upper, name in pairwise(path):
        right = schema.foreign_key_of(name)
        rows = rows.merge(family.frames[name], left_on=schema.tables[upper].key, right_on=right)
    names = [column["name"] for name in path for column in family.columns(name)]
    return rows[[schema.tables[path[0]].key, *names]]


def _rules(family: Family, path: Sequence[str]) -> list[Any]:
    """The constraints of all tables of a path, each on its own.

    Those between tables are left out: with `admitted >= born` a single table's days of admission are lost (pairs of
    the hospital's stays at epsilon 3: 0.34 instead of 0.09).
    """
    return [rule for name in path for rule in family.content["tables"][name].get("constraints", ())]


def run_apart(family: Family, epsilon: float, seed: int) -> Drawn:
    schema, releases = family.schema, {}
    share, rng = share_of(epsilon, len(schema.tables)), np.random.default_rng(seed)
    key = schema.tables[schema.root].key or ""
    begin = time.process_time()
    for table in schema.in_order:
        rows, columns = with_counts(family, table)
        unit = None if table == schema.root else (key, 1)
        content = _schema(family, f"{family.name}-{table}", columns, table, _rules(family, [table]), unit)
        names = [column["name"] for column in columns]
        kept = rows[names] if unit is None else rows.assign(**{key: _persons(family, table)})[[*names, key]]
        releases[table] = _release(kept, content, share, seed)
    fitted = time.process_time()
    frames: dict[str, pd.DataFrame] = {}
    for table, release in releases.items():
        parent = schema.tables[table].parent
        if parent is None:
            frames[table] = release.sample(family.persons, seed=seed)
        else:
            held = _held(frames[parent], table, schema.rows_of(table))
            owner = np.repeat(np.arange(len(held)), held)
            drawn = release.sample(len(owner), seed=seed)
            frames[table] = drawn.iloc[rng.permutation(len(drawn))].assign(**{schema.foreign_key_of(table): owner})
        if schema.tables[table].key is not None:
            frames[table] = frames[table].assign(**{str(schema.tables[table].key): np.arange(len(frames[table]))})
    return Drawn(family.with_frames(frames), fitted - begin, time.process_time() - fitted, {})


def with_counts(family: Family, table: str) -> tuple[pd.DataFrame, list[Column]]:
    """A table with the number of rows below each of its rows, where that is not always the same."""
    schema, rows, columns = family.schema, family.frames[table], family.columns(table)
    for below in schema.children(table):
        low, high = schema.rows_of(below)
        if low < high:
            held = family.frames[below][schema.foreign_key_of(below)].value_counts()
            counts = rows[schema.tables[table].key].map(held).fillna(0).astype(int).clip(low, high)
            rows = rows.assign(**{f"number_of_{below}": counts})
            columns.append({"name": f"number_of_{below}", "type": "integer", "bounds": [low, high]})
    return rows, columns


def _held(parents: pd.DataFrame, table: str, bounds: tuple[int, int]) -> Any:
    name = f"number_of_{table}"
    return parents[name].to_numpy(dtype=int) if name in parents else np.full(len(parents), bounds[1])


def _persons(family: Family, table: str) -> Any:
    """The key of each row's person."""
    schema = family.schema
    parent = schema.tables[table].parent or ""
    named = family.frames[table][schema.foreign_key_of(table)]
    if parent == schema.root:
        return named.to_numpy()
    above = pd.Series(_persons(family, parent), index=family.frames[parent][schema.tables[parent].key])
    return named.map(above).to_numpy()


def _schema(
    family: Family, name: str, columns: list[Column], table: str, rules: list[Any], unit: tuple[str, int] | None
) -> sfumato.Schema:
    """The schema of a single table; of a table's target as the family has it."""
    content: dict[str, Any] = {"sfumato": 1, "name": name.replace(" ", "-"), "columns": columns, "constraints": rules}
    target = family.schema.tables[table].target
    if target is not None:
        content["target"] = target
    if unit is not None:
        content["unit"] = {"column": unit[0], "records": unit[1]}
    return sfumato.Schema.from_dict(content)


def _release(rows: pd.DataFrame, schema: sfumato.Schema, epsilon: float, seed: int) -> sfumato.Release:
    rows = rows.reset_index(drop=True)
    return sfumato.release(rows, schema, epsilon=epsilon, delta=DELTA, types="declared", ledger=None, seed=100 + seed)


def interpreter() -> str | None:
    """The Python that has SDV, named by the environment."""
    found = os.environ.get(INTERPRETER)
    return found if found and Path(found).exists() else None


def run_peer(family: Family, model: str, seed: int) -> Drawn:
    """SDV on some of the persons. Raises `NotRunError` where it is not there, fails or does not finish."""
    python = interpreter()
    if python is None:
        raise NotRunError(f"no interpreter with SDV; set {INTERPRETER} to the path of one")
    if model == "PAR" and len(family.children) > 1:
        raise NotRunError("PAR models one table of sequences")
    few = family.some(_some_persons(family, seed))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(few, folder)
        command = [python, str(PEER), model, name, str(seed)]
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        try:
            subprocess.run(
                command, check=True, timeout=PEER_SECONDS, capture_output=True, env={**os.environ, **one_thread}
            )
        except subprocess.TimeoutExpired:
            raise NotRunError(f"did not finish in {PEER_SECONDS} s") from None
        except subprocess.CalledProcessError as error:
            raise NotRunError(f"stopped: {_last_error(error.stderr)}") from None
        frames = {name: pd.read_parquet(folder / f"{name}.drawn.parquet") for name in family.schema.tables}
        took = json.loads((folder / "took.json").read_text())
    return Drawn(family.with_frames(frames), took["fit"], took["draw"], {})


def _last_error(stderr: bytes) -> str:
    """The error that ended a script, on one line."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    named = [place for place, line in enumerate(lines) if line[:1].strip() and "Error" in line]
    return " ".join(lines[named[-1] if named else -1 :])[:300]


def _some_persons(family: Family, seed: int) -> Any:
    key = family.schema.tables[family.schema.root].key
    persons = family.frames[family.schema.root][key].to_numpy()
    return persons[np.random.default_rng(seed).permutation(len(persons))[:PEER_PERSONS]]


def _write(family: Family, folder: Path) -> None:
    """The tables in order, and what the peer has to know of them."""
    schema, told = family.schema, {}
    for name, table in schema.tables.items():
        order = None if table.order is None or isinstance(table.order, str) else table.order.column
        columns = {column["name"]: column["type"] for column in family.columns(name)}
        foreign = None if table.parent is None else schema.foreign_key_of(name)
        ids = [one for one in (table.key, foreign) if one is not None]
        told[name] = {"key": table.key, "parent": table.parent, "foreign_key": foreign, "columns": columns}
        by = order or (table.order if isinstance(table.order, str) else None)
        rows = family.frames[name] if by is None else family.frames[name].sort_values([foreign, by])
        rows[[*ids, *columns]].to_parquet(folder / f"{name}.parquet", index=False)
    (folder / "family.json").write_text(json.dumps(told))


def flat_of(family: Family) -> Unlinked:
    """The real rows as those of `unit` come: without links."""
    return Unlinked({table: derive(family, table, flat_rows(family, table)) for table in family.children})
