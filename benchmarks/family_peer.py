"""Run by an interpreter that has SDV: a model of several tables (HMA) or of sequences (PAR). Not part of the library.

`python family_peer.py HMA|PAR FOLDER SEED`

FOLDER holds TABLE.parquet for each table and family.json: {TABLE: {key, parent, foreign_key, columns: {NAME: TYPE}}}.
As many persons as there are come back as TABLE.drawn.parquet, and took.json tells the CPU seconds. Not private.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sdv.metadata import Metadata  # type: ignore[import-not-found]

KINDS = {"category": "categorical", "boolean": "boolean", "integer": "numerical", "number": "numerical"}
EPOCHS = 40  # of PAR; its default, 128, takes three times as long
ONE = "sequences"

Tables = dict[str, pd.DataFrame]
Told = dict[str, dict[str, Any]]


def kind_of(kind: str) -> dict[str, str]:
    return {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"} if kind == "date" else {"sdtype": KINDS[kind]}


def read(folder: Path, told: Told) -> Tables:
    """Dates as text, and lists of values as text or nothing."""
    tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in told}
    for name, table in told.items():
        for column, kind in table["columns"].items():
            rows = tables[name]
            if kind == "date":
                rows[column] = pd.to_datetime(rows[column]).dt.strftime("%Y-%m-%d")
            elif kind == "category":
                rows[column] = rows[column].map(str, na_action="ignore").astype(object)
    return tables


def write(folder: Path, told: Told, drawn: Tables) -> None:
    for name, table in told.items():
        rows = drawn[name]
        for column, kind in table["columns"].items():
            if kind == "date":
                rows[column] = pd.to_datetime(rows[column])
            elif kind == "boolean":
                rows[column] = rows[column].astype(bool)
        rows.to_parquet(folder / f"{name}.drawn.parquet", index=False)


def model_tables(told: Told) -> Any:
    """The synthesizer of a whole family."""
    from sdv.multi_table import HMASynthesizer  # type: ignore[import-not-found]

    tables: dict[str, Any] = {}
    relations = []
    for name, table in told.items():
        ids = {one: {"sdtype": "id"} for one in (table["key"], table["foreign_key"]) if one}
        tables[name] = {"columns": {**ids, **{one: kind_of(kind) for one, kind in table["columns"].items()}}}
        if table["key"]:
            tables[name]["primary_key"] = table["key"]
        if table["parent"]:
            relations.append(
                {
                    "parent_table_name": table["parent"],
                    "parent_primary_key": told[table["parent"]]["key"],
                    "child_table_name": name,
                    "child_foreign_key": table["foreign_key"],
                }
            )
    content = {"METADATA_SPEC_VERSION": "V1", "tables": tables, "relationships": relations}
    return HMASynthesizer(Metadata.load_from_dict(content), verbose=False)


def model_sequences(told: Told) -> Any:
    """The synthesizer of the rows of persons, with the columns of persons as context."""
    from sdv.sequential import PARSynthesizer  # type: ignore[import-not-found]

    (root, parent), (_, child) = told.items()
    columns = {one: kind_of(kind) for one, kind in {**parent["columns"], **child["columns"]}.items()}
    one = {"columns": {parent["key"]: {"sdtype": "id"}, **columns}, "sequence_key": parent["key"]}
    content = {"METADATA_SPEC_VERSION": "V1", "tables": {ONE: one}, "relationships": []}
    context = list(told[root]["columns"])
    return PARSynthesizer(Metadata.load_from_dict(content), context_columns=context, epochs=EPOCHS, cuda=False)


def fit_tables(told: Told, tables: Tables, seconds: dict[str, float]) -> Tables:
    root = next(name for name, table in told.items() if not table["parent"])
    begin = time.process_time()
    model = model_tables(told)
    model.fit(tables)
    fitted = time.process_time()
    drawn: Tables = model.sample(len(tables[root]), main_table_name=root)
    seconds |= {"fit": fitted - begin, "draw": time.process_time() - fitted}
    return drawn


def fit_sequences(told: Told, tables: Tables, seconds: dict[str, float]) -> Tables:
    (root, parent), (name, child) = told.items()
    rows = tables[name].rename(columns={child["foreign_key"]: parent["key"]})
    joined = rows.merge(tables[root], on=parent["key"])
    begin = time.process_time()
    model = model_sequences(told)
    model.fit({ONE: joined})
    fitted = time.process_time()
    drawn = model.sample_sequences(len(tables[root]))[ONE]
    seconds |= {"fit": fitted - begin, "draw": time.process_time() - fitted}
    persons = drawn.drop_duplicates(parent["key"])[[parent["key"], *parent["columns"]]]
    own = drawn.rename(columns={parent["key"]: child["foreign_key"]})[[child["foreign_key"], *child["columns"]]]
    return {root: persons, name: own}


def main() -> None:
    model, place, seed = sys.argv[1:]
    warnings.filterwarnings("ignore")
    np.random.seed(int(seed))  # noqa: NPY002 - what SDV draws from
    torch.manual_seed(int(seed))
    torch.set_num_threads(1)
    folder = Path(place)
    told: Told = json.loads((folder / "family.json").read_text())
    seconds: dict[str, float] = {}
    fit = fit_tables if model == "HMA" else fit_sequences
    write(folder, told, fit(told, read(folder, told), seconds))
    (folder / "took.json").write_text(json.dumps(seconds))


if __name__ == "__main__":
    main()
