"""Releases of columns of multiples and of truth in words: what comes back is spelt as it went in."""

import statistics
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.errors import RequestError
from sfumato.evaluation import evaluate
from sfumato.reports.private import private_report
from sfumato.reports.public import public_report
from tests.parameters import mostly_slow

ROWS = 3_000
COLUMNS = """
  - {name: price, type: number, bounds: [0, 99.99], decimals: 2}
  - {name: fever, type: number, bounds: [34, 43], decimals: 1}
  - {name: credit, type: integer, bounds: [0, 1000000], step: 10000}
  - {name: turnover, type: number, bounds: [0, 1000000], step: 0.25}
"""
SCHEMA = f"""
sfumato: 1
name: shop
columns: {COLUMNS}
  - {{name: smoker, type: boolean, words: [Nein, Ja]}}
target: smoker
"""
STEPS = {"price": "0.01", "fever": "0.1", "credit": "10000", "turnover": "0.25"}
MECHANISMS = ["tables", "mixture", "subspace", "slices"]


def shop(rows: int = ROWS, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    smoker = rng.random(rows) < 0.3
    price = np.where(rng.random(rows) < 0.4, 9.99, np.round(np.clip(rng.normal(30, 9, rows), 0, 99.99), 2))
    return pa.table(
        {
            "price": price,
            "fever": np.round(37 + 0.5 * smoker + 0.3 * rng.standard_normal(rows), 1),
            "credit": (10_000 * rng.integers(5, 40, rows)).clip(0, 10**6),
            "turnover": np.round(4 * rng.uniform(1_000, 90_000, rows)) / 4,
            "smoker": np.where(smoker, "Ja", "Nein"),
        }
    )


@pytest.fixture(scope="module", params=mostly_slow(MECHANISMS, "tables", "mixture", "subspace"))
def release(request):
    settings = {"epsilon": 20, "delta": 1e-5, "ledger": None, "seed": 1, "types": "declared"}
    return sfumato.release(shop(), sfumato.Schema.from_yaml(SCHEMA), mechanism=request.param, **settings)


def test_a_sample_holds_multiples_and_words(release):
    sample = release.sample(2_000, seed=1)
    for name, step in STEPS.items():
        values = sample.column(name).to_pylist()
        assert all((Fraction(repr(value)) / Fraction(step)).denominator == 1 for value in values)
    assert set(sample.column("smoker").to_pylist()) == {"Ja", "Nein"}


def test_a_condition_names_a_multiple(release):
    assert set(release.sample(50, given={"price": 9.99}, seed=1).column("price").to_pylist()) == {9.99}
    assert set(release.sample(50, given={"price": "9.99"}, seed=1).column("price").to_pylist()) == {9.99}
    with pytest.raises(RequestError, match="has no value 100"):
        release.condition({"price": 100})
    if release.statement.mechanism == "subspace":
        return  # it knows no ranges
    between = release.sample(200, given={"fever": (37.1, 37.3)}, seed=1).column("fever").to_pylist()
    assert set(between) <= {37.1, 37.2, 37.3}
    some = release.sample(200, given={"turnover": (20_000.25, 20_500.75)}, seed=1).column("turnover").to_pylist()
    assert all(20_000.25 <= value <= 20_500.75 and 4 * value == round(4 * value) for value in some)


def test_questions_are_answered_in_the_units_of_the_column(release):
    truth = shop()
    for name, step in STEPS.items():
        values = truth.column(name).to_numpy()
        spread = values.std()
        answer = release.mean(name)
        assert abs(answer.mean - values.mean()) < 0.3 * spread
        assert answer.low <= answer.mean <= answer.high
        middle = release.quantile(name, 0.5)
        assert abs(middle - np.median(values)) < 0.8 * spread
        assert (Fraction(repr(middle)) / Fraction(step)).denominator == 1
        assert release.cdf(name, middle) >= 0.5 - 1e-6
        assert release.cdf(name, values.max() + 2 * spread) == pytest.approx(1, abs=0.02)
        table = release.marginal(name)
        for value in (*table.column("first").to_pylist(), *table.column("last").to_pylist()):
            assert (Fraction(repr(value)) / Fraction(step)).denominator == 1


def test_words_are_classes_conditions_and_answers(release):
    assert release.classes == ["Nein", "Ja"]
    assert set(release.predict(shop(50).drop_columns("smoker"))) <= {"Nein", "Ja"}
    for asked in ("Ja", "ja", True, 1, "true", ["Ja"]):
        drawn = release.sample(20, given={"smoker": asked}, seed=1)
        assert set(drawn.column("smoker").to_pylist()) == {"Ja"}
    assert release.marginal("smoker").column("value").to_pylist() == ["Nein", "Ja"]
    assert "p(smoker=Ja)" in release.sample(3, probabilities=True, seed=1).column_names
    assert np.isfinite(release.log_prob(shop(20))).any()


def test_the_bundle_keeps_it_all(release, tmp_path):
    release.save(tmp_path / "a.sfumato")
    again = sfumato.open(tmp_path / "a.sfumato")
    assert again.sample(30, seed=1) == release.sample(30, seed=1)
    assert all(check.holds for check in verify(again) if "cryptographic" not in check.what)
    assert "37" in public_report(again)


def test_parameters_have_the_units_of_the_column():
    schema = sfumato.Schema.from_yaml(SCHEMA)
    settings = {"epsilon": 50, "delta": 1e-5, "ledger": None, "seed": 1, "types": "declared", "mechanism": "mixture"}
    table = sfumato.release(shop(), schema, **settings).parameters().to_pylist()
    found = {(row["class"], row["column"]): row["estimate"] for row in table if row["parameter"] == "mean"}
    assert found["Nein", "fever"] == pytest.approx(37, abs=0.1)
    assert found["Ja", "fever"] == pytest.approx(37.5, abs=0.1)
    assert found["Nein", "credit"] == pytest.approx(220_000, rel=0.1)


def test_a_number_of_steps_can_be_predicted_and_evaluated():
    schema = sfumato.Schema.from_yaml(SCHEMA.replace("target: smoker", "target: fever"))
    settings = {"epsilon": 20, "delta": 1e-5, "ledger": None, "seed": 1, "types": "declared"}
    release = sfumato.release(shop(), schema, **settings)
    predicted = release.predict(shop(200, seed=1).drop_columns("fever"))
    assert (abs(predicted - 37) < 1.5).all()
    found = evaluate(release, shop(600, seed=2), shop(300, seed=3), rows=600)
    values = [score.value for score in found.scores]
    assert None not in values
    assert statistics.median(values) > 0.1  # a single tree learnt on 600 synthetic rows may be far off
    assert "Ja" in {group.value for group in found.groups}
    assert "fever" in private_report(found, release)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_words_come_back_in_every_frame(output):
    columns = [
        {"name": "a", "type": "boolean", "words": ["no", "yes"], "missing": True},
        {"name": "b", "type": "boolean", "words": [0, 1]},
        {"name": "c", "type": "boolean", "words": [0, 1], "missing": True},
        {"name": "d", "type": "boolean", "words": ["no", "yes"]},
        {"name": "e", "type": "boolean", "missing": True},
    ]
    content = {"sfumato": 1, "name": "t", "columns": columns, "types": {"d": "category", "b": "int8"}}
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            **{name: np.where(rng.random(500) < 0.5, "yes", "no") for name in "ad"},
            **{name: rng.integers(0, 2, 500) for name in "bc"},
            "e": rng.random(500) < 0.5,
        }
    )
    frame = getattr(__import__(output), "DataFrame")(table.to_pydict())  # noqa: B009 - two libraries, one name
    sample = sfumato.release(frame, sfumato.Schema.from_dict(content), epsilon=20, ledger=None, seed=1).sample(
        200, seed=1
    )
    types = {name: str(sample[name].dtype) for name in "abcde"}
    if output == "pandas":
        assert (types["b"], types["c"]) == ("int8", "Int64")
        assert (types["d"], types["e"]) == ("category", "boolean")
    else:
        assert (types["b"], types["c"], types["e"]) == ("Int8", "Int64", "Boolean")
    words = {word for word in sample["a"].to_list() if isinstance(word, str)}  # a null is None or NaN
    assert words == set(sample["d"].to_list()) == {"no", "yes"}
    assert set(sample["b"].to_list()) == {0, 1}
