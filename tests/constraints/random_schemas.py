"""Random schemas with constraints of every kind, and tables that know nothing of them."""

import datetime as dt
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

DAY = dt.date(2020, 1, 1)
OPERATORS = (">=", ">", "<=", "<")


@st.composite
def ordered_column(draw: st.DrawFn, name: str, kind: str) -> dict[str, Any]:
    low = draw(st.integers(0, 30))
    high = low + draw(st.integers(5, 200))
    column: dict[str, Any] = {"name": name, "type": kind, "missing": draw(st.booleans())}
    match kind:
        case "date":
            column["bounds"] = [(DAY + dt.timedelta(days=end)).isoformat() for end in (low, high)]
        case "datetime":
            start = dt.datetime.combine(DAY, dt.time())
            column["bounds"] = [(start + dt.timedelta(hours=9 * end)).isoformat() for end in (low, high)]
        case "number":
            column["bounds"] = [low / 2, high / 2]
            column |= draw(st.sampled_from([{}, {"decimals": 1}, {"scale": "log"}]))
        case "integer":
            column["bounds"] = [low, high * draw(st.sampled_from([1, 1, 100_000]))]
    return column


def listed_column(name: str, count: int, missing: bool) -> dict[str, Any]:
    return {"name": name, "type": "category", "values": [f"{name}{k}" for k in range(count)], "missing": missing}


@st.composite
def wanted(draw: st.DrawFn, column: dict[str, Any]) -> Any:
    """Values of a column that a rule may name."""
    if column["missing"] and draw(st.booleans()):
        return draw(st.sampled_from([None, {"missing": True}, {"missing": False}]))
    if column["type"] == "category":
        some = draw(st.lists(st.sampled_from(column["values"]), min_size=1, unique=True))
        return draw(st.sampled_from([some, some[0], {"not": some}]))
    low, high = column["bounds"]
    return draw(st.sampled_from([{"to": low}, {"from": high}, {"from": low, "to": low}, high, {"not": [low]}]))


@st.composite
def constrained_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """The content of a schema; it may contradict itself."""
    kind = draw(st.sampled_from(["integer", "number", "date", "datetime"]))
    chain = [draw(ordered_column(f"o{k}", kind)) for k in range(draw(st.integers(2, 3)))]
    lists = [listed_column(f"c{k}", draw(st.integers(2, 5)), draw(st.booleans())) for k in range(3)]
    free = [draw(ordered_column("f", draw(st.sampled_from(["integer", "number"]))))]
    constraints: list[Any] = []
    columns = [*chain, *lists, *free]
    for one, other in itertools.pairwise(chain):
        constraints.append(f"{one['name']} {draw(st.sampled_from(OPERATORS))} {other['name']}")
    if draw(st.booleans()):
        columns.append({"name": "sum", "type": "number", "bounds": [-50, 400], "missing": True})
        constraints.append(draw(st.sampled_from(["sum = 2 * f + 1", "sum = 100 - f / 4"])))
    if draw(st.booleans()):
        image = {value: draw(st.sampled_from(["x", "y"])) for value in lists[0]["values"]}
        columns.append({"name": "image", "type": "category", "values": ["x", "y"], "missing": True})
        constraints.append({"column": "image", "of": "c0", "table": image})
    if draw(st.booleans()):
        constraints.append({"column": "c2", "of": "c1"})
    ruled = [lists[0], lists[1], free[0]]
    for _ in range(draw(st.integers(0, 3))):
        some = draw(st.lists(st.sampled_from(ruled), min_size=2, max_size=3, unique_by=lambda column: column["name"]))
        rule = {column["name"]: draw(wanted(column)) for column in some}
        first = dict([rule.popitem()])
        constraints.append(draw(st.sampled_from([{"forbid": {**rule, **first}}, {"if": rule, "then": first}])))
    nullable = [column["name"] for column in ruled if column["missing"]]
    if len(nullable) > 1 and draw(st.booleans()):
        constraints.append({"null_together": nullable})
    if draw(st.booleans()):
        columns += [{"name": f"p{k}", "type": "integer", "bounds": [0, 60]} for k in range(3)]
        constraints.append({"total": 60, "of": ["p0", "p1", "p2"]})
    if draw(st.booleans()):
        null = draw(st.booleans())
        columns += [{"name": name, "type": "number", "bounds": [0, 9], "missing": null} for name in ("lat", "lon")]
        constraints.append({"place": ["lat", "lon"]})
    content = {"sfumato": 1, "name": "random", "columns": columns, "constraints": constraints}
    return content | ({"target": draw(st.sampled_from(["c0", "c1", "f"]))} if draw(st.booleans()) else {})


def random_table(content: dict[str, Any], rows: int, seed: int) -> pa.Table:
    """Values between the bounds or from the lists, each by itself."""
    rng = np.random.default_rng(seed)
    return pa.table({column["name"]: _values(column, rows, rng) for column in content["columns"]})


def _values(column: dict[str, Any], rows: int, rng: np.random.Generator) -> pa.Array:
    null = rng.random(rows) < 0.3
    match column["type"]:
        case "category":
            values: Any = rng.choice(column["values"], rows)
        case "date" | "datetime":
            make = dt.date.fromisoformat if column["type"] == "date" else dt.datetime.fromisoformat
            low, high = map(make, column["bounds"])
            values = [low + share * (high - low) for share in rng.random(rows)]
        case "integer":
            values = rng.integers(column["bounds"][0], column["bounds"][1] + 1, rows)
        case _:
            values = np.round(rng.uniform(*column["bounds"], rows), 1)
    return pa.array(values, mask=null)
