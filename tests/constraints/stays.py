"""A table of invented stays with constraints of every kind."""

import datetime as dt

import numpy as np
import pyarrow as pa

import sfumato

COLUMNS = """
sfumato: 1
name: stays
columns:
- {name: admitted, type: date, bounds: [2020-01-01, 2024-12-31]}
- {name: discharged, type: date, bounds: [2020-01-01, 2025-06-30], missing: true}
- {name: seen, type: datetime, bounds: [2020-01-01T00:00:00, 2024-12-31T00:00:00]}
- {name: left, type: datetime, bounds: [2020-01-01T00:00:00, 2025-01-31T00:00:00]}
- {name: born, type: date, bounds: [1930-01-01, 2019-12-31]}
- {name: age, type: integer, bounds: [0, 95]}
- {name: city, type: category, values: [Paris, Lyon, Rome], missing: true}
- {name: country, type: category, values: [France, Italy], missing: true}
- {name: low, type: number, bounds: [0, 10], decimals: 1}
- {name: high, type: number, bounds: [0, 20], decimals: 1}
- {name: width, type: number, bounds: [0, 20], decimals: 1}
- {name: a, type: integer, bounds: [0, 100]}
- {name: b, type: integer, bounds: [0, 100]}
- {name: c, type: integer, bounds: [0, 100]}
- {name: lat, type: number, bounds: [40, 50], missing: true}
- {name: lon, type: number, bounds: [0, 10], missing: true}
"""
CONSTRAINTS = """
constraints:
- discharged >= admitted
- left > seen
- age = years(admitted - born)
- {column: country, of: city, table: {Paris: France, Lyon: France, Rome: Italy}}
- high >= low + 0.5
- width = high - low
- {total: 100, of: [a, b, c]}
- {place: [lat, lon]}
- {key: id, format: "P-{0001}"}
"""
SCHEMA = sfumato.Schema.from_yaml(COLUMNS + CONSTRAINTS)


def stays(rows: int, seed: int = 0, *, broken: float = 0.0) -> pa.Table:
    """Stays that keep the constraints, but for a share of broken values."""
    rng = np.random.default_rng(seed)
    day = dt.date(2020, 1, 1)
    admitted = rng.integers(0, 1_800, rows)
    discharged = admitted + rng.geometric(0.2, rows) - 1
    seen = rng.integers(0, 150_000_000, rows)
    left = seen + 1 + rng.geometric(0.001, rows)
    a = rng.integers(0, 101, rows)
    b = (rng.random(rows) * (100 - a)).astype(int)
    low = np.round(rng.random(rows) * 10, 1)
    high = np.round(low + 0.5 + rng.random(rows) * 3, 1)
    city = rng.choice(["Paris", "Lyon", "Rome"], rows)
    lat = np.where(rng.random(rows) < 0.1, np.nan, 45 + rng.normal(size=rows))
    flipped = rng.random(rows) < broken
    discharged = np.where(flipped, admitted - 5, discharged)
    left = np.where(flipped, seen - 100, left)
    high = np.where(flipped, 0.0, high)
    born = rng.integers(-32_000, -100, rows)
    start = dt.datetime(2020, 1, 1)
    return pa.table(
        {
            "admitted": [day + dt.timedelta(days=int(n)) for n in admitted],
            "discharged": [None if rng.random() < 0.1 else day + dt.timedelta(days=int(n)) for n in discharged],
            "seen": [start + dt.timedelta(seconds=int(n)) for n in seen],
            "left": [start + dt.timedelta(seconds=int(n)) for n in left],
            "born": [day + dt.timedelta(days=int(n)) for n in born],
            "age": rng.integers(0, 95, rows),
            "city": pa.array([None if rng.random() < 0.1 else one for one in city]),
            "country": rng.choice(["France", "Italy"], rows),
            "low": low,
            "high": high,
            "width": rng.random(rows),
            "a": a,
            "b": np.where(flipped, 100, b),
            "c": 100 - a - b,
            "lat": pa.array(lat, from_pandas=True),
            "lon": pa.array(np.where(np.isnan(lat), np.nan, rng.random(rows) * 10), from_pandas=True),
        }
    )
