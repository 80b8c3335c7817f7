"""Forecasts by simulation: a bundle, a release and a sample as proxies."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sfumato
from sfumato.errors import RequestError
from sfumato.planning.proxies import SampleProxy
from sfumato.planning.simulation import predict_interval

SCHEMA = sfumato.Schema.from_yaml(
    "{sfumato: 1, name: t, target: y, columns: [{name: a, type: category, values: [p, q, r]}, "
    "{name: n, type: integer, bounds: [0, 20]}, {name: y, type: boolean}]}"
)


def make_rows(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    n = rng.integers(0, 21, rows)
    return pa.table({"a": rng.choice(["p", "q", "r"], rows), "n": n, "y": rng.random(rows) < n / 20})


@pytest.fixture(scope="module")
def proxy() -> sfumato.Release:
    return sfumato.release(make_rows(3_000), SCHEMA, epsilon=5, ledger=None, types="declared", seed=1)


def simulate(like, **more):
    return sfumato.plan(SCHEMA, **{"rows": 2_000, "epsilon": 1, "like": like, "repetitions": 2, **more})


def test_a_bundle_is_released_again_through_the_mechanism(proxy, tmp_path):
    proxy.save(tmp_path / "b.sfumato")
    stages: list[str] = []
    planned = simulate(tmp_path / "b.sfumato", progress=stages.append)
    found = planned.simulated
    assert stages == ["simulating release 1 of 2", "simulating release 2 of 2"]
    assert found.repetitions == 2
    assert found.source.endswith("b.sfumato")
    assert planned.quality is found.quality
    assert 0 < found.quality.column_error < 0.2
    assert set(found.quality.intervals) == {"column_error", "pair_error", "mean_error", "prediction_gap"}
    assert simulate(proxy).simulated.quality == found.quality  # seeds decide everything
    assert any("simulated releases" in note for note in planned.notes)


def test_the_parts_that_are_chosen_are_simulated(proxy):
    """What makes the model predict is worth more than nothing, and is what a release by `tables` has."""
    adapted, alone = (simulate(proxy, mechanism="3a", **parts).simulated.quality for parts in ({}, {"adapt": "none"}))
    assert adapted == simulate(proxy, mechanism="tables").simulated.quality
    assert alone.prediction_gap != adapted.prediction_gap
    planned = simulate(proxy, mechanism="3a", anonymize="kernel", share=0.5)
    assert planned.simulated.quality.column_error not in (alone.column_error, adapted.column_error)
    assert "four tables out of five" in planned.interval_words
    assert "was not tried" in planned.formula_words


@pytest.mark.parametrize("repetitions", [2, 3, 5, 20])
@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_intervals_hold_the_truth_four_times_out_of_five(repetitions, noise):
    """Releases differ by noise, and the table is off by a factor that every simulation misses."""
    rng, held, times = np.random.default_rng(4), 0, 2_000
    for _ in range(times):
        values = 0.1 * (1 + noise * rng.standard_normal(repetitions))
        truth = 0.1 * (1 + noise * rng.standard_normal()) * (1 + 0.25 / 1.282 * rng.standard_normal())
        low, high = predict_interval("pair_error", values)
        held += low <= truth <= high
    assert 0.78 < held / times < 0.95


def test_releases_that_agree_leave_an_interval_all_the_same():
    assert predict_interval("prediction_gap", [0.0, 0.0, 0.0]) == (0.0, 0.01)
    assert predict_interval("column_error", [0.2, 0.2]) == pytest.approx((0.15, 0.25))
    assert predict_interval("mean_error", [0.0, 1.0]) == (0.0, 1.0)


def test_a_sample_that_is_large_enough_gives_no_record_twice():
    numbered = pa.table({"n": np.arange(400)})
    records, others = SampleProxy(numbered, "all").draw(300, np.random.default_rng(0))
    assert sorted((*records["n"].to_pylist(), *others["n"].to_pylist())) == list(range(400))
    again, _ = SampleProxy(numbered, "all").draw(301, np.random.default_rng(0))
    assert len(set(again["n"].to_pylist())) < 301


def test_more_epsilon_makes_simulated_releases_better(proxy):
    little, much = (simulate(proxy, epsilon=epsilon).quality for epsilon in (0.1, 5))
    assert much.column_error < little.column_error
    assert much.pair_error < little.pair_error


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_small_public_sample_is_drawn_from_with_replacement(kind, tmp_path):
    file = tmp_path / f"sample.{kind}"
    (pyarrow.csv.write_csv if kind == "csv" else pyarrow.parquet.write_table)(make_rows(400), file)
    planned = simulate(file)
    assert planned.simulated.source == str(file)
    assert 0 < planned.quality.column_error < 0.3


def test_a_person_with_several_records_has_the_noise_of_the_plan(proxy):
    unit = sfumato.Schema.from_dict({**SCHEMA.to_dict(), "unit": {"column": "id", "records": 4}})
    alone, several = (
        sfumato.plan(schema, rows=2_000, epsilon=1, like=proxy, repetitions=2).quality for schema in (SCHEMA, unit)
    )
    assert several.column_error > 1.5 * alone.column_error


def test_what_cannot_stand_for_the_table_is_refused(proxy, tmp_path):
    wider = sfumato.Schema.from_dict(
        {**SCHEMA.to_dict(), "columns": [*SCHEMA.to_dict()["columns"], {"name": "z", "type": "boolean"}]}
    )
    with pytest.raises(RequestError, match="has no column z"):
        sfumato.plan(wider, rows=100, epsilon=1, like=proxy)
    with pytest.raises(RequestError, match="2 to 100"):
        simulate(proxy, repetitions=1)
    pyarrow.parquet.write_table(make_rows(5), tmp_path / "few.parquet")
    with pytest.raises(RequestError, match="holds 5 records"):
        simulate(tmp_path / "few.parquet")
    unknown = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: t, columns: [{name: a, type: category, values: discover}, {name: y, type: boolean}]}"
    )
    with pytest.raises(RequestError, match="complete it"):
        sfumato.plan(unknown, rows=100, epsilon=1, like=tmp_path / "few.parquet")
