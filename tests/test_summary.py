"""Mean, standard deviation and quantiles with their intervals, over all records and given a condition."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import RequestError
from tests.mechanisms.every import every_case

SCHEMA = sfumato.Schema.from_yaml("""
{sfumato: 1, name: stays, target: ward, columns: [
  {name: cost, type: number, bounds: [0, 200000]}, {name: fever, type: number, bounds: [30, 45], decimals: 1},
  {name: admitted, type: date, bounds: [2015-01-01, 2025-12-31]},
  {name: ward, type: category, values: [a, b]}]}
""")
ROWS = 20_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    ward = rng.random(ROWS) < 0.4
    cost = np.rint(np.exp(rng.normal(7 + ward, 1.2, ROWS))).clip(0, 200_000)
    fever = np.round(rng.normal(37.5, 0.8, ROWS), 1)
    admitted = pa.array(rng.integers(17_000, 19_000, ROWS).astype(np.int32)).cast(pa.date32())
    return pa.table({"cost": cost, "fever": fever, "admitted": admitted, "ward": np.where(ward, "a", "b")})


@pytest.fixture(scope="module")
def release(table):
    return sfumato.release(table, SCHEMA, epsilon=3.0, ledger=None, types="declared", seed=1)


def truth(numbers: np.ndarray) -> list[float]:
    return [numbers.mean(), numbers.std(), *np.quantile(numbers, [0.05, 0.25, 0.5, 0.75, 0.95], method="inverted_cdf")]


@pytest.mark.parametrize("ward", [None, "a", "b"])
@pytest.mark.parametrize("column", ["cost", "fever"])
def test_intervals_hold_the_truth(table, release, column, ward):
    chosen = np.ones(ROWS, dtype=bool) if ward is None else table.column("ward").to_numpy() == ward
    figures = release.summary(column, given={"ward": ward} if ward else None)
    names = ["mean", "standard deviation", *(f"{share} quantile" for share in ("5%", "25%", "50%", "75%", "95%"))]
    assert [one.figure for one in figures] == names
    real = truth(table.column(column).to_numpy()[chosen])
    held = [one.low - 0.05 <= number <= one.high + 0.05 for one, number in zip(figures, real, strict=True)]
    assert sum(held) >= 6
    for one, number in zip(figures, real, strict=True):
        assert one.low <= one.value <= one.high
        assert one.value == pytest.approx(number, rel=0.25)


def test_dates_have_dates_and_durations(release):
    mean, spread, *quantiles = release.summary("admitted")
    assert isinstance(mean.value, dt.date)
    assert spread.value == pytest.approx(dt.timedelta(days=2_000 / 12**0.5), abs=dt.timedelta(days=40))
    assert quantiles[0].value < mean.value < quantiles[-1].value


def test_a_list_has_no_summary(release):
    with pytest.raises(RequestError, match="no order"):
        release.summary("ward")


@pytest.mark.parametrize("mechanism", ["mixture", "subspace"])
def test_other_models_say_where_they_do_not_know(mechanism):
    made = every_case()[mechanism].release()
    column = made.schema.features[0]
    figures = made.summary(column)
    assert figures[0].low <= figures[0].value <= figures[0].high
    assert figures[1].value > 0
    assert figures[1].low is figures[1].high is None
    assert figures[2].value <= figures[-1].value
