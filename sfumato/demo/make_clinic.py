"""Makes the demonstration table: `python -m sfumato.demo.make_clinic`.

The clinic, its patients and every number are invented: each row is drawn by the few lines below from a fixed seed and
describes nobody. Script and table are under the project's licence, Apache-2.0.
"""

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

ROWS = 4_000
PATH = Path(__file__).with_name("clinic.parquet")
WARDS = ("cardiology", "geriatrics", "maternity", "oncology", "surgery")
SMOKING = ("never", "former", "current")
FIRST_DAY = dt.date(2022, 1, 1)


def make_clinic(seed: int = 2022) -> pa.Table:
    """The table of hospital stays: who came when, where to, in what state, at what cost, and whether they came back."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(len(WARDS), ROWS, p=[0.25, 0.2, 0.15, 0.15, 0.25])
    age = np.clip(rng.normal(np.array([66, 81, 31, 63, 54])[ward], np.array([11, 7, 5, 12, 17])[ward]), 18, 99).astype(
        int
    )
    female = rng.random(ROWS) < np.where(ward == 2, 1.0, 0.49)
    smoking = (rng.random((ROWS, 1)) > np.cumsum([0.55, 0.27, 0.18])).sum(axis=1).clip(max=2)
    day = rng.integers(0, 730, ROWS)
    night = rng.random(ROWS) < np.array([0.35, 0.2, 0.45, 0.05, 0.25])[ward]
    nights = rng.poisson(np.exp(0.7 + 0.012 * (age - 18) + 0.3 * night))
    pressure = np.where(rng.random(ROWS) < 0.06, np.nan, rng.normal(112 + 0.35 * (age - 18) + 4 * smoking, 13, ROWS))
    cost = (
        np.where(rng.random(ROWS) < 0.12, 0.0, rng.lognormal(6.3 + 0.16 * nights, 0.55, ROWS)).clip(max=50_000).round(2)
    )
    risk = -4.2 + 0.028 * (age - 18) + 0.11 * nights + 0.5 * (smoking == 2) + 0.6 * night + 0.7 * (ward == 1)
    back = rng.random(ROWS) < 1 / (1 + np.exp(-risk))
    return pa.table(
        {
            "age": pa.array(age, pa.int32()),
            "sex": pa.array(np.where(female, "F", "M")),
            "ward": pa.array(np.array(WARDS)[ward]).dictionary_encode(),
            "smoking": pa.array(np.array(SMOKING)[smoking], mask=rng.random(ROWS) < 0.08),
            "admitted": pa.array([FIRST_DAY + dt.timedelta(days=int(d)) for d in day]),
            "at_night": pa.array(night),
            "nights": pa.array(nights.clip(max=60), pa.int16()),
            "blood_pressure": pa.array(pressure.clip(70, 220).round(0), pa.float32(), from_pandas=True),
            "cost": pa.array(cost),
            "readmitted": pa.array(np.where(back, "yes", "no")),
        }
    )


if __name__ == "__main__":
    pyarrow.parquet.write_table(make_clinic(), PATH, compression="zstd")
