"""The tables of the experiments, with their public schemas.

Bounds are documented ranges, rounded outward. Lists of categories stand for the code books, which are not at hand in a
form that a program can read: they are taken from the whole file, the test rows among them.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato

Bounds = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Task:
    """A table and a schema that names a target."""

    name: str
    rows: pd.DataFrame
    schema: sfumato.Schema


def data_folder() -> Path:
    """Where the real data is, or a clear end."""
    folder = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not folder.is_dir():
        raise SystemExit(f"no real data at {folder}; set SFUMATO_DATA to a folder that holds it")
    return folder


def task_of(name: str, rows: pd.DataFrame, target: str, bounds: Bounds) -> Task:
    """Whole bounds make an integer column, others a number; every other column is a category."""
    columns: list[dict[str, Any]] = []
    rows = rows.copy()
    for column in rows.columns:
        if column in bounds:
            kind = "integer" if all(isinstance(end, int) for end in bounds[column]) else "number"
            missing = bool(rows[column].isna().any())
            columns.append({"name": column, "type": kind, "bounds": list(bounds[column]), "missing": missing})
        else:
            values = rows[column].astype(object).where(rows[column].notna(), "missing").map(_plain)
            rows[column] = values
            columns.append({"name": column, "type": "category", "values": sorted(values.unique())})
    content = {"sfumato": 1, "name": name.replace(" ", "-"), "columns": columns, "target": target}
    return Task(name, rows.reset_index(drop=True), sfumato.Schema.from_dict(content))


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def adult() -> Task:
    rows = pd.read_parquet(data_folder() / "adult.parquet")
    rows = rows[rows["split"] == "train"].drop(columns="split")
    bounds = {
        "age": (17, 90),
        "fnlwgt": (10_000, 1_500_000),
        "education-num": (1, 16),
        "capital-gain": (0, 99_999),
        "capital-loss": (0, 4_500),
        "hours-per-week": (1, 99),
    }
    return task_of("adult", rows, "income", bounds)


def adult_age() -> Task:
    """Adult with a number to predict."""
    income = adult()
    content = income.schema.to_dict() | {"target": "age"}
    return Task("adult age", income.rows, sfumato.Schema.from_dict(content))


def census() -> Task:
    rows = pd.read_parquet(data_folder() / "census_kdd.parquet").drop(columns=["split", "instance weight"])
    rows["income"] = rows["income"].str.strip()
    bounds = {
        "age": (0, 90),
        "wage per hour": (0, 9_999),
        "capital gains": (0, 99_999),
        "capital losses": (0, 4_700),
        "dividends from stocks": (0, 99_999),
        "num persons worked for employer": (0, 6),
        "weeks worked in year": (0, 52),
    }
    return task_of("census", rows, "income", bounds)


def credit() -> Task:
    rows = pd.read_parquet(data_folder() / "creditcard.parquet")
    bounds: dict[str, tuple[float, float]] = {name: (-128.0, 128.0) for name in rows if name.startswith("V")}
    return task_of("credit", rows, "Class", bounds | {"Time": (0, 172_800), "Amount": (0.0, 30_000.0)})


def income_2018() -> Task:
    """ACS income, as many rows as Adult has. Used for choosing."""
    rows = pd.read_parquet(data_folder() / "acs_income_2018.parquet").sample(32_561, random_state=0)
    rows["rich"] = rows["PINCP_gt_50000"].astype(int)
    rows = rows.drop(columns=[name for name in rows if name.startswith("PINCP")])
    return task_of("acs income", rows, "rich", {"AGEP": (17, 99), "WKHP": (1, 99)})


_CONNECTICUT: Bounds = {
    "AGEP": (15, 99),
    "PAP_adj": (0.0, 30_000.0),
    "SSP_adj": (0.0, 60_000.0),
    "WKHP": (0, 99),
    "NPF": (1, 20),
    "NRC": (0, 20),
    "PINCP_adj": (0.0, 1_600_000.0),
}


def coverage() -> Task:
    """Public health insurance of people with little income in Connecticut. Used for choosing."""
    rows = pd.read_parquet(data_folder() / "acs_ct_pums.parquet").drop(columns=["year", "PWGTP"])
    rows = rows[(rows["AGEP"] < 65) & (rows["PINCP_adj"] <= 40_000)].drop(columns=["HICOV", "PRIVCOV"])
    return task_of("coverage", rows, "PUBCOV", dict(_CONNECTICUT) | {"PINCP_adj": (0.0, 40_000.0)})


def class_of_worker() -> Task:
    """Six kinds of employment in Connecticut. Used for choosing by the study, and not since."""
    rows = pd.read_parquet(data_folder() / "acs_ct_pums.parquet").drop(columns=["year", "PWGTP", "ESR"])
    kinds = np.array(["none", "private", "non-profit", "local", "state", "state", "self", "self", "private", "none"])
    rows["COW"] = kinds[rows["COW"].fillna(0).astype(int)]
    return task_of("class of worker", rows, "COW", _CONNECTICUT)


_DIABETES: Bounds = {
    "num_lab_procedures": (0, 140),
    "num_procedures": (0, 6),
    "num_medications": (0, 90),
    "number_outpatient": (0, 45),
    "number_emergency": (0, 80),
    "number_inpatient": (0, 25),
    "number_diagnoses": (1, 16),
}


def _first_stays() -> pd.DataFrame:
    """The first stay of each patient, so that a record is a person; diagnoses by chapter of their code."""
    rows = pd.read_parquet(data_folder() / "diabetes130.parquet").sort_values("encounter_id")
    rows = rows.drop_duplicates("patient_nbr").drop(columns=["encounter_id", "patient_nbr", "readmitted"])
    for name in ("diag_1", "diag_2", "diag_3"):
        rows[name] = rows[name].astype(str).map(_chapter)
    return rows


ICD9_CHAPTERS = {
    "circulatory": [(390, 459), (785, 785)],
    "respiratory": [(460, 519), (786, 786)],
    "digestive": [(520, 579), (787, 787)],
    "injury": [(800, 999)],
    "musculoskeletal": [(710, 739)],
    "genitourinary": [(580, 629), (788, 788)],
    "neoplasms": [(140, 239)],
}
"""Diagnoses by ICD-9, as Strack et al. 2014 group them; first and last number."""


def _chapter(code: str) -> str:
    if code.startswith("250"):
        return "diabetes"
    if not code[:1].isdigit():
        return "external" if code[:1] in "EV" else "missing"
    number = int(float(code))
    found = (name for name, parts in ICD9_CHAPTERS.items() if any(low <= number <= high for low, high in parts))
    return next(found, "other")


def length_of_stay() -> Task:
    """Days in hospital in four classes. Used for no choice."""
    rows = _first_stays()
    cuts, names = [0, 2, 4, 7, 14], ["1-2", "3-4", "5-7", "8-14"]
    rows["time_in_hospital"] = pd.cut(rows["time_in_hospital"], cuts, labels=names).astype(str)
    return task_of("length of stay", rows, "time_in_hospital", _DIABETES)


def days_in_hospital() -> Task:
    """The same as a number. Used for no choice."""
    return task_of(
        "days in hospital", _first_stays(), "time_in_hospital", dict(_DIABETES) | {"time_in_hospital": (1, 14)}
    )


TASKS: dict[str, Callable[[], Task]] = {
    "adult": adult,
    "census": census,
    "credit": credit,
    "length of stay": length_of_stay,
    "class of worker": class_of_worker,
    "acs income": income_2018,
    "coverage": coverage,
    "adult age": adult_age,
    "days in hospital": days_in_hospital,
}
