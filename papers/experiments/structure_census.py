"""Real tables with structure: persons by area, and columns with rules that hold in every row.

Choosing (`development`): persons in Connecticut of 2018 and 2019. Reporting (`held out`): those of 2021, by other
columns and other functions of the area; for rules, the census of `experiments.tasks`, with other rules. An early study
drew from all three years, so that it saw some persons of 2021, by the columns for choosing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from experiments.structure_data import Table, described
from experiments.tasks import data_folder

AREA, DENSITY, COUNTY = "PUMA", "DENSITY", "COUNTY"
DEVELOPMENT = "development"
AREA_COLUMNS = {
    DEVELOPMENT: "PUMA AGEP SEX MAR HISP RAC1P NPF TEN INDP_bin20 SCHL PINCP_adj WKHP COW CIT "
    "DIS MIL HICOV PUBCOV LANX",
    "held out": "PUMA AGEP SEX MAR HISP RAC1P NRC TEN ESR SCHL SSP_adj PAP_adj FS WAOB MARHT PRIVCOV ENG HUGCL MULTG",
}
TEN_COLUMNS = {
    DEVELOPMENT: "AGEP SEX MAR HISP RAC1P SCHL CIT MIL DIS NPF",
    "held out": "AGEP SEX MAR HISP RAC1P SCHL WAOB TEN LANX FS",
}
_BOUNDS: Mapping[str, tuple[Any, Any]] = {
    "AGEP": (15, 99),
    "WKHP": (0, 99),
    "NPF": (1, 20),
    "NRC": (0, 20),
    "PINCP_adj": (0.0, 1_600_000.0),
    "SSP_adj": (0.0, 60_000.0),
    "PAP_adj": (0.0, 30_000.0),
}
_NONE = {"missing": True}
CONNECTICUT_RULES: tuple[Any, ...] = (
    {"forbid": {"AGEP": {"to": 17}, "SCHL": ["21", "22", "23", "24"]}},  # a minor with a degree
    {"if": {"MAR": "5"}, "then": {"MARHT": _NONE}},  # never married, yet so many times
    {"if": {"LANX": "2"}, "then": {"ENG": _NONE}},  # English is spoken at home: nobody asks how well
    {"if": {"HICOV": "2"}, "then": {"PRIVCOV": "2", "PUBCOV": "2"}},
    {"forbid": {"HICOV": "1", "PRIVCOV": "2", "PUBCOV": "2"}},
    {"if": {"AGEP": {"to": 15}}, "then": {"ESR": _NONE}},
    {"if": {"AGEP": {"to": 16}}, "then": {"MIL": _NONE}},
    {"null_together": ["TEN", "HUGCL"]},
    {"if": {"CIT": "1"}, "then": {"WAOB": "1"}},  # born in the United States
    {"forbid": {"WKHP": {"from": 1}, "COW": _NONE}},  # hours of work without work
    {"if": {"ESR": "1"}, "then": {"WKHP": {"from": 1}}},
)
_UNUSED = "Not in universe"
_JOINT = ["Joint both under 65", "Joint both 65+", "Joint one under 65 & one 65+"]
_DEGREES = [
    "Masters degree(MA MS MEng MEd MSW MBA)",
    "Prof school degree (MD DDS DVM LLB JD)",
    "Doctorate degree(PhD EdD)",
]
CENSUS_RULES: tuple[Any, ...] = (
    {"if": {"age": {"to": 14}}, "then": {"education": "Children"}},
    {"forbid": {"age": {"from": 15}, "education": "Children"}},
    {"forbid": {"age": {"to": 17}, "education": _DEGREES}},
    {"if": {"age": {"from": 18}}, "then": {"family members under 18": _UNUSED}},
    {"if": {"age": {"to": 14}}, "then": {"weeks worked in year": {"to": 0}}},
    {"if": {"major occupation code": _UNUSED}, "then": {"major industry code": "Not in universe or children"}},
    {"if": {"class of worker": _UNUSED}, "then": {"major occupation code": _UNUSED}},
    {"forbid": {"tax filer stat": _JOINT, "marital stat": ["Never married", "Divorced", "Widowed"]}},
    {"forbid": {"tax filer stat": "Joint both under 65", "age": {"from": 65}}},
    {"forbid": {"weeks worked in year": {"from": 1}, "num persons worked for employer": {"to": 0}}},
    {"forbid": {"wage per hour": {"from": 1}, "class of worker": _UNUSED}},
    {
        "if": {"detailed household summary in household": "Child under 18 never married"},
        "then": {"marital stat": "Never married", "age": {"to": 17}},
    },
)


def columns_of(rules: Sequence[Any]) -> list[str]:
    """The columns that rules name, in their order."""
    names: dict[str, None] = {}
    for rule in rules:
        for part in rule.values():
            names.update(dict.fromkeys(part))
    return list(names)


def _connecticut(data: str, columns: Sequence[str], rows: int) -> pd.DataFrame:
    people = pd.read_parquet(data_folder() / "acs_ct_pums.parquet")
    people = people[(people["year"] < 2021) == (data == DEVELOPMENT)]
    return people.sample(min(rows, len(people)), random_state=0)[list(columns)]


def by_area(data: str, rows: int = 27_000) -> Table:
    """21 columns: 19 of the file, and two made-up functions of the area: density, of as many values, and county."""
    people = _connecticut(data, AREA_COLUMNS[data].split(), rows)
    rng = np.random.default_rng([DEVELOPMENT, "held out"].index(data))
    areas = sorted(people[AREA].unique())
    density = [f"{value:.2f}" for value in np.exp(rng.normal(6, 1.5, len(areas)))]
    county = [f"county {place}" for place in rng.integers(0, 8, len(areas))]
    people[DENSITY] = people[AREA].map(dict(zip(areas, density, strict=True)))
    people[COUNTY] = people[AREA].map(dict(zip(areas, county, strict=True)))
    return described("areas", people, _BOUNDS)


def ten_columns(data: str, rows: int = 27_000) -> Table:
    """Demographic columns alone."""
    return described("ten", _connecticut(data, TEN_COLUMNS[data].split(), rows), _BOUNDS)


def with_rules(data: str, rows: int = 27_000) -> Table:
    """The columns of the rules."""
    if data == DEVELOPMENT:
        people = _connecticut(data, columns_of(CONNECTICUT_RULES), rows)
        return described("rules", people, _BOUNDS, CONNECTICUT_RULES)
    people = pd.read_parquet(data_folder() / "census_kdd.parquet")[columns_of(CENSUS_RULES)]
    people = people.sample(rows, random_state=0)
    for name in people.select_dtypes(exclude="number"):
        people[name] = people[name].str.strip()
    bounds = {
        "age": (0, 90),
        "weeks worked in year": (0, 52),
        "num persons worked for employer": (0, 6),
        "wage per hour": (0, 9_999),
    }
    return described("rules", people, bounds, CENSUS_RULES)
