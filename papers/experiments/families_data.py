"""Families of tables for `experiments.families`: what is released, what is true, and who is held out.

Of real families 75 % of the persons are released and are the truth, the rest are held out. Made families have a known
law: what is released, the truth and those held out are drawn apart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import yaml

from experiments.tasks import ICD9_CHAPTERS, data_folder
from sfumato.demo.make_hospital import make_hospital
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.schema import FamilySchema

Column = dict[str, Any]
Frames = Mapping[str, pd.DataFrame]
RELEASED = 0.75
TRUTH, HELD_OUT, MADE = 60_000, 15_000, 20_000  # persons of made families
NUMBERS = ("integer", "number", "date")


@dataclass(frozen=True)
class Label:
    """Something that a row has or has not: one of some values in a column, or a number above an edge."""

    column: str
    values: tuple[Any, ...] = ()
    edge: float | None = None

    def of(self, rows: pd.DataFrame) -> Any:
        """True or false for each row."""
        if self.edge is not None:
            return pd.to_numeric(rows[self.column]).to_numpy(dtype=float) > self.edge
        return rows[self.column].astype(str).isin([str(value) for value in self.values]).to_numpy()


@dataclass(frozen=True)
class Questions:
    """What is asked of a table with a parent.

    event    is told from the rows above, the row before and the row itself: its columns `known`, by default all others
    next     is told of a row from the rows above and the row before alone
    count    how many rows of a person have it
    """

    event: Label
    next: Label
    count: Label
    known: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Family:
    """Tables with their keys, and the content of their schema. Rows stand in any order.

    derived   columns that are measured and not released, by table: a name, and how it follows from the others
    """

    name: str
    frames: Frames
    content: Mapping[str, Any]
    questions: Mapping[str, Questions]
    derived: Mapping[str, Mapping[str, Callable[[pd.DataFrame], Any]]] = field(default_factory=dict)

    @cached_property
    def schema(self) -> FamilySchema:
        return FamilySchema.from_dict(self.content)

    @property
    def children(self) -> tuple[str, ...]:
        """The tables with a parent, each after its parent."""
        return tuple(name for name in self.schema.in_order if name != self.schema.root)

    @property
    def persons(self) -> int:
        return len(self.frames[self.schema.root])

    def columns(self, table: str) -> list[Column]:
        """As in the schema."""
        return list(self.content["tables"][table]["columns"])

    def measured(self, table: str) -> dict[str, str]:
        """The type of every column of a table that is measured."""
        own = {column["name"]: column["type"] for column in self.columns(table)}
        return own | dict.fromkeys(self.derived.get(table, {}), "number")

    def with_frames(self, frames: Frames) -> "Family":
        """Other persons of the same schema."""
        return replace(self, frames=frames)

    def some(self, persons: Any) -> "Family":
        """Some persons, by their keys, with all of their rows."""
        schema = self.schema
        kept: dict[str, pd.DataFrame] = {}
        for name in schema.in_order:
            parent = schema.tables[name].parent
            if parent is None:
                key, allowed = schema.tables[name].key, persons
            else:
                key, allowed = schema.foreign_key_of(name), kept[parent][schema.tables[parent].key]
            rows = self.frames[name]
            kept[name] = rows[rows[key].isin(allowed)].reset_index(drop=True)
        return self.with_frames(kept)


@dataclass(frozen=True)
class Parts:
    """A family that is released, the one that it is compared with, persons held out, and the floor of distances."""

    released: Family
    truth: Family
    held_out: Family
    floor: Family


def divide(whole: Family, seed: int) -> Parts:
    """75 % of the persons, who are the truth of a real family, and the rest, who show what chance does."""
    key = whole.schema.tables[whole.schema.root].key
    persons = whole.frames[whole.schema.root][key].to_numpy()
    persons = persons[np.random.default_rng(seed).permutation(len(persons))]
    cut = int(RELEASED * len(persons))
    released, held_out = whole.some(persons[:cut]), whole.some(persons[cut:])
    return Parts(released, released, held_out, held_out)


def listed(name: str, *values: Any) -> Column:
    return {"name": name, "type": "category", "values": list(values)}


def whole_number(name: str, low: int, high: int, **more: Any) -> Column:
    return {"name": name, "type": "integer", "bounds": [low, high], **more}


def two_levels(name: str, parent: tuple[str, str, list[Column]], child: tuple[str, list[Column]], **more: Any) -> Any:
    """The content of a schema: (table, key, columns) of persons, (table, columns) of their rows, and its other keys."""
    first, key, columns = parent
    second, own = child
    tables = {first: {"key": key, "columns": columns}, second: {"parent": first, "columns": own, **more}}
    return {"sfumato": 2, "name": name, "tables": tables}


# -- patients and their encounters

_GROUPS = {**ICD9_CHAPTERS, "diabetes": [(250, 250)]}


def group_of(code: pd.Series) -> Any:
    """A diagnosis by ICD-9, in the nine groups of Strack et al. 2014."""
    number = pd.to_numeric(code, errors="coerce").to_numpy(dtype=float)
    group = np.full(len(number), "other", dtype=object)
    for name, spans in _GROUPS.items():
        for low, high in spans:
            group[(number >= low) & (number < high + 1)] = name
    return group


def _discharge(code: pd.Series) -> Any:
    kinds = {"home": [1], "facility": [3, 4, 5, 22, 23, 24], "home care": [6, 8]}
    kinds["died or hospice"] = [11, 13, 14, 19, 20, 21]
    return np.select([code.isin(values) for values in kinds.values()], list(kinds), "other")


@lru_cache(maxsize=1)
def diabetes() -> Family:
    """71,518 patients (race, gender, age at first) and their 101,766 encounters, in the order of their ids."""
    rows = pd.read_parquet(data_folder() / "diabetes130.parquet").sort_values(["patient_nbr", "encounter_id"])
    encounters = pd.DataFrame(
        {
            "patient": rows["patient_nbr"],
            "encounter_id": rows["encounter_id"],
            "admission": rows["admission_type_id"].map({1: "emergency", 2: "urgent", 3: "elective"}).fillna("other"),
            "discharge": _discharge(rows["discharge_disposition_id"]),
            "days": rows["time_in_hospital"],
            "labs": rows["num_lab_procedures"],
            "procedures": rows["num_procedures"],
            "medications": rows["num_medications"],
            "outpatient": rows["number_outpatient"],
            "emergencies": rows["number_emergency"],
            "inpatient": rows["number_inpatient"],
            "diagnoses": rows["number_diagnoses"],
            "diagnosis": group_of(rows["diag_1"]),
            "A1C": rows["A1Cresult"].fillna("None").astype(str),
            "insulin": rows["insulin"],
            "medicated": rows["diabetesMed"],
            "readmitted": rows["readmitted"],
        }
    ).reset_index(drop=True)
    first = rows.drop_duplicates("patient_nbr")
    patients = pd.DataFrame(
        {
            "patient": first["patient_nbr"],
            "race": first["race"].replace("?", "Unknown"),
            "gender": first["gender"],
            "age": first["age"].str.extract(r"\[(\d+)")[0].astype(int),
        }
    ).reset_index(drop=True)
    known = [
        listed("race", "Caucasian", "AfricanAmerican", "Hispanic", "Asian", "Unknown", "Other"),
        listed("gender", "Female", "Male", "Unknown/Invalid"),
        listed("age", *range(0, 100, 10)),
    ]
    content = two_levels(
        "diabetes",
        ("patients", "patient", known),
        ("encounters", _of_encounters()),
        rows=[1, 40],
        order={"column": "encounter_id", "type": "integer"},
        target="readmitted",
    )
    asked = Questions(Label("readmitted", ("<30", ">30")), Label("days", edge=4), Label("diagnosis", ("circulatory",)))
    return Family("diabetes", {"patients": patients, "encounters": encounters}, content, {"encounters": asked})


def _of_encounters() -> list[Column]:
    return [
        listed("admission", "emergency", "urgent", "elective", "other"),
        listed("discharge", "home", "facility", "home care", "died or hospice", "other"),
        whole_number("days", 1, 14),
        whole_number("labs", 1, 132),
        whole_number("procedures", 0, 6),
        whole_number("medications", 1, 81),
        whole_number("outpatient", 0, 42),
        whole_number("emergencies", 0, 76),
        whole_number("inpatient", 0, 21),
        whole_number("diagnoses", 1, 16),
        listed("diagnosis", *_GROUPS, "other"),
        listed("A1C", "None", "Norm", ">7", ">8"),
        listed("insulin", "No", "Steady", "Up", "Down"),
        listed("medicated", "No", "Yes"),
        listed("readmitted", "NO", ">30", "<30"),
    ]


# -- a clinic whose law is known

_STATES, _WARDS = ("well", "mild", "acute", "severe"), ("A", "B", "C", "D")
_REGIONS = ("north", "south", "east", "west")
_FALLS = np.array([[0.6, 0.25, 0.1, 0.05], [0.3, 0.35, 0.25, 0.1], [0.1, 0.25, 0.35, 0.3]])
MOST_VISITS = 30


def _draw(shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """One of each row's values."""
    drawn: IntArray = (rng.random(len(shares))[:, None] > np.cumsum(shares, axis=1)).sum(axis=1)
    return drawn.clip(max=shares.shape[1] - 1)


def clinic(persons: int, state: int) -> Family:
    """Patients with a severity z in 0, 1, 2 that no column shows, given age and smoking; 1 to 30 visits.

    Visits: 1 + negative binomial with mean 1, 3, 8 by z. State: a chain that stays with probability 0.55 + 0.15 z and
    else falls by a law of z. Cost: log-normal by state and z, with half a memory of the last one. Ward by region and
    state, emergency by state and z, days since the last visit by z.
    """
    rng = np.random.default_rng(state)
    male, region = rng.integers(0, 2, persons), rng.choice(4, persons, p=[0.4, 0.3, 0.2, 0.1])
    age = np.clip(rng.normal(55, 18, persons), 18, 95).astype(int)
    smoker = rng.random(persons) < 0.15 + 0.15 * male
    lean = 0.05 * (age - 55) + 1.0 * smoker
    odds = np.exp(np.stack([np.full(persons, 1.0), 0.3 + 0.5 * lean, -0.8 + 0.9 * lean], axis=1))
    severity = _draw(odds / odds.sum(axis=1, keepdims=True), rng)
    patients = pd.DataFrame(
        {
            "patient": np.arange(persons),
            "sex": np.array(("f", "m"))[male],
            "age": age,
            "smoker": smoker,
            "region": np.array(_REGIONS)[region],
        }
    )
    known = [
        listed("sex", "f", "m"),
        whole_number("age", 18, 95),
        {"name": "smoker", "type": "boolean"},
        listed("region", *_REGIONS),
    ]
    own = [
        listed("state", *_STATES),
        listed("ward", *_WARDS),
        {"name": "cost", "type": "number", "bounds": [1, 50_000], "scale": "log"},
        whole_number("gap", 0, 720, scale="log"),
        {"name": "emergency", "type": "boolean"},
    ]
    order = {"column": "number", "type": "integer"}
    content = two_levels(
        "clinic",
        ("patients", "patient", known),
        ("visits", own),
        rows=[1, MOST_VISITS],
        order=order,
        target="emergency",
    )
    asked = Questions(Label("emergency", (True,)), Label("cost", edge=600), Label("state", ("severe",)))
    frames = {"patients": patients, "visits": _visits(severity, region, rng)}
    return Family("clinic", frames, content, {"visits": asked})


def _visits(severity: IntArray, region: IntArray, rng: np.random.Generator) -> pd.DataFrame:
    persons, parts = len(severity), []
    mean = np.array([1.0, 3.0, 8.0])[severity]
    held = 1 + rng.negative_binomial(1.5, 1.5 / (1.5 + mean)).clip(max=MOST_VISITS - 1)
    state, memory = _draw(_FALLS[severity], rng), rng.normal(0, 1, persons)
    for number in range(MOST_VISITS):
        on = np.flatnonzero(held > number)
        if number:
            stays = rng.random(persons) < 0.55 + 0.15 * severity
            state = np.where(stays, state, _draw(_FALLS[severity], rng))
            memory = 0.5 * memory + np.sqrt(0.75) * rng.normal(0, 1, persons)
        gap = np.zeros(persons) if number == 0 else 1 + rng.exponential(120 / (1 + severity), persons)
        ward = _draw(np.eye(4)[(region + (state >= 2)) % 4] * 0.6 + 0.1, rng)
        emergency = rng.random(persons) < 1 / (1 + np.exp(2.2 - 0.8 * state - 0.5 * severity))
        cost = np.exp(5.5 + 0.5 * state + 0.3 * severity + 0.6 * memory).clip(1, 50_000).round(2)
        parts.append(
            pd.DataFrame(
                {
                    "patient": on,
                    "number": number,
                    "state": np.array(_STATES)[state[on]],
                    "ward": np.array(_WARDS)[ward[on]],
                    "cost": cost[on],
                    "gap": gap.astype(int).clip(0, 720)[on],
                    "emergency": emergency[on],
                }
            )
        )
    return pd.concat(parts).sort_values(["patient", "number"]).reset_index(drop=True)


# -- patients, stays and diagnoses

_CHRONIC = ("heart failure", "hypertension", "diabetes", "dementia")


def hospital(persons: int, state: int) -> Family:
    """The library's demonstration: three levels, persons without stays, dates, and diagnoses in no order."""
    made = {name: table.to_pandas(date_as_object=False) for name, table in make_hospital(state, persons).items()}
    frames = {name: _plain(rows) for name, rows in made.items()}
    content = yaml.safe_load((files("sfumato.demo") / "hospital.yaml").read_text())
    emergency, dear = Label("emergency", (True,)), Label("cost", edge=1_500)
    asked = {
        "stays": Questions(emergency, dear, Label("ward", ("cardiology",))),
        "diagnoses": Questions(Label("code", _CHRONIC), Label("code", _CHRONIC), Label("code", ("heart failure",))),
    }
    nights = {"nights": lambda rows: (rows["discharged"] - rows["admitted"]) / np.timedelta64(1, "D")}
    return Family("hospital", frames, content, asked, {"stays": nights})


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Lists of values as text."""
    listed_columns = rows.select_dtypes("category").columns
    return rows.astype(dict.fromkeys(listed_columns, object))


# -- households and their days

_HOURS = tuple(f"h{hour:02}" for hour in range(24))
_QUARTERS = ("night", "morning", "afternoon", "evening")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _meters(name: str, days: pd.DataFrame, households: pd.DataFrame, known: list[Column], most: float) -> Family:
    """Households with the hours, or the quarters, of their days; what is beyond the public bounds is set to them.

    `days` has household, day, weekday and the hours. The event is a day above the median of all days, told from its
    hours before noon; the next row's is told from the day before.
    """
    hours = list(_HOURS)
    days[hours] = days[hours].astype(float).clip(0, most)
    parts = hours
    if name.endswith("quarters"):
        parts, most = list(_QUARTERS), 6 * most
        for place, quarter in enumerate(_QUARTERS):
            days[quarter] = days[hours[6 * place : 6 * place + 6]].sum(axis=1)
        days = days.drop(columns=hours)
    numbers = [{"name": part, "type": "number", "bounds": [0, most], "scale": "log"} for part in parts]
    held = int(days.groupby("household").size().max())
    content = two_levels(
        name.replace(" ", "-"),
        ("households", "household", known),
        ("days", [*numbers, listed("weekday", *_WEEKDAYS)]),
        rows=[held, held],
        order={"column": "day", "type": "integer"},
    )
    edge = float(days[parts].sum(axis=1).median())
    above = Label("total", edge=edge)
    asked = Questions(above, above, above, known=("weekday", *parts[: len(parts) // 2]))
    derived = {"days": {"total": lambda rows: rows[parts].sum(axis=1)}}
    return Family(name, {"households": households, "days": days}, content, {"days": asked}, derived)


@lru_cache(maxsize=2)
def scotland(name: str) -> Family:
    """622 households of the EDRP trial, 92 days of spring 2009; nothing is known of a household but its days."""
    days = pd.read_parquet(data_folder() / "smartmeter_edrp_scotland.parquet")
    date = pd.to_datetime(days.pop("date"))
    days["day"] = (date - date.min()).dt.days
    days["weekday"] = date.dt.day_name().astype(object)
    households = days[["household"]].drop_duplicates().assign(trial="EDRP").reset_index(drop=True)
    return _meters(name, days, households, [listed("trial", "EDRP")], 10.0)


@lru_cache(maxsize=2)
def swiss(name: str) -> Family:
    """537 Swiss households, seven weeks of late autumn; a quarter of them answered a survey."""
    days = pd.read_parquet(data_folder() / "smartmeter_swiss.parquet")
    survey = ["household_type", "heating_type"]
    households = days[["household", *survey]].drop_duplicates("household").reset_index(drop=True)
    week = days.pop("week").str[1:].astype(int)
    days["day"] = 7 * (week - week.min()) + days["day_of_week"]
    days["weekday"] = np.array(_WEEKDAYS, dtype=object)[days.pop("day_of_week")]
    known = [{**listed(name, *sorted(households[name].dropna().unique())), "missing": True} for name in survey]
    return _meters(name, days.drop(columns=survey), households, known, 15.0)


def _made(make: Callable[[int, int], Family]) -> Callable[[int, int | None], Parts]:
    """Parts of a made family by seed, smaller where a number of persons is given."""

    def parts(seed: int, few: int | None) -> Parts:
        sizes = (few, 2 * few, few) if few else (MADE, TRUTH, HELD_OUT)
        released, truth, held_out = (
            make(size, state) for size, state in zip(sizes, (10 + seed, 1_000, 2_000), strict=True)
        )
        return Parts(released, truth, held_out, released)

    return parts


def _real(read: Callable[[], Family]) -> Callable[[int, int | None], Parts]:
    def parts(seed: int, few: int | None) -> Parts:
        whole = read()
        if few:
            key = whole.schema.tables[whole.schema.root].key
            whole = whole.some(whole.frames[whole.schema.root][key].iloc[: 2 * few])
        return divide(whole, seed)

    return parts


FAMILIES: dict[str, Callable[[int, int | None], Parts]] = {
    "diabetes": _real(diabetes),
    "clinic": _made(clinic),
    "hospital": _made(hospital),
    "scotland quarters": _real(lambda: scotland("scotland quarters")),
    "swiss quarters": _real(lambda: swiss("swiss quarters")),
    "scotland hours": _real(lambda: scotland("scotland hours")),
    "swiss hours": _real(lambda: swiss("swiss hours")),
}
MADE_FAMILIES = ("clinic", "hospital")
