"""A release is compared with the table as it stands: what the schema ruined shows as ruined, what is good as good."""

import datetime as dt
import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ks_2samp, wasserstein_distance
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.errors import DataError
from sfumato.evaluation import evaluate
from sfumato.evaluation.distances import column_distance, range_of, total_variation
from sfumato.evaluation.evaluation import COMPARED_NOTE, LEARNERS_NOTE
from sfumato.evaluation.fidelity import fidelity
from sfumato.evaluation.raw_values import RawColumn, RawReader
from sfumato.reports.private import private_report

SCHEMA = """
sfumato: 1
name: stays
columns:
  - {name: job, type: category, values: [private, public, other], otherwise: other}
  - {name: pay, type: number, bounds: [0, 5000]}
  - {name: seen, type: date, bounds: [2021-01-01, 2021-12-31]}
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: ward, type: category, values: [1, 2, 3], missing: true}
  - {name: ill, type: boolean}
target: ill
"""
RUINED = ("job", "pay", "seen")
ROWS = 1_500
numbers = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 3.0])
columns = st.lists(st.tuples(numbers, st.booleans()), min_size=1, max_size=40).map(
    lambda rows: RawColumn(
        np.array([math.nan if unread else number for number, unread in rows]), np.array([unread for _, unread in rows])
    )
)
lists = arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 8) | st.integers(0, 10**12))


def story(rows, seed=0):
    """Capitals, amounts with a currency and days as people write them, beside three columns that fit the schema."""
    rng = np.random.default_rng(seed)
    days = [dt.date(2021, 1, 1) + dt.timedelta(int(n)) for n in rng.integers(0, 365, rows)]
    age = rng.integers(20, 80, rows)
    return pa.table(
        {
            "job": np.where(rng.random(rows) < 0.003, "other", rng.choice(["Private", "PUBLIC"], rows)),
            "pay": [f"{amount:,.2f} EUR" for amount in rng.gamma(4, 500, rows)],
            "seen": [day.strftime("%d.%m.%Y") for day in days],
            "age": age,
            "ward": pa.array(rng.choice(3, rows) + 1.0, mask=rng.random(rows) < 0.2),
            "ill": rng.random(rows) < age / 100,
        }
    )


@pytest.fixture(scope="module")
def release():
    schema = sfumato.Schema.from_yaml(SCHEMA)
    return sfumato.release(story(ROWS), schema, epsilon=4, ledger=None, types="declared", seed=1)


@pytest.fixture(scope="module")
def result(release):
    return evaluate(release, story(ROWS), story(600, seed=1), rows=ROWS)


def test_a_ruined_column_shows_as_ruined(result):
    for name in RUINED:
        assert result.fidelity.columns[name].share > 0.95
        assert result.floor.columns[name].share < 0.1
        others = [pair for pair in result.fidelity.pairs if name in pair]
        assert min(result.fidelity.pairs[pair] for pair in others) > 0.95
    assert result.fidelity.columns["pay"].moved == result.fidelity.columns["seen"].moved == 1


def test_a_good_column_is_near(result):
    for name in ("age", "ward", "ill"):
        assert result.fidelity.columns[name].share < 0.08
    assert result.fidelity.columns["age"].moved < 0.08
    assert result.fidelity.columns["ill"].moved is None


def test_ruin_is_remarked_with_its_cure(result, release):
    assert list(result.remarks) == ["pay", "seen", "job"]
    assert result.remarks["job"] == "99.8% of the values are not in the schema's list; run `sfumato check`"
    assert result.remarks["pay"] == "100.0% of the values cannot be read; run `sfumato check`"
    page = " ".join(private_report(result, release).split())
    for words in (*map(str, result.remarks.values()), COMPARED_NOTE, LEARNERS_NOTE):
        assert words.replace("'", "&#39;") in page
    assert "differs from &#39;private&#39; in case" in page
    content = {one["column"]: one for one in json.loads(json.dumps(result.to_dict()))["columns"]}
    assert content["job"]["remark"] == result.remarks["job"]
    assert content["job"]["measure"] == "total variation"
    assert (content["age"]["remark"], content["age"]["misread"]) == (None, 0)


def test_the_command_tells_of_ruin(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    for name in ("real", "test"):
        pa.parquet.write_table(story(200), tmp_path / f"{name}.parquet")
    words = ["evaluate", "b.sfumato", "--real", "real.parquet", "--test", "test.parquet", "--out", "c.html"]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in words])
    assert done.exit_code == 0, done.output
    shown = " ".join(done.output.split())
    assert "seen: 100.0% of the values cannot be read; run `sfumato check`" in shown
    assert LEARNERS_NOTE in shown
    assert COMPARED_NOTE in shown


def test_without_ruin_there_is_no_remark():
    text = "{sfumato: 1, name: t, columns: [{name: age, type: integer, bounds: [0, 99]}]}"
    good = story(300).select(["age"])
    release = sfumato.release(good, text_schema(text), epsilon=4, ledger=None, types="declared", seed=1)
    found = evaluate(release, good, good, rows=300)
    assert not found.remarks
    assert "not released as they are" not in private_report(found, release)


def text_schema(text):
    return sfumato.Schema.from_yaml(text)


@pytest.mark.parametrize("place", ["real", "test"])
def test_a_missing_column_is_named(release, place):
    tables = {"real": story(20), "test": story(20)}
    tables[place] = tables[place].drop_columns("age")
    with pytest.raises(DataError, match="age"):
        evaluate(release, tables["real"], tables["test"], rows=20)


@pytest.mark.parametrize(
    "values",
    [
        *(pa.array([1, 2, 9, None]), pa.array([1.0, 2.0, 9.0, None]), pa.array(["1", "2", "9", None])),
        *(pa.array([1, 2, 9, None]).cast(pa.decimal128(30, 2)), pa.array(["1", "2", "9", None]).dictionary_encode()),
        *(pa.array([b"1", b"2", b"9", None]), pd.Series([1, "2", 9.0, None], dtype=object)),
    ],
    ids=lambda values: str(getattr(values, "type", "objects")),
)
def test_a_value_is_the_same_however_it_is_stored(values):
    schema = text_schema("{sfumato: 1, name: t, columns: [{name: x, type: category, values: [1, 2, 3]}]}")
    reader = RawReader(schema)
    plain, _ = reader.read(pa.table({"x": [1, 2, 9, None]}))
    table = pd.DataFrame({"x": values}) if isinstance(values, pd.Series) else pa.table({"x": values})
    found, checks = reader.read(table)
    assert fidelity(plain, found, schema).columns["x"].share == 0
    assert (checks[0].unlisted, checks[0].nulls) == (1, 1)


def test_values_that_are_not_listed_are_different_values():
    schema = text_schema("{sfumato: 1, name: t, columns: [{name: x, type: category, values: [a, b]}]}")
    reader = RawReader(schema)
    real, other = (reader.read(pa.table({"x": values}))[0] for values in (["a", "A", "B", None], ["a", "b", "b", "b"]))
    assert fidelity(real, other, schema).columns["x"].share == 0.75
    assert fidelity(real, real, schema).columns["x"].share == 0


def test_numbers_are_neither_clamped_nor_replaced():
    schema = text_schema("{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [0, 10]}]}")
    table, checks = RawReader(schema).read(pa.table({"x": ["-5", "3", "1e9", "none", "nan", None]}))
    np.testing.assert_array_equal(table["x"].values, [-5, 3, 1e9, np.nan, np.nan, np.nan])
    assert table["x"].unread.tolist() == [False, False, False, True, False, False]
    assert (checks[0].outside, checks[0].unread, checks[0].nulls) == (2, 1, 2)


def test_digits_that_storage_loses_do_not_count():
    heap = RawColumn.of(np.repeat([0.1, 0.7, 2.0], 100))
    stored = RawColumn.of(heap.values.astype(np.float32).astype(float))
    assert column_distance(heap, stored, listed=False).share == 0
    assert column_distance(heap, RawColumn.of(heap.values + 0.01), listed=False).share == pytest.approx(1 / 3)


@given(columns, columns)
def test_distances_are_what_slow_versions_say(real, other):
    found = column_distance(real, other, listed=False)
    assert found.share == pytest.approx(slow_kolmogorov_smirnov(real, other), abs=1e-12)
    assert found.moved == pytest.approx(slow_wasserstein(real, other), rel=1e-6, abs=1e-9)
    assert 0 <= found.share <= 1


@given(lists, lists)
def test_total_variation_is_what_a_slow_version_says(real, other):
    shares = [{value: list(part).count(value) / len(part) for value in part} for part in (real, other)]
    slow = sum(abs(shares[0].get(value, 0) - shares[1].get(value, 0)) for value in {*shares[0], *shares[1]}) / 2
    assert total_variation(real, other) == pytest.approx(slow)
    assert 0 <= total_variation(real, other) <= 1 + 1e-12


@given(columns, columns, st.randoms(use_true_random=False))
def test_the_order_of_records_makes_no_difference(real, other, random):
    places = list(range(len(real.values)))
    random.shuffle(places)
    shuffled = RawColumn(real.values[places], real.unread[places])
    same = column_distance(real, shuffled, listed=False)
    assert (same.share, same.moved) == (0, 0)
    assert column_distance(shuffled, other, listed=False) == column_distance(real, other, listed=False)


@given(lists, lists, st.randoms(use_true_random=False))
def test_the_order_of_listed_values_makes_no_difference(real, other, random):
    shuffled = real.copy()
    random.shuffle(shuffled)
    assert total_variation(real, shuffled) == 0
    assert total_variation(shuffled, other) == total_variation(real, other)


def test_clean_numbers_are_compared_as_scipy_does():
    rng = np.random.default_rng(0)
    real, other = rng.normal(size=400), rng.normal(0.3, 1.2, size=300)
    found = column_distance(RawColumn.of(real), RawColumn.of(other), listed=False)
    assert found.share == pytest.approx(ks_2samp(real, other).statistic, abs=0.01)
    low, high = np.quantile(real, [0.01, 0.99])
    assert found.moved == pytest.approx(wasserstein_distance(real, other) / (high - low))


def slow_kolmogorov_smirnov(real, other):
    """The share up to every place, null first and unreadable last; a number may be passed by 1e-4 of the range."""
    same = 1e-4 * range_of(real.values)

    def share(column, place):
        here = [
            (math.isnan(number) and not unread) or number <= place
            for number, unread in zip(column.values, column.unread, strict=True)
        ]
        return sum(here) / len(here)

    far = [abs(share(real, math.nan) - share(other, math.nan))]
    for one, two in ((real, other), (other, real)):
        far += [share(one, place) - share(two, place + same) for place in one.values if not math.isnan(place)]
    return max(far)


def slow_wasserstein(real, other):
    kinds = [
        (np.isfinite(column.values) | np.isinf(column.values), np.isnan(column.values) & ~column.unread, column.unread)
        for column in (real, other)
    ]
    changed = sum(abs(here.mean() - there.mean()) for here, there in zip(*kinds, strict=True)) / 2
    both = [column.values[kind[0]] for column, kind in zip((real, other), kinds, strict=True)]
    finite = np.concatenate(both)
    finite = finite[np.isfinite(finite)]
    if not len(both[0]) or not len(both[1]) or not len(finite):
        return changed
    ends = [np.clip(part, finite.min(), finite.max()) for part in both]
    share = min(kinds[0][0].mean(), kinds[1][0].mean())
    return changed + share * wasserstein_distance(*ends) / range_of(real.values)
