"""The five census tasks of F. Ding, M. Hardt, J. Miller and L. Schmidt, *Retiring Adult: New Datasets for Fair Machine
Learning* (2021), as rules on the public ACS person file (`psam_pXX.csv` of the 1-year PUMS of 2018).

A rule names its columns, who counts, and the question. It is applied to whatever frame has the columns; what is not
there is named, and may be done without only where the caller says so.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.slicing.codebook import NUMBERS, described, plain
from sfumato.errors import DataError
from sfumato.trusted.schema import Schema

TARGET = "target"
Condition = Callable[[pd.DataFrame], "pd.Series[bool]"]


@dataclass(frozen=True)
class Rule:
    """One task: `features` are learnt from, `needs` are read by `counts` (who is in the table) and `asks` (the label).

    `bounds` are those that the filter makes narrower than the code book; `gaps` are the columns that do not apply to
    everybody who counts.
    """

    name: str
    features: tuple[str, ...]
    needs: tuple[str, ...]
    counts: Condition
    asks: Condition
    bounds: dict[str, tuple[float, float]]
    gaps: tuple[str, ...] = ()


_PERSON = ("AGEP", "SCHL", "MAR", "SEX", "DIS", "ESP", "CIT", "MIL", "ANC", "NATIVITY", "DEAR", "DEYE", "DREM", "RAC1P")

RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "Income",
            ("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P"),
            ("AGEP", "PINCP", "WKHP", "PWGTP"),
            lambda who: (who["AGEP"] > 16) & (who["PINCP"] > 100) & (who["WKHP"] > 0) & (who["PWGTP"] >= 1),
            lambda who: who["PINCP"] > 50_000,
            {"AGEP": (17, 99)},
        ),
        Rule(
            "Coverage",
            (*_PERSON, "MIG", "PINCP", "ESR", "ST", "FER"),
            ("AGEP", "PINCP", "PUBCOV"),
            lambda who: (who["AGEP"] < 65) & (who["PINCP"] <= 30_000),
            lambda who: who["PUBCOV"] == 1,
            {"AGEP": (0, 64), "PINCP": (-19_998, 30_000)},
            ("SCHL", "DREM", "ESP", "MIL", "MIG", "ESR", "FER"),
        ),
        Rule(
            "Mobility",
            (*_PERSON, "RELP", "GCL", "COW", "ESR", "WKHP", "JWMNP", "PINCP"),
            ("AGEP", "MIG"),
            lambda who: (who["AGEP"] > 18) & (who["AGEP"] < 35),
            lambda who: who["MIG"] == 1,
            {"AGEP": (19, 34)},
            ("ESP", "GCL", "COW", "WKHP", "JWMNP"),
        ),
        Rule(
            "Employment",
            (*_PERSON, "RELP", "MIG"),
            ("AGEP", "ESR"),
            lambda who: (who["AGEP"] >= 0) & (who["AGEP"] <= 90),
            lambda who: who["ESR"] == 1,
            {"AGEP": (0, 90)},
            ("SCHL", "DREM", "ESP", "MIL", "MIG"),
        ),
        Rule(
            "TravelTime",
            (
                *("AGEP", "SCHL", "MAR", "SEX", "DIS", "ESP", "MIG", "RELP", "RAC1P", "PUMA", "ST", "CIT", "OCCP"),
                *("JWTR", "POWPUMA", "POVPIP"),
            ),
            ("AGEP", "PWGTP", "ESR", "JWMNP"),
            lambda who: (who["AGEP"] > 16) & (who["PWGTP"] >= 1) & (who["ESR"] == 1),
            lambda who: who["JWMNP"] > 20,
            {"AGEP": (17, 99)},
            ("ESP", "JWTR", "POWPUMA", "POVPIP"),
        ),
    )
}


def read_person_file(path: Path, rule: Rule) -> pd.DataFrame:
    """The columns that a rule wants of a person file, as far as they are there."""
    wanted = {*rule.features, *rule.needs}
    return pd.read_csv(path, usecols=lambda name: name in wanted)


def applied(rule: Rule, persons: pd.DataFrame, without: Collection[str] = ()) -> pd.DataFrame:
    """Those who count: their features, and "1" or "0" as the target; categories as words, numbers as they are."""
    kept = [name for name in rule.features if name not in without]
    lacking = sorted({*kept, *rule.needs} - set(persons.columns))
    if lacking:
        raise DataError(
            f"the task {rule.name} needs columns that are not there: {', '.join(lacking)}; name those of the features "
            "that are to be done without"
        )
    who = persons[rule.counts(persons).fillna(False).astype(bool)].reset_index(drop=True)
    label = rule.asks(who).fillna(False).astype(int).astype(str)
    return worded(who[kept]).assign(**{TARGET: label})


def worded(features: pd.DataFrame) -> pd.DataFrame:
    """Categories by their codes of the code book, numbers as they are."""
    return features.assign(**{name: plain(features[name]) for name in features if name not in NUMBERS})


def schema_of(
    rule: Rule,
    kept: Collection[str],
    bounds: dict[str, tuple[float, float]] | None = None,
    codes: dict[str, range] | None = None,
) -> Schema:
    """The schema of a task's table by the code book alone; `bounds` and `codes` say where a file differs from it."""
    ranges: dict[str, tuple[float, float]] = {**NUMBERS, **rule.bounds, **(bounds or {})}
    columns: list[dict[str, Any]] = [
        described(name, ranges.get(name), name in rule.gaps, (codes or {}).get(name))
        for name in rule.features
        if name in kept
    ]
    columns.append({"name": TARGET, "type": "category", "values": ["0", "1"]})
    content = {"sfumato": 1, "name": rule.name.lower(), "columns": columns, "target": TARGET}
    return Schema.from_dict(content)
