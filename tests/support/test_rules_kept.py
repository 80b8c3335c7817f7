"""No record of a sample ever has a forbidden combination, whatever schema, rules, rows and budget."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import RequestError, SchemaError
from sfumato.fitting.mechanisms.tables.fit import Fit
from sfumato.fitting.mechanisms.tables.plan import TablesPlan, plan_tables
from sfumato.fitting.mechanisms.tables.release import refit_tables, release_tables
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch, Encoder
from tests.parameters import mostly_slow
from tests.support.noisy import NoisySums, any_codes, breaking

COLUMNS = [
    {"name": "kind", "type": "category", "values": list("abcdefg"), "missing": True},
    {"name": "size", "type": "integer", "bounds": [0, 40]},
    {"name": "wage", "type": "number", "bounds": [0, 1000], "atoms": [0, 100], "missing": True},
    {"name": "paid", "type": "integer", "bounds": [0, 100000]},
    {"name": "born", "type": "date", "bounds": ["1990-01-01", "2020-12-31"]},
    {"name": "debt", "type": "number", "bounds": [1, 1e6], "scale": "log"},
    {"name": "wet", "type": "boolean"},
]


@st.composite
def schemas(draw):
    """Some columns in some order, perhaps one of them the target."""
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=5, unique_by=lambda one: one["name"]))
    target = draw(st.sampled_from([None, *(column["name"] for column in columns)]))
    content = {"sfumato": 1, "name": "t", "columns": columns}
    return sfumato.Schema.from_dict(content | ({} if target is None else {"target": target}))


@st.composite
def runs(draw, size):
    """Some codes of a column: a few runs that go up."""
    edges = draw(st.lists(st.integers(0, size), min_size=2, max_size=6, unique=True).map(sorted))
    return tuple(zip(edges[::2], edges[1::2], strict=False))


@st.composite
def ruled(draw):
    """A schema with rules."""
    schema = draw(schemas())
    sizes = {name: codes.size for name, codes in Encoder(schema).columns.items()}
    forbidden = []
    for _ in range(draw(st.integers(1, 4))):
        names = draw(st.lists(st.sampled_from(list(sizes)), min_size=1, max_size=3, unique=True))
        forbidden.append({name: draw(runs(sizes[name])) for name in names})
    return schema.with_rules(forbidden)


QUICK = Fit(components=4, steps=15)


def released(schema, epsilon, rows=300, seed=0, fit=QUICK, batch=None, adjacency=Adjacency.ADD_REMOVE):
    """Plan, curator and model."""
    plan = plan_tables(schema, Budget(epsilon, 1e-6), adjacency)
    batch = any_codes(schema, rows, np.random.default_rng(seed)) if batch is None else batch
    curator = NoisySums(batch, adjacency, seed)
    return plan, curator, release_tables(curator, plan, lambda _: None, fit)


@given(ruled(), st.sampled_from([0.05, 1.0, 50.0]), st.integers(0, 9), st.sampled_from(list(Adjacency)))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_record_of_a_sample_breaks_a_rule(schema, epsilon, seed, adjacency):
    adjacency = Adjacency.REPLACE if schema.target is None else adjacency
    try:
        _, _, model = released(schema, epsilon, seed=seed, adjacency=adjacency)
    except SchemaError as error:
        assert "no record" in str(error)  # noqa: PT017
        return
    rng = np.random.default_rng(seed)
    sample = model.sample(2_000, rng)
    assert not breaking(sample, schema.forbidden).any()
    others = any_codes(schema, 500, rng)
    broken, density = breaking(others, schema.forbidden), model.log_prob(others)
    assert (density[broken] == -np.inf).all()
    assert np.isfinite(density[~broken]).all()
    for name in model.columns:
        assert model.marginal(name).sum() == pytest.approx(1)
    check_conditions(model, schema, sample, rng)
    check_predictions(model, schema, sample, others)
    codes = Encoder(schema).columns
    content, table = model.to_parts()
    again = TableMixture.from_parts(json.loads(json.dumps(content)), table, codes)
    assert not breaking(again.sample(1_000, rng), schema.forbidden).any()
    assert model.distance(again) < 1e-9


def check_conditions(model, schema, sample, rng):
    """Given what some record of the sample has, rules are kept as well."""
    for name, codes in sample.codes.items():
        given = model.restrict([(name, [(int(codes[0]), int(codes[0]) + 1)])])
        drawn = given.sample(200, rng)
        assert (drawn.codes[name] == codes[0]).all()
        assert not breaking(drawn, schema.forbidden).any()


def check_predictions(model, schema, sample, others):
    """What is told of a target is possible, and of a record that is excluded anyhow something is told."""
    if schema.target is None:
        return
    pieces = model.columns[schema.target]
    told = model.conditional(sample, schema.target)
    assert told.sum(axis=1) == pytest.approx(1)
    for piece, code in enumerate(pieces.starts):
        moved = Batch(sample.rows, {**sample.codes, schema.target: np.full(sample.rows, code, dtype=np.int32)})
        assert (told[breaking(moved, schema.forbidden), piece] == 0).all()
    assert model.conditional(others, schema.target).sum(axis=1) == pytest.approx(1)
    predicted = model.predict(others, schema.target, Encoder(schema).columns[schema.target])
    assert np.isfinite(predicted).all()


SCHEMA = sfumato.Schema.from_dict({"sfumato": 1, "name": "t", "target": "paid", "columns": COLUMNS}).with_rules(
    [
        {"size": ((0, 16),), "kind": ((3, 8),)},
        {"size": ((0, 16),), "paid": ((1, 100_001),)},
        {"wet": ((0, 1),), "born": ((0, 4_000),)},
    ]
)


def test_a_refit_is_the_release():
    plan, curator, model = released(SCHEMA, 2.0, rows=2_000)
    read = TablesPlan.from_dict(json.loads(json.dumps(plan.to_dict())), SCHEMA, Adjacency.ADD_REMOVE)
    again = refit_tables(tuple(curator.answers), read, QUICK)
    assert model.distance(again) < 1e-6
    assert not breaking(again.sample(5_000, np.random.default_rng(0)), SCHEMA.forbidden).any()


def test_a_saved_release_keeps_the_rules(tmp_path):
    columns = [{"name": name, "type": "integer", "bounds": [0, 9]} for name in ("starts", "cells")]
    columns += [{"name": "y", "type": "category", "values": ["a", "b", "c"]}]
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "t", "columns": columns, "target": "y"})
    forbidden = [{"starts": ((0, 5),), "y": ((1, 3),)}, {"starts": ((5, 10),), "cells": ((2, 4), (6, 9))}]
    rng = np.random.default_rng(0)
    rows = {"starts": rng.integers(0, 10, 500), "cells": rng.integers(0, 10, 500), "y": rng.choice(list("abc"), 500)}
    made = sfumato.release(pa.table(rows), schema.with_rules(forbidden), epsilon=3.0, ledger=None, types="declared")
    made.save(tmp_path / "t.sfumato")
    model = sfumato.open(tmp_path / "t.sfumato").model
    for one in (made.model, model):
        assert not breaking(one.sample(3_000, rng), forbidden).any()
    assert model.distance(made.model) < 1e-9


def test_a_plan_whose_cells_are_forbidden_in_part_is_refused():
    plain = SCHEMA.with_rules([])
    plan = plan_tables(plain, Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
    assert plan.support is None
    with pytest.raises(ValueError, match="forbidden in part"):
        TablesPlan.from_dict(plan.to_dict(), SCHEMA, Adjacency.ADD_REMOVE)


def keeping(rows, rng):
    """Records that keep the rules of `SCHEMA`, and depend on each other."""
    batch = any_codes(SCHEMA, 3 * rows, rng)
    kept = np.flatnonzero(~breaking(batch, SCHEMA.forbidden))[:rows]
    return Batch(len(kept), {name: codes[kept] for name, codes in batch.codes.items()})


@pytest.mark.parametrize("target", mostly_slow([None, "paid", "kind", "wet"], None, "paid"))
def test_marginals_are_those_of_the_table(target):
    content = SCHEMA.to_dict() | {"target": target}
    schema = sfumato.Schema.from_dict({key: value for key, value in content.items() if value is not None})
    schema = schema.with_rules(SCHEMA.forbidden)
    batch = keeping(20_000, np.random.default_rng(3))
    plan, _, model = released(schema, 100.0, batch=batch, fit=Fit(components=20, steps=400))
    sample = model.sample(20_000, np.random.default_rng(4))
    assert not breaking(sample, schema.forbidden).any()
    for name, pieces in model.columns.items():
        piece = np.searchsorted(pieces.starts, batch.codes[name], side="right") - 1
        real = np.bincount(piece, minlength=len(pieces.starts)) / batch.rows
        off = real - model.marginal(name)
        assert np.abs(off).sum() / 2 < 0.06, name
        edges = np.array(sorted({0, *plan.support.edges(name)}))
        kind = np.searchsorted(edges, pieces.starts, side="right") - 1
        assert np.abs(np.bincount(kind, weights=off)).sum() / 2 < 0.01, name


def test_without_rules_the_same_rows_break_them():
    _, _, model = released(SCHEMA.with_rules([]), 2.0)
    assert breaking(model.sample(2_000, np.random.default_rng(0)), SCHEMA.forbidden).mean() > 0.1


def test_a_labeller_without_rules_breaks_them():
    _, _, model = released(SCHEMA, 2.0)
    assert model.labeller is not None
    loose = replace(model, labeller=replace(model.labeller, rules=None))
    assert breaking(loose.sample(2_000, np.random.default_rng(0)), SCHEMA.forbidden).mean() > 0.01


@pytest.mark.parametrize(
    "hostile",
    [
        5,
        [],
        [5],
        [[]],
        [[["paid", 5]]],
        [[["paid", []]]],
        [[["paid", [[3, 2]]]]],
        [[["paid", [[-1, 2]]]]],
        [[["paid", [[0, 2.5]]]]],
        [[["paid", [[0, True]]]]],
        [[["paid", [[0, 5], [3, 9]]]]],
        [[["paid", [[0, 10**9]]]]],
        [[["kind", [[0, 1]]]]],
        [[["paid", [[0, 1]]], ["who", [[0, 1]]]]],
        [[["paid", [[0, 1, 2]]]]],
    ],
)
def test_hostile_rules_of_a_bundle_are_refused(hostile):
    _, _, model = released(SCHEMA, 2.0)
    content, table = model.to_parts()
    assert content["labeller"]["forbidden"] == [[["size", [[0, 16]]], ["paid", [[1, 100_001]]]]]
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        TableMixture.from_parts(
            {**content, "labeller": {**content["labeller"], "forbidden": hostile}}, table, Encoder(SCHEMA).columns
        )


@pytest.mark.parametrize("mechanism", ["mixture", "subspace", "slices"])
def test_other_mechanisms_refuse_rules(mechanism):
    from sfumato.fitting.mechanisms.mechanism import find_mechanism

    with pytest.raises(RequestError, match=rf"{mechanism} cannot keep rules.*use mechanism tables"):
        find_mechanism(mechanism).build_plan(SCHEMA, Budget(1.0, 1e-6), Adjacency.ADD_REMOVE, {})


def test_no_generator_is_trained_on_a_release_with_rules():
    from sfumato.fitting.mechanisms.mechanism import find_mechanism
    from sfumato.fitting.retraining.retrain import retrain_model

    plan, curator, _ = released(SCHEMA, 2.0)
    with pytest.raises(RequestError, match="a generator cannot keep rules"):
        retrain_model(find_mechanism("tables"), plan, SCHEMA, tuple(curator.answers), {})
