"""A release whose schema has constraints: samples keep them, and answers follow from the measured columns."""

import datetime as dt

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.artefact.check import Outcome
from sfumato.artefact.verify import verify
from sfumato.errors import RequestError
from sfumato.fitting.violating_rows import find_violating_rows
from tests.constraints.stays import COLUMNS, CONSTRAINTS, SCHEMA, stays


@pytest.fixture(scope="module")
def private():
    return stays(4_000)


@pytest.fixture(scope="module")
def release(private):
    return sfumato.release(private, SCHEMA, epsilon=20.0, ledger=None, types="declared", seed=1)


def columns(table):
    return {name: table.column(name).to_pylist() for name in table.column_names}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", ["tables", "slices"])
def test_every_sample_keeps_every_constraint(mechanism, adjacency):
    table = stays(300, broken=0.3)
    made = sfumato.release(
        table, SCHEMA, epsilon=1.0, ledger=None, types="declared", mechanism=mechanism, adjacency=adjacency
    )
    broken = find_violating_rows(SCHEMA, made.sample(2_000))
    assert len(broken) == 7
    assert not any(one.any() for one in broken.values())


def test_a_sample_has_the_columns_of_the_table_and_fresh_ids_first(release, private):
    sample = release.sample(1_500)
    assert sample.column_names == ["id", *private.column_names]
    ids = sample.column("id").to_pylist()
    assert ids[0] == "P-0001"
    assert len(set(ids)) == 1_500
    assert sample.schema.field("admitted").type == pa.date32()


def test_the_distances_are_those_of_the_table(release, private):
    def lengths(table):
        pairs = zip(table.column("discharged").to_pylist(), table.column("admitted").to_pylist(), strict=True)
        return np.array([(end - start).days for end, start in pairs if end is not None])

    def minutes(table):
        pairs = zip(table.column("left").to_pylist(), table.column("seen").to_pylist(), strict=True)
        return np.array([(end - start).total_seconds() / 60 for end, start in pairs])

    sample = release.sample(20_000, seed=0)
    assert abs(lengths(sample).mean() - lengths(private).mean()) < 0.3
    assert abs(np.median(minutes(sample)) - np.median(minutes(private))) < 1.5


def test_answers_for_columns_that_follow_from_others(release):
    sample = release.sample(50_000, seed=0)
    ages = np.array(sample.column("age").to_pylist())
    assert abs(release.mean("age").mean - ages.mean()) < 0.5
    assert abs(release.cdf("age", 40) - (ages <= 40).mean()) < 0.02
    assert abs(release.quantile("age", 0.5) - np.median(ages)) <= 1
    shares = dict(
        zip(*(release.marginal("country").column(name).to_pylist() for name in ("value", "probability")), strict=True)
    )
    drawn = sample.column("country").to_pylist()
    assert abs(shares["Italy"] - drawn.count("Italy") / len(drawn)) < 0.02
    low, high = release.mean("width").low, release.mean("width").high
    assert low <= np.mean(sample.column("width").to_pylist()) <= high
    assert release.summary("discharged")[0].value == release.mean("discharged").mean
    assert release.model.dependence("city", "country") > 0.8
    assert release.model.dependence("a", "country") < 0.2


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ({"country": "Italy"}, lambda row: row["city"] == "Rome"),
        ({"age": (20, 30)}, lambda row: 20 <= row["age"] <= 30),
        ({"discharged": (dt.date(2021, 1, 1), dt.date(2021, 12, 31))}, lambda row: row["discharged"].year == 2021),
        ({"discharged": None}, lambda row: row["discharged"] is None),
        ({"width": (1.0, 2.0), "city": "Paris"}, lambda row: 1 <= row["width"] <= 2 and row["city"] == "Paris"),
        ({"c": (0, 10)}, lambda row: row["c"] <= 10),
        ({"lat": (44.0, 45.0)}, lambda row: 44 <= row["lat"] <= 45.02),
    ],
)
def test_conditions_hold_in_every_record(release, wanted, holds):
    given = release.condition(wanted)
    sample = given.sample(300, seed=0)
    assert all(map(holds, sample.to_pylist()))
    assert not any(one.any() for one in find_violating_rows(SCHEMA, sample).values())
    assert 0 < given.size < release.size
    assert given.mean("a").low <= given.mean("a").mean <= given.mean("a").high


def test_a_condition_without_probability_is_refused(release):
    with pytest.raises(RequestError, match="ask for a wider one"):
        release.condition({"country": "Italy", "city": "Paris"})
    with pytest.raises(RequestError, match="ask for a wider one"):
        release.condition({"discharged": (dt.date(2020, 1, 1), dt.date(2020, 1, 2)), "admitted": dt.date(2023, 1, 1)})


def test_records_that_break_what_follows_have_no_probability(release):
    sample = release.sample(50, seed=0).drop_columns(["id"])
    assert np.isfinite(release.log_prob(sample)).all()
    other = sample.set_column(sample.column_names.index("age"), "age", pa.array([3] * 50))
    changed = np.array(sample.column("age").to_pylist()) != 3
    assert np.isneginf(release.log_prob(other)[changed]).all()
    with pytest.raises(RequestError, match="give that as well"):
        release.log_prob(sample.select(["discharged"]))
    with pytest.raises(RequestError, match="give these as well"):
        release.log_prob(sample.select(["country"]))


def test_log_prob_adds_up_over_a_small_table():
    columns = [{"name": name, "type": "integer", "bounds": [0, 3]} for name in "ab"]
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "n", "columns": columns, "constraints": ["b >= a"]})
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 500)
    release = sfumato.release(
        pa.table({"a": a, "b": np.minimum(a + rng.integers(0, 3, 500), 3)}), schema, epsilon=5.0, ledger=None, seed=1
    )
    every = pa.table({"a": np.repeat(np.arange(4), 4), "b": np.tile(np.arange(4), 4)})
    density = np.exp(release.log_prob(every)).reshape(4, 4)
    assert (density[np.tril_indices(4, -1)] == 0).all()
    drawn = release.sample(100_000, seed=0)
    at = np.array(drawn.column("a").to_pylist()) * 4 + np.array(drawn.column("b").to_pylist())
    seen = np.bincount(at, minlength=16).reshape(4, 4) / 1e5
    # distances that lead beyond the bound are written as the bound, so that only what lies below it can be compared
    assert np.abs(seen - density)[:, :3].max() < 0.01


def test_a_bundle_opens_and_verifies(release, tmp_path):
    release.save(tmp_path / "stays.sfumato")
    opened = sfumato.open(tmp_path / "stays.sfumato")
    assert opened.sample(100, seed=3).equals(release.sample(100, seed=3))
    checks = verify(opened)
    failed = [check.what for check in checks if check.outcome == Outcome.FAILS]
    assert failed == ["noise from a cryptographic source"]  # it is seeded
    given = opened.condition({"discharged": (dt.date(2021, 1, 1), dt.date(2021, 12, 31))})
    given.save(tmp_path / "given.sfumato")
    assert sfumato.open(tmp_path / "given.sfumato").sample(20, seed=1).equals(given.sample(20, seed=1))


def test_storage_makes_no_difference(tmp_path):
    table = stays(200)
    pq.write_table(table, tmp_path / "stays.parquet")
    made = [
        sfumato.release(data, SCHEMA, epsilon=1.0, ledger=None, types="declared", seed=4).measurements
        for data in (table, tmp_path / "stays.parquet", pl.from_arrow(table))
    ]
    for other in made[1:]:
        assert all(np.array_equal(one.values, two.values) for one, two in zip(made[0], other, strict=True))


def test_persons_with_many_records():
    schema = sfumato.Schema.from_yaml(f"{COLUMNS}\nunit: {{column: person, records: 2}}\n{CONSTRAINTS}")
    table = stays(300).append_column("person", pa.array([f"p{place // 3}" for place in range(300)]))
    made = sfumato.release(table, schema, epsilon=2.0, ledger=None, types="declared")
    assert not any(one.any() for one in find_violating_rows(schema, made.sample(500)).values())


def test_a_target_that_lies_above_another_column():
    columns = [{"name": name, "type": "integer", "bounds": [0, 60]} for name in "ab"]
    content = {"sfumato": 1, "name": "n", "columns": columns, "constraints": ["b >= a + 1"], "target": "b"}
    rng = np.random.default_rng(0)
    a = rng.integers(0, 50, 4_000)
    table = pa.table({"a": a, "b": a + 1 + rng.integers(0, 6, 4_000)})
    for adjacency in ("add-remove", "label"):
        release = sfumato.release(
            table, sfumato.Schema.from_dict(content), epsilon=5.0, ledger=None, adjacency=adjacency, seed=0
        )
        told = release.predict(pa.table({"a": [5, 40]}))
        assert np.abs(told - [8.5, 43.5]).max() < 1.0
        assert not any(one.any() for one in find_violating_rows(release.schema, release.sample(500)).values())
        assert (np.array(release.sample(200, probabilities=True).column("mean(b)").to_pylist()) > 0).all()


def test_numbers_below_others_by_a_gaussian_mixture():
    columns = [{"name": name, "type": "number", "bounds": [0.0, 20.0]} for name in "ab"]
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "n", "columns": columns, "constraints": ["b >= a"]})
    rng = np.random.default_rng(0)
    a = rng.random(2_000) * 5 + 2
    release = sfumato.release(
        pa.table({"a": a, "b": a + rng.random(2_000)}),
        schema,
        epsilon=2.0,
        ledger=None,
        mechanism="mixture",
        types="declared",
    )
    sample = release.sample(1_000).to_pandas()
    assert (sample.b >= sample.a).all()
