"""Columns drawn so that the records are seen: windows, ticks, pins, names."""

import re

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.charts import svg
from sfumato.charts.columns import column_chart
from sfumato.charts.listed import MOST_VALUES, choose_values, listed_chart
from sfumato.charts.ordered import choose_window
from sfumato.charts.scale_ticks import Window, ticks_of
from sfumato.trusted.encoding import Encoder

LONG = "a ward for patients who wait for a place in another hospital, north wing, second floor, near the chapel"


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    rows = 20_000
    schema = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: money, columns: [{name: fee, type: number, bounds: [0, 1000000]}, "
        "{name: debt, type: number, bounds: [0, 1000000], atoms: [0]}, {name: span, type: integer, bounds: [0, 9]}, "
        "{name: gain, type: number, bounds: [1, 1e6], scale: log}, "
        "{name: day, type: date, bounds: [2020-01-01, 2023-12-31]}]}"
    )
    table = pa.table(
        {
            "fee": np.minimum(rng.gamma(2, 800, rows), 1e6),
            "debt": np.where(rng.random(rows) < 0.6, 0.0, rng.gamma(2, 800, rows)),
            "span": rng.integers(0, 10, rows),
            "gain": np.exp(rng.normal(6, 1, rows)),
            "day": pa.array((18_262 + rng.integers(0, 1_460, rows)).astype(np.int32)).cast(pa.date32()),
        }
    )
    return sfumato.release(table, schema, epsilon=3.0, ledger=None, types="declared")


def words_of(picture):
    return re.findall(r"<text[^>]*>(?:<title>[^<]*</title>)?([^<]*)</text>", str(picture))


def chart(release, name):
    codes = Encoder(release.schema).columns[name]
    return column_chart(release.model, name, codes, release.model.describe(name, codes))


def test_wide_bounds_do_not_hide_the_records(release):
    codes = Encoder(release.schema).columns["fee"]
    window = choose_window(release.model, "fee", codes)
    assert window.low == 0
    assert window.high < 0.02  # of a million
    assert 1 - release.cdf("fee", window.high * 1e6) < 0.03
    words = words_of(chart(release, "fee"))
    assert "2,000" in words
    assert any(word.endswith("lies outside, between the bounds 0 and 1M") for word in words)


def test_a_heap_is_a_pin_beside_the_bars(release):
    picture = str(chart(release, "debt"))
    assert picture.count("<circle") == 1
    assert any(word.startswith(("59%", "60%", "61%")) for word in words_of(picture))


def test_a_full_scale_stays_whole(release):
    codes = Encoder(release.schema).columns["span"]
    assert choose_window(release.model, "span", codes) == Window(0.0, 1.0)
    assert not any("outside" in word for word in words_of(chart(release, "span")))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("span", ["0", "2", "4", "6", "8"]),
        ("gain", ["1", "100", "10,000", "1M"]),
        ("day", ["2020", "2021", "2022", "2023"]),
    ],
)
def test_ticks_are_round(release, name, expected):
    assert [tick.words for tick in ticks_of(Encoder(release.schema).columns[name], Window(0.0, 1.0))][:4] == expected[
        :4
    ]


def test_ticks_leave_room_for_each_other(release):
    for name, codes in Encoder(release.schema).columns.items():
        for window in (Window(0.0, 1.0), Window(0.0, 0.01), Window(0.4, 0.45)):
            shares = [tick.share for tick in ticks_of(codes, window)]
            assert shares == sorted(shares), name
            assert np.diff(shares).min(initial=1) > 0.15


def rows_of(values):
    share = 1 / len(values)
    return [
        {"value": one, "probability": share + k / 1e6, "low": 0.0, "high": 2 * share} for k, one in enumerate(values)
    ]


def test_up_to_24_values_have_names_and_the_rest_is_summed_up():
    shown, others = choose_values(rows_of([f"v{k}x" for k in range(40)]))
    assert len(shown) == MOST_VALUES == 24
    assert len(others) == 16
    assert "16 others" in words_of(svg.picture(1, 1, listed_chart(rows_of([f"v{k}x" for k in range(40)]), 340)[1], ""))
    shown, others = choose_values(rows_of([f"v{k}x" for k in range(24)]))
    assert (len(shown), len(others)) == (24, 0)


def test_missing_comes_last_and_months_in_their_order():
    shown, _ = choose_values(rows_of(["March", "January", None]))
    assert [row["value"] for row in shown] == ["January", "March", None]


def test_long_names_are_wrapped_and_never_lost():
    height, marks = listed_chart(rows_of(["ward", LONG]), 340)
    picture = svg.picture(340, height, marks, "")
    assert f"<title>{LONG}</title>" in picture
    assert max(map(len, words_of(picture))) <= 18
    whole = "an unusually long name"
    assert " ".join(svg.lines_of(whole, 12)) == whole
    assert len(svg.lines_of("x" * 500, 10)) == 4
