"""The five tables of the census experiment, from the data at hand, as frames with a public schema and as plain arrays.

Income      ACS 2018 of 37 states; marital status and race are coarser than in the public file
Coverage    ACS of Connecticut, 2018, 2019 and 2021, aged 15 and over, incomes in adjusted dollars and not below 0;
            without ANC, DEAR, DEYE, DREM, FER, MIG and ST
Employment  the same people up to 90; without ANC, DEAR, DEYE, DREM, MIG and RELP
Adult       in place of Mobility, which asks for MIG, ANC, GCL and others that are not at hand
Readmission in place of TravelTime, which asks for JWMNP, JWTR and POWPUMA: people with diabetes who left a hospital,
            and whether they came back

Occupations and places of birth are by groups of the code book. Bounds and codes of the ACS are the code book's; lists
of categories of the last two stand for theirs, as in `experiments.tasks`. A table of more than 53,333 rows is a
sub-sample, drawn once and in public; a quarter of its rows is held out.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

import sfumato
from experiments import tasks
from experiments.slicing.acs import RULES, TARGET, applied, schema_of, worded
from experiments.slicing.metrics import Coded
from experiments.slicing.rows import Rows
from sfumato.evaluation.records import read_all, values_of
from sfumato.trusted.encoding import CategoricalCodec, Encoder, NumericCodec

MOST_ROWS = 53_333  # three quarters are 40,000


def income() -> tasks.Task:
    """The file at hand has those who count already, and the answer instead of the income."""
    persons = pd.read_parquet(tasks.data_folder() / "acs_income_2018.parquet")
    rule, coarse = RULES["Income"], {"MAR": range(1, 3), "RAC1P": range(1, 6)}
    persons = cut(persons)
    rows = worded(persons[list(rule.features)]).assign(**{TARGET: persons["PINCP_gt_50000"].astype(int).astype(str)})
    return tasks.Task("Income", rows, schema_of(rule, rule.features, codes=coarse))


def coverage() -> tasks.Task:
    lacking = ("ANC", "DEAR", "DEYE", "DREM", "FER", "MIG", "ST")
    return _of_connecticut("Coverage", lacking, {"AGEP": (15, 64), "PINCP": (0.0, 30_000.0)})


def employment() -> tasks.Task:
    return _of_connecticut("Employment", ("ANC", "DEAR", "DEYE", "DREM", "MIG", "RELP"), {"AGEP": (15, 90)})


def _of_connecticut(name: str, lacking: tuple[str, ...], bounds: dict[str, tuple[float, float]]) -> tasks.Task:
    persons = pd.read_parquet(tasks.data_folder() / "acs_ct_pums.parquet").rename(columns={"PINCP_adj": "PINCP"})
    persons["NATIVITY"] = np.where(persons["CIT"] <= 3, 1, 2)
    rows = cut(applied(RULES[name], persons, lacking))
    return tasks.Task(name, rows, schema_of(RULES[name], set(rows.columns), bounds))


def adult() -> tasks.Task:
    return tasks.adult()


_STAY = {
    "time_in_hospital": (1, 14),
    "num_lab_procedures": (0, 140),
    "num_procedures": (0, 6),
    "num_medications": (0, 90),
    "number_diagnoses": (1, 16),
}
_PATIENT = ("race", "gender", "age", "admission_type_id", "discharge_disposition_id", "A1Cresult", "insulin")


def readmission() -> tasks.Task:
    """The first stay of each patient, so that a record is a person."""
    rows = pd.read_parquet(tasks.data_folder() / "diabetes130.parquet").sort_values("encounter_id")
    rows = cut(rows.drop_duplicates("patient_nbr"))
    back = (rows["readmitted"] != "NO").astype(int)
    kept = rows[[*_PATIENT, "change", "diabetesMed", *_STAY]].assign(**{TARGET: back})
    return tasks.task_of("Readmission", kept, TARGET, _STAY)


def cut(rows: pd.DataFrame) -> pd.DataFrame:
    """A public sub-sample of what is too long."""
    few = rows.sample(MOST_ROWS, random_state=0) if len(rows) > MOST_ROWS else rows
    return few.reset_index(drop=True)


TASKS: dict[str, Callable[[], tasks.Task]] = {
    "Income": income,
    "Coverage": coverage,
    "Employment": employment,
    "Adult": adult,
    "Readmission": readmission,
}


@cache
def task(name: str) -> tasks.Task:
    return TASKS[name]()


@cache
def rows_of(name: str) -> Rows:
    """A table as plain arrays, whose split is that of the frame, row by row."""
    one = task(name)
    coded, columns = coded_rows(one.rows, one.schema), Encoder(one.schema).columns
    kinds, steps = [], []
    for column in one.schema.features:
        codes = columns[column]
        if isinstance(codes, NumericCodec):
            kinds.append(0)
            steps.append(round(codes.high - codes.low) if one.schema[column].type == "integer" else 0)
        else:
            kinds.append(max(2, codes.size))  # a column of one value could have had another
            steps.append(0)
    target = columns[str(one.schema.target)]
    assert isinstance(target, CategoricalCodec)
    bare = Rows(coded.X.astype(np.float32), coded.y, tuple(kinds), target.size, None, tuple(steps))
    return replace(bare, X=bare.snapped(coded).X.astype(np.float32))


def coded_rows(data: object, schema: sfumato.Schema) -> Coded:
    """Real or synthetic rows of a schema as numbers. A gap among numbers stays one; among categories it is the last."""
    columns = Encoder(schema).columns
    values = values_of(read_all(data, schema), schema)
    found = []
    for name in schema.features:
        codes = columns[name]
        if isinstance(codes, NumericCodec):
            found.append((values[name] - codes.low) / (codes.high - codes.low))
        else:
            found.append(np.nan_to_num(values[name], nan=codes.size - 1))
    return Coded(np.column_stack(found), values[str(schema.target)].astype(np.int64))
