"""Makes the demonstration family of tables: `python -m sfumato.demo.make_hospital`.

The hospital, its patients and every number are invented: each row is drawn by the few lines below from a fixed seed and
describes nobody. Script and tables are under the project's licence, Apache-2.0.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

PERSONS = 10_000
FOLDER = Path(__file__).with_name("hospital")
WARDS = ("surgery", "cardiology", "maternity", "geriatrics", "other")
CODES = ("heart failure", "hypertension", "diabetes", "fracture", "pneumonia", "birth", "dementia", "pain", "other")
FIRST, LAST = np.datetime64("2018-01-01"), np.datetime64("2023-12-31")
_OF_WARD = np.array(
    [
        [1, 2, 2, 6, 1, 0, 1, 5, 3],
        [8, 7, 3, 0, 1, 0, 1, 2, 2],
        [0, 1, 1, 0, 0, 9, 0, 1, 1],
        [3, 5, 4, 3, 4, 0, 7, 2, 2],
        [1, 2, 2, 1, 3, 0, 1, 4, 6],
    ],
    dtype=float,
)


def make_hospital(seed: int = 2018, persons: int = PERSONS) -> dict[str, pa.Table]:
    """Patients, their stays, and the diagnoses of each stay.

    How ill somebody is (0 to 2) stands in no column; it shows in how often they come, where they lie, what it costs,
    how soon they are back, and in diagnoses that come again.
    """
    rng = np.random.default_rng(seed)
    female = rng.random(persons) < 0.52
    age = np.clip(rng.normal(52, 20, persons), 1, 96)
    smoker = rng.random(persons) < np.where(age < 18, 0.0, 0.25)
    lean = 0.035 * (age - 52) + 0.9 * smoker
    ill = (rng.random(persons) > 1 / (1 + np.exp(lean - 0.2))).astype(int) + (
        rng.random(persons) > 1 / (1 + np.exp(lean - 1.6))
    )
    region = rng.choice(4, persons, p=[0.4, 0.3, 0.2, 0.1])
    born = np.datetime64("2018-01-01") - (age * 365.25).astype("timedelta64[D]")
    stays = _make_stays(rng, ill, age, female, region)
    died = _die(rng, ill, age, stays)
    stays = {name: column[stays["discharged"] <= died[stays["person"]]] for name, column in stays.items()}
    patients = pa.table(
        {
            "patient_id": pa.array(1_000 + np.arange(persons), pa.int32()),
            "sex": pa.array(np.where(female, "f", "m")),
            "born": pa.array(born.astype("datetime64[D]")),
            "region": pa.array(np.array(("north", "south", "east", "west"))[region]).dictionary_encode(),
            "smoker": pa.array(smoker),
            "died": pa.array(died.astype("datetime64[D]"), mask=died > LAST),
        }
    )
    return {"patients": patients, "stays": _stays_table(stays), "diagnoses": _make_diagnoses(rng, stays, ill)}


def _make_stays(
    rng: np.random.Generator, ill: np.ndarray, age: np.ndarray, female: np.ndarray, region: np.ndarray
) -> dict[str, np.ndarray]:
    persons = len(ill)
    count = rng.negative_binomial(1.2, 1.2 / (1.2 + np.array([0.5, 1.6, 4.0])[ill])).clip(max=20)
    fertile = female & (age > 17) & (age < 45)
    start = FIRST + rng.integers(0, 1_500, persons).astype("timedelta64[D]")
    ward, memory, parts = np.zeros(persons, dtype=int), rng.normal(size=persons), []
    for place in range(int(count.max())):
        on = np.flatnonzero(count > place)
        gap = 1 + rng.exponential(np.array([420, 260, 120])[ill]).astype(int)
        start = start if place == 0 else start + gap.astype("timedelta64[D]")
        stays = (place > 0) & (rng.random(persons) < 0.5)
        leans = np.stack([np.ones(persons), 0.6 + ill, 1.6 * fertile, (age > 72) * 2.0, np.full(persons, 0.8)], axis=1)
        ward = np.where(
            stays, ward, (rng.random((persons, 1)) > np.cumsum(leans / leans.sum(1, keepdims=True), 1)).sum(1)
        )
        memory = 0.5 * memory + np.sqrt(0.75) * rng.normal(size=persons)
        nights = rng.poisson(np.exp(0.4 + 0.35 * ill + 0.3 * (ward == 3)))
        emergency = rng.random(persons) < 1 / (1 + np.exp(1.6 - 0.8 * ill - 0.5 * (ward == 1) - 0.3 * (region == 0)))
        cost = np.exp(6.2 + 0.12 * nights + 0.3 * ill + 0.5 * memory + 0.3 * (ward == 0)).clip(10, 60_000)
        parts.append((on, start[on], nights[on], ward[on], emergency[on], cost[on]))
    person, admitted, nights, ward, emergency, cost = (np.concatenate(part) for part in zip(*parts, strict=True))
    discharged = admitted + nights.astype("timedelta64[D]")
    order = np.lexsort((admitted, person))
    order = order[discharged[order] <= LAST]
    found = {"person": person, "admitted": admitted, "discharged": discharged, "ward": ward}
    return {name: column[order] for name, column in {**found, "emergency": emergency, "cost": cost}.items()}


def _die(rng: np.random.Generator, ill: np.ndarray, age: np.ndarray, stays: dict[str, np.ndarray]) -> np.ndarray:
    """The day of death, or one after the last day."""
    last = np.full(len(ill), FIRST)
    np.maximum.at(last, stays["person"], stays["discharged"])
    dies = rng.random(len(ill)) < 1 / (1 + np.exp(6.5 - 0.05 * age - 0.8 * ill))
    day = last + rng.integers(1, 400, len(ill)).astype("timedelta64[D]")
    return np.where(dies & (day <= LAST), day, LAST + np.timedelta64(1, "D"))


def _stays_table(stays: dict[str, np.ndarray]) -> pa.Table:
    rows = len(stays["person"])
    return pa.table(
        {
            "stay_id": pa.array(50_000 + np.arange(rows), pa.int32()),
            "patient_id": pa.array(1_000 + stays["person"], pa.int32()),
            "admitted": pa.array(stays["admitted"].astype("datetime64[D]")),
            "discharged": pa.array(stays["discharged"].astype("datetime64[D]")),
            "ward": pa.array(np.array(WARDS)[stays["ward"]]).dictionary_encode(),
            "cost": pa.array(stays["cost"].round(0)),
            "emergency": pa.array(stays["emergency"]),
        }
    )


def _make_diagnoses(rng: np.random.Generator, stays: dict[str, np.ndarray], ill: np.ndarray) -> pa.Table:
    """Some of a patient's own and some of the ward; no stay has one twice."""
    chronic = rng.random((len(ill), len(CODES))) < 0.12 + 0.18 * ill[:, None] * np.isin(
        np.arange(len(CODES)), (0, 1, 2, 6)
    )
    weight = _OF_WARD[stays["ward"]] + 9.0 * chronic[stays["person"]] + 1e-9
    weight[:, CODES.index("birth")] *= stays["ward"] == WARDS.index("maternity")
    held = 1 + rng.binomial(5, 0.15 + 0.15 * ill[stays["person"]])
    rank = np.argsort(np.argsort(-(np.log(weight + 1e-12) + rng.gumbel(size=weight.shape)), axis=1), axis=1)
    stay, code = np.nonzero(rank < held[:, None])
    sure = rng.random(len(stay)) < np.where(rank[stay, code] == 0, 0.95, 0.6)
    mixed = np.lexsort((rng.random(len(stay)), stay))
    return pa.table(
        {
            "stay_id": pa.array(50_000 + stay[mixed], pa.int32()),
            "code": pa.array(np.array(CODES)[code[mixed]]).dictionary_encode(),
            "confirmed": pa.array(sure[mixed]),
        }
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for table_name, table in make_hospital().items():
        pyarrow.parquet.write_table(table, FOLDER / f"{table_name}.parquet", compression="zstd")
