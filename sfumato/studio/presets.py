"""Definitions of common columns, one click each. None of them was read off anybody's rows."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Definition = Mapping[str, Any]


class Preset(NamedTuple):
    """A definition by name, and what to know of it."""

    label: str
    make: Callable[[], Definition]
    hint: str


def _this_year() -> int:
    return dt.datetime.now(tz=dt.UTC).year


def _born() -> Definition:
    return {"type": "date", "bounds": [dt.date(1900, 1, 1), dt.date(_this_year(), 12, 31)]}


def _recent() -> Definition:
    return {"type": "date", "bounds": [dt.date(_this_year() - 10, 1, 1), dt.date(_this_year(), 12, 31)]}


def _moment() -> Definition:
    year = _this_year()
    return {"type": "datetime", "bounds": [f"{year - 10}-01-01T00:00:00", f"{year}-12-31T23:59:59"]}


def _year() -> Definition:
    return {"type": "integer", "bounds": [1900, _this_year()]}


def _discovered() -> Definition:
    return {"type": "category", "values": "discover", "otherwise": "other"}


PRESETS: Mapping[str, Preset] = {
    "age": Preset("age", lambda: {"type": "integer", "bounds": [0, 120]}, "whole years, 0 to 120"),
    "sex": Preset(
        "sex", lambda: {"type": "category", "values": ["female", "male", "other"]}, "spell the values as the table does"
    ),
    "yes": Preset("yes or no", lambda: {"type": "boolean"}, "yes/no, true/false, y/n, 1/0 are read as they are"),
    "count": Preset("count", lambda: {"type": "integer", "bounds": [0, 1000]}, "0 to 1,000: set the highest"),
    "percent": Preset("percentage", lambda: {"type": "number", "bounds": [0, 100], "decimals": 1}, "0 to 100"),
    "money": Preset(
        "money",
        lambda: {"type": "number", "bounds": [0, 100_000], "decimals": 2, "scale": "log"},
        "0 to 100,000, finer for small amounts: set the highest",
    ),
    "birth": Preset("date of birth", _born, "from 1900 until this year"),
    "date": Preset("date", _recent, "the last ten years: narrow it to what the table covers"),
    "moment": Preset("date and time", _moment, "the last ten years: narrow it to what the table covers"),
    "year": Preset("year", _year, "from 1900 until this year"),
    "zip": Preset(
        "zip or postal code",
        _discovered,
        "codes that occur often enough are found with a part of the budget; or upload the official list",
    ),
    "icd": Preset(
        "ICD diagnosis",
        _discovered,
        "codes that occur often enough are found with a part of the budget; or upload the list of codes",
    ),
    "unknown": Preset(
        "nobody knows the bounds",
        lambda: {"type": "number", "bounds": "estimate"},
        "bounds are found with a part of the budget, 5 % for all such columns together",
    ),
    "unlisted": Preset(
        "nobody knows the values",
        _discovered,
        "values that occur often enough are found, with another 5 % of the budget; the rest is called other",
    ),
}
