"""A column of three tables over the same bins: shares add up, heaps stand apart, names come in their natural order."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.evaluation.column_charts import column_chart, wrap_words
from sfumato.evaluation.column_units import ColumnUnit, write_amount
from sfumato.evaluation.figures import QUANTILES, figures_of
from sfumato.evaluation.overlays import MOST_NAMED, overlay_lists, overlay_numbers
from sfumato.evaluation.raw_values import RawColumn, RawReader
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Schema

NUMBER = "{name: x, type: number, bounds: [0, 1000]}"
INTEGER = "{name: x, type: integer, bounds: [0, 1000000]}"
TENTHS = "{name: x, type: number, bounds: [30, 45], decimals: 1}"
LOG = "{name: x, type: number, bounds: [0.001, 1e6], scale: log}"
DATE = "{name: x, type: date, bounds: [1900-01-01, 2030-12-31]}"
MOMENT = "{name: x, type: datetime, bounds: [2024-01-01T00:00:00, 2024-12-31T23:59:59]}"


def schema_of(column):
    return Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{column}]}}")


def overlay(column, *tables):
    """The overlay of one column, and its unit, of tables as they are stored; the first is also the test table."""
    schema = schema_of(column)
    reader, codes = RawReader(schema), Encoder(schema).columns["x"]
    columns = [reader.read(pa.table({"x": values}))[0]["x"] for values in (*tables, tables[0])]
    if "category" in column or "boolean" in column:
        return overlay_lists(columns, codes), None
    unit = ColumnUnit.of(schema["x"])
    return overlay_numbers(columns, codes, unit), unit


def total(found, table):
    return sum(shares[table] for shares in (*found.bins, *(bar.shares for bar in found.bars), found.beyond))


numbers = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 3.0])
tables = st.lists(numbers, min_size=1, max_size=60).map(lambda rows: RawColumn.of(np.array(rows)))


@pytest.mark.parametrize("column", [NUMBER, INTEGER, TENTHS, LOG, DATE, MOMENT])
@given(real=tables, synthetic=tables, test=tables)
def test_every_row_is_counted_once(column, real, synthetic, test):
    schema = schema_of(column)
    unit = ColumnUnit.of(schema["x"])
    found = overlay_numbers([real, synthetic, test], Encoder(schema).columns["x"], unit)
    for table in range(3):
        assert total(found, table) == pytest.approx(1)
    assert len(found.bins) == max(0, len(found.edges) - 1)
    column_chart("x", found, unit)


def test_bins_are_what_a_slow_count_says():
    rng = np.random.default_rng(0)
    real, synthetic = rng.normal(500, 100, 700), rng.normal(520, 120, 900)
    found, _ = overlay(NUMBER, real, synthetic)
    assert len(found.bins) == 40
    for table, values in enumerate((real, synthetic, real)):
        for place, shares in enumerate(found.bins):
            low, high = found.edges[place : place + 2]
            inside = sum(low <= value < high or (place == 39 and value == high) for value in values)
            assert shares[table] == pytest.approx(inside / len(values))
    ends = [np.quantile(values, share) for share in (0.01, 0.99) for values in (real, synthetic)]
    assert found.edges[0] == pytest.approx(min(ends[:2]))
    assert found.edges[-1] == pytest.approx(max(ends[2:]))


def test_wide_bounds_do_not_hide_the_mass():
    found, _ = overlay(INTEGER, np.arange(20, 80), np.arange(25, 85))
    assert 19 <= found.edges[0] <= 21
    assert 83 <= found.edges[-1] <= 87


def test_heaps_stand_apart_and_smooth_columns_have_none():
    rng = np.random.default_rng(0)
    heap = np.where(rng.random(2_000) < 0.4, 0, rng.integers(1_000, 90_000, 2_000))
    found, _ = overlay(INTEGER, heap, heap)
    assert [bar.label for bar in found.bars] == ["= 0"]
    assert found.bars[0].shares.real == pytest.approx((heap == 0).mean())
    assert found.edges[0] > 900
    smooth, _ = overlay(INTEGER, np.r_[rng.binomial(30, 0.5, 2_000), np.arange(500)], rng.binomial(30, 0.5, 2_000))
    assert not smooth.bars


def test_few_integers_and_tenths_have_a_bin_each():
    found, _ = overlay(INTEGER, [1, 2, 2, 3, 9], [1, 1, 2, 3, 9])
    assert np.diff(found.edges).tolist() == [1.0] * 9
    assert found.bins[1].real == pytest.approx(0.4)
    assert found.whole
    tenths, _ = overlay(TENTHS, [36.5, 37.0, 37.1, 37.1], [36.5, 37.0, 37.0, 37.1])
    assert np.diff(tenths.edges) == pytest.approx(0.1)
    assert tenths.bins[-1].real == pytest.approx(0.5)


def test_logarithmic_columns_have_equal_ratios():
    rng = np.random.default_rng(0)
    found, _ = overlay(LOG, np.exp(rng.normal(2, 2, 500)), np.exp(rng.normal(2, 2, 500)))
    assert found.log
    assert np.ptp(np.diff(np.log(found.edges))) < 1e-9


def test_missing_and_unreadable_values_have_bars():
    column = NUMBER.replace("}", ", missing: true}")
    found, _ = overlay(column, ["1", "2", None, "2 or 3", None], ["1", "2", "3", "4", "5"])
    assert {bar.label: bar.shares.real for bar in found.bars} == {"missing": 0.4, "cannot be read": 0.2}
    nothing, unit = overlay(column, pa.nulls(3, pa.float64()), pa.nulls(2, pa.float64()))
    assert [bar.shares.real for bar in nothing.bars] == [1.0]
    assert not nothing.bins
    assert "missing" in column_chart("x", nothing, unit)


def listed(values, **more):
    return "{name: x, type: category, values: [" + ", ".join(f"'{one}'" for one in values) + "]" + more.get("tail", "}")


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["March", "January", "February"], ["January", "February", "March"]),
        (["Sun", "Mon", "Wed"], ["Mon", "Wed", "Sun"]),
        (["[20-30)", "[3-10)", "[100-110)"], ["[3-10)", "[20-30)", "[100-110)"]),
        (["cook", "nurse", "clerk"], ["nurse", "cook", "clerk"]),
    ],
)
def test_names_come_in_their_natural_order_or_the_most_frequent_first(values, order):
    rows = [values[1]] * 3 + [values[0]] * 2 + [values[2]]
    found, _ = overlay(listed(values), rows, rows)
    assert [bar.label for bar in found.bars] == order


def test_many_values_share_a_bar_and_what_is_not_listed_is_told():
    values = [f"v{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)]
    rows = [one for n, one in enumerate(values) for _ in range(60 - n)] + ["strange", None]
    found, _ = overlay(listed(values), rows, rows)
    labels = [bar.label for bar in found.bars]
    assert labels[: MOST_NAMED - 1] == values[: MOST_NAMED - 1]
    assert labels[MOST_NAMED - 1 :] == ["37 others", "missing", "not in the schema's list"]
    assert found.bars[-1].shares.real == pytest.approx(1 / len(rows))
    assert total(found, 0) == pytest.approx(1)


def test_figures_are_those_of_numpy_over_finite_numbers():
    values = np.array([1.0, 2.0, 4.0, 8.0, math.nan, math.inf])
    found = figures_of(values)
    assert found.mean == 3.75
    assert found.deviation == pytest.approx(math.sqrt(sum((value - 3.75) ** 2 for value in values[:4]) / 4))
    assert found.quantiles == tuple(np.quantile(values[:4], QUANTILES))
    assert figures_of(np.array([math.nan])) is None
    assert found.to_dict(ColumnUnit("number"))["quantile_0.5"] == 3.0


def test_times_are_written_as_times():
    day = (dt.date(2024, 2, 29) - dt.date(1970, 1, 1)).days
    assert ColumnUnit("day").write(day) == "2024-02-29"
    assert ColumnUnit("moment").write(day * 86_400 + 13 * 3_600 + 300) == "2024-02-29 13:05"
    assert ColumnUnit("day").write_span(3.5) == "3.5 days"
    assert ColumnUnit("moment").write_span(7_200) == "2 hours"
    assert ColumnUnit("number").write_span(3.5) == "3.5"
    assert ColumnUnit("number").write(math.nan) == "none"
    assert [write_amount(value) for value in (0.52381, 1_234_567.2, 1e18)] == ["0.5238", "1,234,567", "1e+18"]


@pytest.mark.parametrize(("days", "tick"), [(4, "06-02 00:00"), (40, "2024-06-20"), (400, "2025-01"), (9_000, "2030")])
def test_ticks_of_times_are_round(days, tick):
    moments = np.datetime64("2024-06-01T00:00:00") + np.arange(0, days * 86_400, max(1, days * 80)).astype("m8[s]")
    column = MOMENT.replace("2024-12-31T", "2090-12-31T")
    assert f">{tick}<" in column_chart("x", *overlay(column, moments, moments))


@given(st.text(max_size=60))
def test_wrapped_names_lose_no_letter(words):
    lines = wrap_words(words, 140, 11)
    assert "".join("".join(lines).split()) == "".join(words.split())


def test_wrapped_names_fit():
    for words in ("W" * 80, "a very long reason that nobody reads", "東京都" * 12, "x"):
        assert all(len(line) * (11 if line[0] in "W東京都" else 5) <= 140 for line in wrap_words(words, 140, 11))
