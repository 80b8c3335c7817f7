"""The mechanism from the door to the model.

Contract over hostile tables (threat 16), every kind of target, what the release sees.
"""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import SchemaError
from sfumato.fitting.mechanisms.tables.plan import plan_tables
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget, noise_scale
from sfumato.trusted.privacy_filter import units_of
from sfumato.trusted.schema import Schema
from tests.conftest import MIXED, make_table, without_dates
from tests.parameters import mostly_slow

EMPTY = make_table(0)


def odd(rows: int, **columns) -> pa.Table:
    """A table of nulls but for some columns."""
    table = pa.table({name: pa.nulls(rows, EMPTY.schema.field(name).type) for name in EMPTY.column_names})
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return table


HOSTILE = {
    "no rows": EMPTY,
    "one row": make_table(1),
    "two equal rows": pa.concat_tables([make_table(1)] * 2),
    "all null": odd(300),
    "one class only": odd(300, ill=pa.array(["yes"] * 300)),
    "no class of the list": odd(300, ill=pa.array(["perhaps"] * 300)),
    "wrong types in cells": odd(300, age=pa.array(["forty"] * 150 + ["40"] * 150), member=pa.array(["?"] * 300)),
    "infinities": odd(300, wage=pa.array([math.inf, -math.inf, math.nan] * 100)),
    "beyond floats": odd(2, age=pa.array(["1" + "0" * 400, "-1" + "0" * 400])),
    "constants": odd(300, age=pa.array([7] * 300), wage=pa.array([100.0] * 300)),
    "far outside": odd(300, born=pa.array([dt.date(1, 1, 1)] * 300), age=pa.array([-(2**62)] * 300)),
}


@pytest.mark.parametrize("adjacency", Adjacency)
def test_objects_of_any_kind_take_the_same_path(adjacency):
    objects = make_table(50).to_pandas().astype(object).assign(age=[{"a": 1}, 10**400, None, b"\xff", "7"] * 10)
    check_the_path(objects, adjacency, without_dates())


@pytest.mark.parametrize("rows", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("adjacency", mostly_slow(Adjacency, Adjacency.REPLACE))
def test_whatever_the_rows_hold_the_path_and_the_spend_are_the_same(rows, adjacency, schema):
    check_the_path(rows, adjacency, schema)


def check_the_path(rows, adjacency, schema):
    types = "declared" if isinstance(rows, pa.Table) else None
    release = sfumato.release(rows, schema, epsilon=1.0, adjacency=adjacency, ledger=None, types=types)
    usual = sfumato.release(make_table(100), schema, epsilon=1.0, adjacency=adjacency, ledger=None, types="declared")
    for here, there in zip(release.statement.items, usual.statement.items, strict=True):
        assert (here.what, here.mu, here.units) == (there.what, there.mu, there.units)
    assert release.statement.promise == usual.statement.promise
    sample = release.sample(50, output="arrow")
    assert sample.schema.names[:1] == ["ill"]
    assert len(sample) == 50
    assert np.isfinite(release.log_prob(make_table(20))).all()
    assert np.allclose(release.predict_proba(make_table(20)).sum(axis=1), 1)
    assert release.size >= 1


def targeted(column: str | None) -> Schema:
    content = Schema.from_yaml(MIXED).to_dict()
    content.pop("target")
    return Schema.from_dict(content | ({"target": column} if column else {}))


@pytest.mark.parametrize("target", [None, "ill", "job", "member", "age", "wage", "debt", "born", "seen"])
def test_targets_of_every_kind(target):
    schema = targeted(target)
    release = sfumato.release(make_table(2_000), schema, epsilon=2.0, ledger=None, types="declared")
    sample = release.sample(500)
    assert len(sample) == 500
    numeric = target in ("age", "wage", "debt", "born", "seen")
    closer = target in ("wage", "debt", "born", "seen")  # where a long target has its mass
    assert len(release.measurements) == numeric + closer + 3 + (2 if target is None else 7)
    assert sum(units_of(item.mu) for item in release.measurements) <= Budget(2.0, 1e-6).units
    assert release.model.weights.sum() == pytest.approx(1)
    if target is None:
        assert release.model.labeller is None
        with pytest.raises(sfumato.SfumatoError, match="names no target"):
            release.sample(5, probabilities=True)
        return
    shown = release.sample(50, probabilities=True)
    if numeric:
        assert release.model.labeller.share.shape in ((6,), (7,))
        assert f"mean({target})" in shown.column_names
        assert len(release.predict(sample)) == 500
        with pytest.raises(sfumato.SfumatoError, match="no classes"):
            release.predict_proba(sample)
    else:
        told = np.column_stack([shown.column(f"p({target}={value})") for value in _named(release.classes)])
        assert np.allclose(told.sum(axis=1), 1)
        assert set(release.predict(sample)) <= set(release.classes)


def _named(classes):
    return ["missing" if value is None else value for value in classes]


def test_a_numeric_target_is_learnt():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 20_000)
    frame = pd.DataFrame({"x": x, "y": 10 * x + rng.normal(0, 3, 20_000) + 20})
    schema = Schema.from_yaml(
        "{sfumato: 1, name: t, target: y, columns: ["
        "{name: x, type: integer, bounds: [0, 4]}, {name: y, type: number, bounds: [0, 100]}]}"
    )
    release = sfumato.release(frame, schema, epsilon=1.0, ledger=None, types="declared")
    for value in (0, 4):
        mean = release.condition({"x": value}).sample(4_000, seed=1)["y"].mean()
        assert mean == pytest.approx(20 + 10 * value, abs=4)


def test_one_column_is_a_table_too():
    for target in ("", "target: a,"):
        schema = Schema.from_yaml(f"{{sfumato: 1, name: t, {target} columns: [{{name: a, type: boolean}}]}}")
        release = sfumato.release(
            pa.table({"a": [True] * 900 + [False] * 100}), schema, epsilon=1.0, ledger=None, types="declared"
        )
        assert release.marginal("a", output="arrow").column("probability")[1].as_py() == pytest.approx(0.9, abs=0.05)
        assert release.size == pytest.approx(1000, abs=60)


def test_marginals_and_classes_come_out_near_the_truth(schema):
    table = make_table(20_000)
    release = sfumato.release(table, schema, epsilon=1.0, ledger=None, types="declared")
    assert release.size == pytest.approx(20_000, rel=0.01)
    for name in ("ill", "member"):
        value = "yes" if name == "ill" else True
        share = np.mean([row == value for row in table.column(name).to_pylist()])
        released = {row["value"]: row for row in release.marginal(name, output="arrow").to_pylist()}[value]
        assert released["low"] - 0.01 <= share <= released["high"] + 0.01
    gaps = [
        rows.to_pandas().groupby("ill")["age"].mean().loc[["no", "yes"]].diff().iloc[-1]
        for rows in (table, release.sample(20_000, seed=0, output="arrow"))
    ]
    assert gaps[0] == pytest.approx(gaps[1], abs=2)
    wage = release.sample(20_000, seed=0, output="arrow").column("wage").to_numpy()
    assert (wage == 0.0).mean() == pytest.approx(np.mean(table.column("wage").to_numpy() <= 0), abs=0.03)


@pytest.mark.slow
def test_noise_bands_hold_the_truth():
    """Over many releases 95 % bands hold the true share of a cell about as often as they say."""
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: a, type: category, values: [x, y, z]}]}")
    table = pa.table({"a": ["x"] * 500 + ["y"] * 300 + ["z"] * 200})
    held = []
    for _ in range(100):
        rows = (
            sfumato.release(table, schema, epsilon=1.0, ledger=None, types="declared")
            .marginal("a", output="arrow")
            .to_pylist()
        )
        held += [row["low"] <= truth <= row["high"] for row, truth in zip(rows, (0.5, 0.3, 0.2), strict=True)]
    assert np.mean(held) > 0.9


def test_the_plan_is_a_function_of_schema_and_budget_alone(schema):
    budget = Budget(1.0, 1e-6)
    plan = plan_tables(schema, budget, Adjacency.ADD_REMOVE)
    assert plan == plan_tables(schema, budget, Adjacency.ADD_REMOVE)
    assert plan.mu_target is None
    asked = [plan.mu_zoom, plan.mu_one_way, plan.mu_pairs, *plan.mu_target_left]
    shares = np.square(asked) / budget.mu**2
    left = 0.23 * np.array([0.05, 0.21, 0.21, 0.08, 0.15, 0.15, 0.15])
    assert np.allclose(shares, np.array([0.03, 0.32, 0.45, *left]) / 1.03, rtol=1e-6)
    assert sum(units_of(mu) for mu in asked) <= budget.units


@pytest.mark.parametrize(
    ("columns", "target", "shares"),
    [
        (3, None, [0.2, 0.75, 0.01, 0.04]),
        (2, None, [0.2, 0.8]),
        (1, None, [1.0]),
        (2, "c0", [0.35 / 0.58, *0.23 * np.array([0.235, 0.235, 0.08, 0.15, 0.15, 0.15]) / 0.58]),
        (1, "c0", [1.0]),
    ],
)
def test_shares_without_pairs_or_target_go_to_the_rest(columns, target, shares):
    content = {"sfumato": 1, "name": "t", "columns": [{"name": f"c{n}", "type": "boolean"} for n in range(columns)]}
    schema = Schema.from_dict(content | ({"target": target} if target else {}))
    budget = Budget(1.0, 1e-6)
    plan = plan_tables(schema, budget, Adjacency.ADD_REMOVE)
    asked = [mu for mu in (plan.mu_one_way, plan.mu_pairs, *plan.mu_target_left) if mu is not None]
    assert np.allclose(np.square(asked) / budget.mu**2, shares, rtol=1e-6)


@pytest.mark.parametrize("epsilon", [1e-5, 1e-4, 1e-3, 50.0, 1000.0])
@pytest.mark.parametrize("adjacency", mostly_slow(Adjacency, Adjacency.ADD_REMOVE))
def test_budgets_of_every_size(epsilon, adjacency, schema):
    release = sfumato.release(
        make_table(50), schema, epsilon=epsilon, delta=1e-9, adjacency=adjacency, ledger=None, types="declared"
    )
    assert len(release.sample(10)) == 10
    assert np.isfinite(release.log_prob(make_table(5))).all()


def test_very_many_classes_are_released_without_a_labeller():
    """A bound on time and memory, from the schema alone."""
    values = [str(number) for number in range(200)]
    columns = [{"name": f"c{n}", "type": "boolean"} for n in range(60)]
    for size, adapted in ((200, False), (41, False), (40, True)):
        target = {"name": "y", "type": "category", "values": values[:size]}
        schema = Schema.from_dict({"sfumato": 1, "name": "t", "columns": [*columns, target], "target": "y"})
        plan = plan_tables(schema, Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
        assert bool(plan.mu_steps) == adapted
        assert not plan.pair_features
    rows = {f"c{n}": np.arange(500) % 2 == 0 for n in range(3)} | {"y": np.array(values)[np.arange(500) % 150]}
    content = {"sfumato": 1, "name": "t", "columns": [*columns[:3], target | {"values": values}], "target": "y"}
    schema = Schema.from_dict(content)
    release = sfumato.release(pa.table(rows), schema, epsilon=1.0, ledger=None, types="declared")
    assert release.model.labeller is None
    assert release.predict_proba(release.sample(20)).shape == (20, 200)


def test_a_table_of_too_many_cells_is_refused():
    values = [str(number) for number in range(4_000)]
    schema = Schema.from_dict(
        {
            "sfumato": 1,
            "name": "t",
            "target": "b",
            "columns": [{"name": name, "type": "category", "values": values} for name in "ab"],
        }
    )
    with pytest.raises(SchemaError, match="4000 x 4000 cells"):
        sfumato.release(pa.table({"a": ["1"], "b": ["1"]}), schema, epsilon=1.0, ledger=None, types="declared")


class TestOnlyTheSchemaDecides:
    """Threat 6: nothing about the domain is read off the rows. With test noise the released bytes are equal."""

    def content(self, table, schema):
        release = sfumato.release(table, schema, epsilon=1.0, ledger=None, seed=3, types="declared")
        return [item.values.tobytes() for item in release.measurements], release.model.to_parts()[1]

    def with_row(self, **values):
        table = make_table(300)
        row = {name: table.column(name)[0].as_py() for name in table.column_names}
        types = {name: table.schema.field(name).type for name in table.column_names}
        extra = pa.table({name: pa.array([value], types[name]) for name, value in (row | values).items()})
        return pa.concat_tables([table, extra])

    def same(self, schema, left, right):
        (values, model), (others, another) = self.content(left, schema), self.content(right, schema)
        assert values == others
        assert model.equals(another)

    def test_an_outlier_is_its_clamped_value(self, schema):
        self.same(schema, self.with_row(wage=1e300), self.with_row(wage=1000.0))
        self.same(schema, self.with_row(age=-(10**15)), self.with_row(age=0))
        self.same(schema, self.with_row(born=dt.date(1500, 1, 1)), self.with_row(born=dt.date(1920, 1, 1)))

    def test_an_unseen_category_is_the_place_that_the_schema_names(self, schema):
        self.same(schema, self.with_row(job="astronaut"), self.with_row(job=None))
        self.same(schema, self.with_row(ill="perhaps"), self.with_row(ill="yes"))

    def test_a_column_that_the_schema_does_not_name_has_no_say(self, schema):
        self.same(schema, self.with_row(not_in_the_schema="x"), self.with_row(not_in_the_schema="y"))

    def test_new_names_change_nothing_else(self, schema):
        renamed = Schema.from_yaml(MIXED.replace("name: age", "name: years"))
        values, _ = self.content(make_table(300), schema)
        others, _ = self.content(
            make_table(300).rename_columns(["years" if n == "age" else n for n in EMPTY.column_names]), renamed
        )
        assert values == others

    def test_noise_follows_the_schema_and_not_the_scale_of_the_data(self, schema):
        """Threat 7: data times a thousand, ten times the rows: each answer is as noisy as its question asks."""
        for table in (make_table(300), make_table(3_000), self.with_row(wage=1e9)):
            release = sfumato.release(table, schema, epsilon=1.0, ledger=None, types="declared")
            plan = plan_tables(schema, Budget(1.0, 1e-6), Adjacency.ADD_REMOVE)
            assert [item.mu for item in release.measurements] == [
                *(plan.mu_zoom, plan.mu_one_way, plan.mu_pairs),
                *plan.mu_target_left,
            ]
            for item in release.measurements:
                assert item.sigma == noise_scale(item.statistic.sensitivity(Adjacency.ADD_REMOVE), item.mu)
