"""What the public code book of the ACS person file (2018) says of the columns of the tasks: codes, ranges, groups."""

from typing import Any

import numpy as np
import pandas as pd

NUMBERS: dict[str, tuple[int, int]] = {
    "AGEP": (0, 99),
    "WKHP": (1, 99),
    "PINCP": (-19_998, 4_209_995),
    "JWMNP": (1, 200),
    "POVPIP": (0, 501),
}
"""Ranges of the columns that are numbers; a task may narrow them by its own filter."""

CODES: dict[str, range] = {
    "ANC": range(1, 5),
    "CIT": range(1, 6),
    "COW": range(1, 10),
    "DEAR": range(1, 3),
    "DEYE": range(1, 3),
    "DIS": range(1, 3),
    "DREM": range(1, 3),
    "ESP": range(1, 9),
    "ESR": range(1, 7),
    "FER": range(1, 3),
    "GCL": range(1, 3),
    "JWTR": range(1, 13),
    "MAR": range(1, 6),
    "MIG": range(1, 4),
    "MIL": range(1, 5),
    "NATIVITY": range(1, 3),
    "OCCP": range(26),
    "POBP": range(8),
    "RAC1P": range(1, 10),
    "RELP": range(18),
    "SCHL": range(1, 25),
    "SEX": range(1, 3),
    "ST": range(1, 73),
}
"""Codes of the columns that are categories. What is not among them, a gap too, is `MISSING`."""

MISSING = "missing"
_GROUPS: dict[str, list[int]] = {  # where each group of the code book begins
    "OCCP": [
        *(10, 500, 800, 1005, 1305, 1600, 2001, 2100, 2205, 2600, 3000, 3600, 3700),
        *(4000, 4200, 4330, 4700, 5000, 6005, 6200, 6800, 7000, 7700, 9005, 9800, 9920),
    ],
    "POBP": [1, 57, 100, 200, 300, 400, 500, 555],
}


def group_of(name: str, codes: Any) -> Any:
    """Occupations by major group, places of birth by part of the world: which one a detailed code is in, from 0."""
    return np.searchsorted(_GROUPS[name], codes, side="right") - 1


def plain(column: pd.Series) -> pd.Series:
    """The codes of a category as words, as a schema lists them."""
    name, gap = str(column.name), column.isna()
    codes = column.fillna(-1).astype(np.int64)
    if name in _GROUPS:
        codes = pd.Series(group_of(name, codes), index=column.index)
    if name not in CODES:
        return codes.astype(str).where(~gap, MISSING)
    return codes.astype(str).where(~gap & codes.isin(CODES[name]), MISSING)


def described(name: str, bounds: tuple[float, float] | None, missing: bool, codes: range | None) -> dict[str, Any]:
    """A column of a schema: a number within its bounds, or a category with all of its codes."""
    if bounds is not None:
        kind = "integer" if all(isinstance(end, int) for end in bounds) else "number"
        return {"name": name, "type": kind, "bounds": list(bounds), "missing": missing}
    values = [str(code) for code in codes or CODES[name]]
    return {"name": name, "type": "category", "values": [*values, *([MISSING] if missing else [])]}
