"""Functions that a schema names and a release learns: no record of a sample ever breaks one."""

import itertools

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.errors import SchemaError
from sfumato.fitting.mechanisms.counts.functions import families, from_root, functions_of, learn_function
from sfumato.fitting.mechanisms.mechanism import find_mechanism
from sfumato.fitting.mechanisms.tables.plan import TablesPlan, plan_tables
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Schema

COLUMNS = [
    {"name": "state", "type": "category", "values": ["a", "b", "c"]},
    {"name": "zip", "type": "integer", "bounds": [0, 11]},
    {"name": "city", "type": "category", "values": list("uvwxyz")},
    {"name": "member", "type": "boolean"},
    {"name": "wage", "type": "number", "bounds": [0, 1000]},
    {"name": "y", "type": "boolean"},
]
CONTENT = {"sfumato": 1, "name": "t", "columns": COLUMNS, "target": "y"}


def ruled(*functions: tuple[str, str], **changes) -> Schema:
    return Schema.from_dict(CONTENT | changes).with_rules((), functions)


def planned(*functions: tuple[str, str]):
    schema = ruled(*functions)
    return functions_of(schema, Encoder(schema).columns)


def test_parents_come_before_their_children():
    assert planned(("state", "city"), ("city", "zip")) == (("city", "zip"), ("state", "city"))
    assert planned() == ()


@pytest.mark.parametrize("order", list(itertools.permutations([("state", "zip"), ("state", "city"), ("city", "zip")])))
def test_what_follows_from_others_is_left_out(order):
    assert planned(*order) == (("city", "zip"), ("state", "city"))


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ([("state", "zip"), ("state", "member")], "none of which"),
        ([("state", "zip"), ("zip", "state")], "of itself"),
        ([("state", "state")], "of itself"),
        ([("state", "zip"), ("zip", "city"), ("city", "state")], "of itself"),
        ([("y", "zip")], "target"),
        ([("zip", "y")], "target"),
        ([("street", "zip")], "no column"),
        ([("wage", "zip")], "too many values"),
        ([("zip", "wage")], "too many values"),
    ],
)
def test_what_cannot_be_learnt_is_refused(functions, words):
    with pytest.raises(SchemaError, match=words):
        planned(*functions)


def test_very_long_lists_are_refused():
    long = [{"name": name, "type": "category", "values": [f"{n}" for n in range(4_000)]} for name in "ab"]
    schema = Schema.from_dict({"sfumato": 1, "name": "t", "columns": long}).with_rules((), [("a", "b")])
    with pytest.raises(SchemaError, match="too many values"):
        plan_tables(schema, Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)


def test_families_and_roots():
    functions = (("city", "zip"), ("state", "city"))
    assert families(functions) == {"zip": "zip", "city": "zip", "state": "zip"}
    learnt = {"city": np.array([0, 1, 1, 2]), "state": np.array([1, 0, 1])}
    found = from_root(functions, learnt)
    assert found["city"][0] == found["state"][0] == "zip"
    assert found["state"][1].tolist() == [1, 0, 0, 1]


def test_without_noise_a_function_is_found():
    rng = np.random.default_rng(0)
    to, parents = rng.integers(0, 7, 40), rng.integers(1, 500, 40).astype(float)
    table = np.zeros((40, 7))
    table[np.arange(40), to] = parents
    children = table.sum(axis=0)
    assert np.array_equal(learn_function(table, 0.1, parents, children), to)


def test_children_keep_their_size_where_the_table_tells_nothing():
    """By its largest cell alone every parent would go anywhere, by the share of a child all to the largest."""
    rng = np.random.default_rng(1)
    parents, share = np.full(200, 10.0), np.array([0.5, 0.3, 0.2])
    to = learn_function(1e4 * rng.normal(size=(200, 3)), 1e4, parents, 2000 * share)
    assert np.abs(np.bincount(to, minlength=3) / 200 - share).max() < 0.15


def test_a_plan_holds_its_functions_and_reads_them_from_the_schema():
    schema = ruled(("state", "city"), ("city", "zip"))
    plan = plan_tables(schema, Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
    assert plan.functions == (("city", "zip"), ("state", "city"))
    assert "functions" not in plan.to_dict()
    assert TablesPlan.from_dict(plan.to_dict(), schema, Adjacency.ADD_REMOVE) == plan


def records(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    zips = rng.integers(0, 12, rows)
    frame = pd.DataFrame({"zip": zips, "city": np.array(list("uvwxyz"))[zips % 6]})
    frame["state"] = np.array(list("abc"))[zips % 3]
    frame["member"] = rng.random(rows) < 0.2 + 0.05 * zips
    frame["wage"] = rng.gamma(2, 100, rows).clip(0, 1000)
    frame["y"] = rng.random(rows) < np.where(frame["member"], 0.7, 0.2)
    return frame[[column["name"] for column in COLUMNS]]


def broken(sample: pd.DataFrame) -> int:
    """How many values of a parent have more than one child."""
    most = [sample.groupby(parent)[child].nunique().max() for child, parent in (("city", "zip"), ("state", "city"))]
    return int(max(most)) - 1


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("rows", [0, 50, 6_000])
def test_no_sample_breaks_a_function(adjacency, rows):
    schema = ruled(("state", "city"), ("city", "zip"))
    release = sfumato.release(
        records(rows), schema, epsilon=1.0, delta=1e-5, adjacency=adjacency, ledger=None, types="declared"
    )
    assert {child: tie.parent for child, tie in release.model.ties.items()} == {"city": "zip", "state": "zip"}
    assert broken(release.sample(3_000, seed=0)) == 0
    city = release.sample(1, seed=0)["city"].iloc[0]
    assert broken(release.condition({"city": city}).sample(500, seed=0)) == 0
    if rows == 6_000:
        sample = release.sample(3_000, seed=0)
        assert (sample["state"] == np.array(list("abc"))[sample["zip"] % 3]).mean() > 0.95


def test_a_table_that_is_one_family():
    frame = records(2_000)[["zip", "city"]]
    content = {"sfumato": 1, "name": "t", "columns": [COLUMNS[1], COLUMNS[2]]}
    schema = Schema.from_dict(content).with_rules((), [("city", "zip")])
    release = sfumato.release(frame, schema, epsilon=1.0, delta=1e-5, ledger=None, types="declared")
    sample = release.sample(1_000, seed=0)
    assert (sample["city"] == np.array(list("uvwxyz"))[sample["zip"] % 6]).mean() > 0.95


def test_functions_are_learnt_anew_from_the_measurements():
    schema = ruled(("state", "city"), ("city", "zip"))
    release = sfumato.release(records(3_000), schema, epsilon=1.0, delta=1e-5, ledger=None, types="declared")
    plan = plan_tables(schema, Budget(1.0, 1e-5), Adjacency.ADD_REMOVE)
    again = find_mechanism("tables").refit(release.measurements, plan, {})
    assert again.distance(release.model) < 1e-6
