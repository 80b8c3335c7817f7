"""The mixture from the door to the receiver: what it answers, what it costs, what it refuses."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.integrate import trapezoid

import sfumato
from sfumato.artefact.verify import verify
from sfumato.errors import BudgetError, RequestError, SchemaError
from sfumato.fitting.models.gaussian_mixture.model import ACTIONS
from sfumato.reports.public import public_report
from tests.conftest import in_pandas
from tests.parameters import mostly_slow

SCHEMA = sfumato.Schema.from_yaml("""
sfumato: 1
name: patients
target: kind
columns:
  - {name: height, type: number, bounds: [0, 100]}
  - {name: age, type: integer, bounds: [0, 120]}
  - {name: dose, type: number, bounds: [0.1, 1000], scale: log}
  - {name: born, type: date, bounds: [1950-01-01, 2019-12-31]}
  - {name: kind, type: category, values: [a, b, c]}
""")
KINDS = ["a", "b", "c"]


def make(rows: int, seed: int = 0) -> pa.Table:
    """Three Gaussian classes; age follows height, dose is Gaussian on its log scale."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    z = rng.standard_normal((rows, 4))
    born = (np.array([0, 4000, 9000])[kind] + 900 * z[:, 3]).astype(np.int32)
    return pa.table(
        {
            "kind": pa.array(np.array(KINDS)[kind]),
            "born": pa.array(born).cast(pa.date32()),
            "height": pa.array((np.array([30, 50, 70])[kind] + 6 * z[:, 0]).astype(np.float32)),
            "age": pa.array(
                np.rint(np.array([30, 50, 80])[kind] + 8 * (0.6 * z[:, 0] + 0.8 * z[:, 1])).astype(np.int16)
            ),
            "dose": pa.array(np.exp(np.array([0, 2, 4])[kind] + 0.5 * z[:, 2])),
            "not in the schema": pa.array([f"secret {row}" for row in range(rows)]),
        }
    )


TABLE = make(4_000)
FRESH = make(2_000, seed=1)


def release_of(table, schema=SCHEMA, **settings):
    return sfumato.release(
        table, schema, **{"epsilon": 8.0, "mechanism": "mixture", "ledger": None, "types": "declared", **settings}
    )


@pytest.fixture(scope="module")
def release():
    return release_of(TABLE, seed=1)


@pytest.fixture(scope="module")
def frame():
    """The private table as numbers: days for dates."""
    frame = TABLE.to_pandas()
    frame["born"] = TABLE.column("born").cast(pa.int32()).to_numpy()
    return frame


class TestSample:
    def test_is_the_table_that_went_in(self, release):
        sample = release.sample()
        assert len(sample) == release.size == pytest.approx(4_000, abs=60)
        assert sample.schema.names == [name for name in TABLE.column_names if name != "not in the schema"]
        assert sample.schema.field("age").type == pa.int16()
        assert sample.schema.field("height").type == pa.float32()
        assert sample.schema.field("born").type == pa.date32()
        assert sample.schema.field("kind").type == pa.string()

    @pytest.mark.parametrize("wear", [in_pandas, pl.from_arrow], ids=["pandas", "polars"])
    def test_frames_come_back_as_they_went_in(self, wear):
        table = wear(make(500))
        sample = release_of(table, seed=2, types="declared").sample(20)
        assert type(sample) is type(table)
        assert list(sample.columns) == [name for name in table.columns if name != "not in the schema"]
        assert sample["age"].dtype == table["age"].dtype
        assert sample["height"].dtype == table["height"].dtype

    def test_follows_the_classes(self, release, frame):
        sample = release.estimate("detailed").sample(40_000, seed=3).to_pandas()
        sample["born"] = (pd.to_datetime(sample["born"]) - pd.Timestamp(0)).dt.days
        assert sample["height"].between(0, 100).all()
        assert sample["age"].between(0, 120).all()
        for kind in KINDS:
            mine, truth = sample[sample["kind"] == kind], frame[frame["kind"] == kind]
            assert len(mine) / len(sample) == pytest.approx(len(truth) / len(frame), abs=0.01)
            for name in ("height", "age", "born"):
                assert mine[name].mean() == pytest.approx(truth[name].mean(), abs=float(0.1 * truth[name].std()))
                assert mine[name].std() == pytest.approx(truth[name].std(), rel=0.1)
            assert np.log(mine["dose"]).mean() == pytest.approx(np.log(truth["dose"]).mean(), abs=0.05)
            assert np.log(mine["dose"]).std() == pytest.approx(np.log(truth["dose"]).std(), rel=0.1)
            assert np.corrcoef(mine["height"], mine["age"])[0, 1] == pytest.approx(0.6, abs=0.1)

    def test_seeds_sizes_and_probabilities(self, release):
        assert release.sample(20, seed=5).equals(release.sample(20, seed=5))
        assert not release.sample(20).equals(release.sample(20))
        assert release.sample(0).schema == release.sample(3).schema
        shown = release.sample(50, probabilities=True)
        told = np.column_stack([shown.column(f"p(kind={kind})") for kind in KINDS])
        assert np.allclose(told.sum(axis=1), 1)


class TestAnswers:
    @pytest.mark.parametrize("action", ACTIONS)
    def test_predictions(self, release, action):
        read = release.estimate(action)
        proba = read.predict_proba(FRESH)
        truth = np.array(FRESH.column("kind").to_pylist())
        assert read.classes == KINDS
        assert proba.shape == (2_000, 3)
        assert np.allclose(proba.sum(axis=1), 1)
        assert np.array_equal(read.predict(FRESH), np.array(KINDS)[proba.argmax(axis=1)])
        assert (read.predict(FRESH) == truth).mean() > 0.97
        assert (read.predict(FRESH.select(["height"])) == truth).mean() > 0.85
        assert np.allclose(read.predict_proba(FRESH.drop(["kind"]).to_pandas()), proba)

    @pytest.mark.parametrize("action", ACTIONS)
    def test_log_prob_is_near_that_of_the_truth(self, release, frame, action):
        """The mean log-likelihood of fresh records, against the classes' own Gaussians."""
        truth = 0.0
        fresh = FRESH.to_pandas()
        fresh["born"] = FRESH.column("born").cast(pa.int32()).to_numpy()
        for kind, mean, log_dose, days in (("a", 30, 0, 0), ("b", 50, 2, 4000), ("c", 70, 4, 9000)):
            mine = fresh[fresh["kind"] == kind]
            z = (mine["height"] - mean) / 6
            w = ((mine["age"] - {30: 30, 50: 50, 70: 80}[mean]) / 8 - 0.6 * z) / 0.8
            v, u = (np.log(mine["dose"]) - log_dose) / 0.5, (mine["born"] - days) / 900
            scale = math.log(6 * 8 * 0.8 * 0.5 * 900) + 2 * math.log(2 * math.pi)
            weight = {"a": 0.5, "b": 0.3, "c": 0.2}[kind]
            truth += (math.log(weight) - scale - np.log(mine["dose"]) - 0.5 * (z**2 + w**2 + v**2 + u**2)).sum()
        assert release.estimate(action).log_prob(FRESH).mean() == pytest.approx(truth / 2_000, abs=0.05)

    def test_log_prob_is_a_density_in_the_users_units(self, release):
        assert np.exp(release.log_prob(pa.table({"age": np.arange(121)}))).sum() == pytest.approx(1, abs=1e-3)
        heights = np.linspace(1e-3, 100 - 1e-3, 20_001)
        assert trapezoid(np.exp(release.log_prob(pa.table({"height": heights}))), heights) == pytest.approx(1, abs=1e-3)
        doses = np.geomspace(0.1001, 999.9, 20_001)
        assert trapezoid(np.exp(release.log_prob(pa.table({"dose": doses}))), doses) == pytest.approx(1, abs=1e-3)
        days = [dt.date(1950, 1, 1) + dt.timedelta(days=day) for day in range(25_567)]
        assert np.exp(release.log_prob(pa.table({"born": days}))).sum() == pytest.approx(1, abs=1e-3)

    def test_marginals(self, release, frame):
        kinds = release.marginal("kind").to_pylist()
        assert [row["value"] for row in kinds] == KINDS
        for row in kinds:
            assert row["low"] - 0.01 <= (frame["kind"] == row["value"]).mean() <= row["high"] + 0.01
        for name in ("height", "age", "dose", "born"):
            table = release.marginal(name).to_pandas()
            assert table["probability"].sum() == pytest.approx(1)
            assert ((table["low"] <= table["probability"]) & (table["probability"] <= table["high"])).all()
            assert (table["first"] <= table["last"]).all()
        ages = release.marginal("age", output="pandas")
        for _, row in ages.iterrows():
            assert row["probability"] == pytest.approx(
                frame["age"].between(row["first"], row["last"]).mean(), abs=0.025
            )

    def test_cdf_and_quantile(self, release, frame):
        for share in (0.1, 0.5, 0.9):
            for name in ("height", "age", "dose"):
                assert (frame[name] <= release.quantile(name, share)).mean() == pytest.approx(share, abs=0.04)
            day = release.quantile("born", share)
            assert isinstance(day, dt.date)
            assert release.cdf("born", day) == pytest.approx(share, abs=1e-3)
            assert (frame["born"] <= (day - dt.date(1970, 1, 1)).days).mean() == pytest.approx(share, abs=0.04)
        assert isinstance(release.quantile("age", 0.5), int)
        assert release.cdf("age", 55) == pytest.approx((frame["age"] <= 55).mean(), abs=0.03)
        assert release.cdf("dose", 10.0) == pytest.approx((frame["dose"] <= 10).mean(), abs=0.03)
        assert release.cdf("age", [-1, 120, 1e9]) == [0, 1, 1]
        assert release.quantile("age", [0.25, 0.5]) == [release.quantile("age", 0.25), release.quantile("age", 0.5)]
        for ask in (lambda: release.cdf("kind", "a"), lambda: release.quantile("kind", 0.5)):
            with pytest.raises(RequestError, match="ordered"):
                ask()
        with pytest.raises(RequestError, match="from 0 to 1"):
            release.quantile("age", 1.5)

    def test_expectations(self, release, frame):
        for name, near in (("height", 0.3), ("age", 0.4), ("dose", 1.5)):
            mean, low, high = release.mean(name)
            assert low <= mean <= high
            assert mean == pytest.approx(frame[name].mean(), abs=near)
        day = release.mean("born")
        assert isinstance(day.mean, dt.date)
        assert (day.mean - dt.date(1970, 1, 1)).days == pytest.approx(frame["born"].mean(), abs=60)
        inside = frame[frame["height"].between(45, 60)]
        assert release.mean("age", given={"height": (45, 60)}).mean == pytest.approx(inside["age"].mean(), abs=1.5)
        of_kind = frame[frame["kind"] == "c"]
        assert release.mean("dose", given={"kind": "c"}).mean == pytest.approx(of_kind["dose"].mean(), rel=0.05)
        with pytest.raises(RequestError, match="no mean"):
            release.mean("kind")

    def test_expectations_over_two_ranges_come_soon(self, release, frame):
        found = release.mean("age", given={"height": (45, 60), "dose": (3, 30)})
        inside = frame[frame["height"].between(45, 60) & frame["dose"].between(3, 30)]
        assert found.low <= found.mean <= found.high
        assert found.mean == pytest.approx(inside["age"].mean(), abs=1.5)

    def test_parameters(self, release, frame):
        """The class's own moments lie in their intervals about as often as the level says."""
        table = release.parameters(0.95).to_pylist()
        assert len(table) == 3 * (1 + 4 + 10)
        held = []
        numbers = frame.assign(dose=np.log(frame["dose"]))
        for row in table:
            mine = numbers[numbers["kind"] == row["class"]]
            match row["parameter"]:
                case "weight":
                    truth = len(mine) / len(frame)
                case "mean":
                    truth = mine[row["column"]].mean()
                case _:
                    truth = np.cov(mine[row["column"]], mine[row["with"]])[0, 1]
            held.append(row["low"] <= truth <= row["high"])
        assert np.mean(held) > 0.75
        wide = release.parameters(0.999999).to_pandas()
        assert (wide["high"] - wide["low"] >= pd.Series([row["high"] - row["low"] for row in table]) - 1e-9).all()
        for level in (0, 1, 2.0):
            with pytest.raises(RequestError, match="between 0 and 1"):
                release.parameters(level)

    def test_kl_and_actions(self, release):
        again = release_of(make(4_000, seed=7), seed=8)
        assert release.kl(release) == pytest.approx(0, abs=1e-9)
        assert 0 < release.kl(again) < 0.1
        moved = TABLE.set_column(TABLE.column_names.index("height"), "height", pa.array([90.0] * 4_000))
        assert release.kl(release_of(moved, seed=9)) > 1
        for action in ACTIONS:
            assert release.estimate(action).model.action == action
            assert release.kl(release.estimate(action)) < 0.1
        with pytest.raises(RequestError, match="use one of mixture, wide, detailed"):
            release.estimate("oracle")
        tables = sfumato.release(TABLE, SCHEMA, epsilon=1.0, ledger=None, mechanism="tables", types="declared")
        for ask in (tables.parameters, lambda: tables.estimate("wide"), lambda: release.kl(tables)):
            with pytest.raises(RequestError, match="mechanism mixture"):
                ask()


CONDITIONS = {
    "a range": ({"age": (40, 60)}, lambda row: 40 <= row["age"] <= 60),
    "an open range": ({"age": (90, None)}, lambda row: row["age"] >= 90),
    "a value": ({"kind": "b"}, lambda row: row["kind"] == "b"),
    "a set": ({"kind": {"a", "b"}}, lambda row: row["kind"] in ("a", "b")),
    "a whole number": ({"age": 50}, lambda row: row["age"] == 50),
    "any of some": ({"age": [48, 50, 51]}, lambda row: row["age"] in (48, 50, 51)),
    "a number": ({"height": 51.25}, lambda row: abs(row["height"] - 51.25) < 1e-3),
    "a bound": ({"height": 0}, lambda row: row["height"] == 0.0),
    "on a log scale": ({"dose": (2.0, 2.5)}, lambda row: 2 <= row["dose"] <= 2.5),
    "a narrow range": ({"dose": (3.0, 3.0001)}, lambda row: 3 <= row["dose"] <= 3.0001),
    "days": ({"born": (dt.date(1990, 1, 1), "1999-12-31")}, lambda row: 1990 <= row["born"].year <= 1999),
    "near a bound": ({"height": (95.0, 99.999)}, lambda row: 95 <= row["height"] <= 99.9991),
    "all at once": (
        {"age": (40, 60), "height": (45, 60), "kind": ["b", "c"], "dose": (1, 100)},
        lambda row: 40 <= row["age"] <= 60 and 45 <= row["height"] <= 60 and row["kind"] != "a" and row["dose"] >= 1,
    ),
}


class TestConditions:
    @pytest.mark.parametrize(("given", "holds"), CONDITIONS.values(), ids=CONDITIONS)
    def test_a_conditioned_sample_keeps_the_condition(self, release, given, holds):
        assert all(holds(row) for row in release.sample(300, given=given).to_pylist())

    def test_what_is_left_follows_the_data(self, release, frame):
        for given, kept in (
            ({"height": (45, 60)}, frame["height"].between(45, 60)),
            ({"kind": "c", "age": (70, None)}, (frame["kind"] == "c") & (frame["age"] >= 70)),
            ({"age": 50}, frame["age"] == 50),
        ):
            asked = release.condition(given)
            left = frame[kept]
            assert asked.size == pytest.approx(len(left), rel=0.15)
            assert asked.mean("height").mean == pytest.approx(left["height"].mean(), abs=1.5)
            share = asked.marginal("kind").to_pandas().set_index("value")["probability"]
            for kind in KINDS:
                assert share[kind] == pytest.approx((left["kind"] == kind).mean(), abs=0.08)

    def test_classes_that_are_excluded_stay_so(self, release):
        asked = release.condition({"kind": ["a", "b"]})
        assert np.allclose(asked.predict_proba(FRESH)[:, 2], 0)
        assert (asked.log_prob(pa.table({"kind": ["c"]})) == -np.inf).all()

    def test_nonsense_is_refused(self, release):
        for given, message in (
            ({"agee": 3}, "did you mean 'age'"),
            ({"age": 300}, "has no value"),
            ({"age": (60, 40)}, "no range"),
            ({"age": None}, "no missing values"),
            ({"kind": "z"}, "no value 'z'"),
        ):
            with pytest.raises(RequestError, match=message):
                release.condition(given)
        with pytest.raises(RequestError, match="no probability"):
            release.condition({"age": 30}).condition({"age": 31})

    def test_parameters_are_those_of_all_records(self, release):
        with pytest.raises(RequestError, match="without a condition"):
            release.condition({"kind": "a"}).parameters()


class TestBundle:
    def test_save_open_verify(self, tmp_path):
        release = release_of(make(1_000), epsilon=2.0)
        given = release.condition({"age": (40, 60)}).estimate("detailed")
        given.save(tmp_path / "given.sfumato")
        again = sfumato.open(tmp_path / "given.sfumato")
        assert again.sample(50, seed=2).equals(given.sample(50, seed=2))
        assert again.statement == release.statement
        assert np.array_equal(again.predict_proba(FRESH), given.predict_proba(FRESH))
        assert again.model.action == "detailed"
        assert all(check.holds for check in verify(again)), [check for check in verify(again) if not check.holds]
        refitted = again.refit()
        assert refitted.fitted.distance(release.fitted) < 1e-6
        assert refitted.model.action == "detailed"

    def test_another_model_does_not_follow_from_the_measurements(self, release, tmp_path):
        from dataclasses import replace

        model = release.fitted
        moved = replace(model.actions["wide"], means=model.actions["wide"].means + 0.02)
        forged = replace(release, fitted=replace(model, actions={**model.actions, "wide": moved}))
        held = {check.what: check.holds for check in verify(forged)}
        assert not held["model follows from the measurements"]
        assert {check.what: check.holds for check in verify(release)}["model follows from the measurements"]

    def test_the_public_report_renders(self, release):
        for asked in (release, release.condition({"age": (40, 60)}), release.estimate("detailed")):
            page = public_report(asked)
            assert "<svg" in page
            assert all(name in page for name in SCHEMA.by_name)


SMALL = sfumato.Schema.from_yaml("""
sfumato: 1
name: small
target: kind
columns:
  - {name: x, type: number, bounds: [0, 100]}
  - {name: n, type: integer, bounds: [1, 1000], scale: log}
  - {name: kind, type: category, values: [a, b], missing: true}
""")


def small(rows: int = 300, **columns) -> pa.Table:
    """Rows for the small schema, nulls but for the named columns."""
    usual = {"x": pa.float64(), "n": pa.int64(), "kind": pa.string()}
    return pa.table(
        {name: pa.array(columns[name]) if name in columns else pa.nulls(rows, kind) for name, kind in usual.items()}
    )


def usual_rows(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, rows)
    return small(
        rows,
        x=rng.normal(40 + 20 * kind, 5),
        n=np.exp(rng.normal(3 + kind, 0.5)).astype(int),
        kind=np.array(["a", "b"])[kind],
    )


LINE = np.linspace(10, 90, 300)
HOSTILE = {
    "no rows": usual_rows(0),
    "one row": usual_rows(1),
    "two equal rows": pa.concat_tables([usual_rows(1)] * 2),
    "all null": small(),
    "one class only": small(kind=["b"] * 300),
    "no class of the list": small(kind=["perhaps"] * 300),
    "constants": small(3_000, x=[7.0] * 3_000, n=[7] * 3_000, kind=["a", "b", None] * 1_000),
    "at the bounds": small(3_000, x=[0.0] * 3_000, n=[1000] * 3_000, kind=["a", "b", "a"] * 1_000),
    "infinities": small(x=[math.inf, -math.inf, math.nan] * 100),
    "not a number": small(x=[math.nan] * 300, n=["many"] * 300),
    "far outside": small(x=[1e300] * 300, n=[-(2**62)] * 300),
    "perfectly correlated": small(x=LINE, n=np.rint(10 ** (LINE / 30)).astype(int), kind=["a"] * 300),
    "two places": small(x=[0.0, 100.0] * 150, n=[1, 1000] * 150, kind=["a"] * 300),
}


@pytest.fixture(scope="module")
def usual():
    return {
        adjacency: release_of(usual_rows(100), SMALL, epsilon=1.0, adjacency=adjacency) for adjacency in ADJACENCIES
    }


ADJACENCIES = list(sfumato.Adjacency)


@pytest.mark.parametrize("kind", mostly_slow(HOSTILE, "no rows", "constants", "two places"))
@pytest.mark.parametrize("adjacency", mostly_slow(ADJACENCIES, sfumato.Adjacency.REPLACE))
def test_whatever_the_rows_hold_the_path_and_the_spend_are_the_same(kind, adjacency, usual):
    release = release_of(HOSTILE[kind], SMALL, epsilon=1.0, adjacency=adjacency)
    other = usual[adjacency]
    for here, there in zip(release.statement.items, other.statement.items, strict=True):
        assert (here.mu, here.units) == (there.mu, there.units)
    assert release.statement.promise == other.statement.promise
    sample = release.sample(50, output="arrow")
    assert len(sample) == 50
    assert sample.column("x").null_count == sample.column("n").null_count == 0
    for action in ACTIONS:
        read = release.estimate(action)
        assert np.isfinite(read.log_prob(usual_rows(20))).all()
        assert np.allclose(read.predict_proba(usual_rows(20)).sum(axis=1), 1)
        assert np.isfinite(release.kl(read))
    assert release.size >= 1
    for name in ("x", "n"):
        assert np.isfinite(release.mean(name)).all()
        assert release.marginal(name, output="pandas")["probability"].sum() == pytest.approx(1)
        assert SMALL[name].bounds[0] <= release.quantile(name, 0.5) <= SMALL[name].bounds[1]
    estimates = release.parameters(output="arrow")
    assert all(np.isfinite(estimates.column(name).to_numpy()).all() for name in ("estimate", "low", "high"))


@pytest.mark.parametrize("epsilon", [0.01, 100.0])
@pytest.mark.parametrize(
    "rows", mostly_slow(["no rows", "constants", "perfectly correlated", "two places"], "no rows", "two places")
)
def test_budgets_of_every_size(epsilon, rows):
    release = release_of(HOSTILE[rows], SMALL, epsilon=epsilon, delta=1e-9)
    assert len(release.sample(10)) == 10
    assert np.isfinite(release.log_prob(usual_rows(5))).all()
    assert all(check.holds for check in verify(release))


def test_a_class_of_missing_labels_is_a_class():
    table = small(3_000, x=[20.0, 50.0, 80.0] * 1_000, n=[10, 30, 90] * 1_000, kind=["a", "b", None] * 1_000)
    release = release_of(table, SMALL, seed=1)
    assert release.classes == ["a", "b", None]
    assert release.predict(pa.table({"x": [21.0, 49.0, 79.0]})).tolist() == ["a", "b", None]
    assert release.mean("x", given={"kind": None}).mean == pytest.approx(80, abs=2)
    assert release.sample(30, given={"kind": None}).column("kind").null_count == 30
    assert release.parameters().column("class").null_count == 1 + 2 + 3


def numbers(count: int, **column) -> list[dict]:
    return [{"name": f"x{place}", "type": "number", "bounds": [0, 10], **column} for place in range(count)]


def schema_of(*columns, target="y"):
    label = {"name": "y", "type": "category", "values": ["no", "yes"]}
    return sfumato.Schema.from_dict({"sfumato": 1, "name": "t", "columns": [*columns, label], "target": target})


@pytest.mark.parametrize("columns", mostly_slow([1, 12], 1))
def test_one_column_and_twelve(columns):
    rng = np.random.default_rng(0)
    label = rng.random(3_000) < 0.4
    table = pa.table(
        {f"x{place}": rng.normal(4 + label * (1 + place % 2), 1) for place in range(columns)}
        | {"y": np.where(label, "yes", "no")}
    )
    release = release_of(table, schema_of(*numbers(columns)), seed=1)
    assert release.size == pytest.approx(3_000, rel=0.03)
    for place in range(min(columns, 2)):
        for kind, truth in (("no", 4), ("yes", 5 + place % 2)):
            assert release.mean(f"x{place}", given={"y": kind}).mean == pytest.approx(truth, abs=0.25)
    right = (release.predict(table) == np.where(label, "yes", "no")).mean()
    assert right > (0.65 if columns == 1 else 0.95)
    assert {check.what: check.holds for check in verify(release)}["model follows from the measurements"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([*numbers(2), {"name": "c", "type": "category", "values": ["a", "b"]}], "'c' is a category.*mechanism tables"),
        ([*numbers(2), {"name": "c", "type": "boolean"}], "'c' is a boolean.*mechanism tables"),
        (numbers(2, missing=True), "'x0' may be missing.*mechanism tables"),
        (numbers(33), "33 columns.*1 to 32.*mechanism subspace"),
        ([], "0 columns.*mechanism tables"),
    ],
    ids=["category", "boolean", "missing", "too many", "none"],
)
def test_a_schema_without_gaussians_is_refused(columns, message, tmp_path):
    book = sfumato.Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(SchemaError, match=f"(?s){message}"):
        release_of(pa.table({"y": ["no"]}), schema_of(*columns), ledger=book)
    assert not book.entries()


def test_a_budget_that_does_not_go_round_is_refused_before_anything_is_reserved(tmp_path):
    book = sfumato.Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(BudgetError, match="raise epsilon"):
        release_of(usual_rows(10), SMALL, epsilon=1e-7, delta=1e-9, ledger=book)
    assert not book.entries()
