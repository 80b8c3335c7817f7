"""Numbers and dates as offices write them: every text has a place, by itself, and nothing is read as another number."""

import datetime as dt
import math
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, SchemaError
from sfumato.trusted.encoding import Encoder, codes_of
from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.text_formats import DateFormat, NumberFormat
from sfumato.trusted.encoding.values import float_of_text
from sfumato.trusted.schema import Schema, TextFormat
from sfumato.trusted.sources import open_source

GERMAN = NumberFormat(b",", ".", ("EUR", "€", "%", "kg", "g"))
ENGLISH = NumberFormat(b".", ",", ("$", "USD"))
FRENCH = NumberFormat(b",", " ", ("€",))
SWISS = NumberFormat(b".", "'", ("CHF",))


@pytest.mark.parametrize(
    ("written", "text", "number"),
    [
        (GERMAN, "1.234,50 EUR", 1234.5),
        (GERMAN, "1.234.567", 1234567.0),
        (GERMAN, "-0,5", -0.5),
        (GERMAN, ",5", 0.5),
        (GERMAN, "5,", 5.0),
        (GERMAN, "12\u00a0%", 12.0),
        (GERMAN, "€ 7,25", 7.25),
        (GERMAN, "-€7,25", -7.25),
        (GERMAN, "\u202f3 kg ", 3.0),
        (GERMAN, "1,5e3", 1500.0),
        (GERMAN, "inf", math.inf),
        (GERMAN, "true", 1.0),
        (GERMAN, "1.5", None),  # neither 15 nor 1.5: no group of three digits
        (GERMAN, "12.34", None),
        (GERMAN, "1234.567", None),
        (GERMAN, "1,234.5", None),
        (GERMAN, "1,2,3", None),
        (GERMAN, "5 EUR EUR", None),
        (GERMAN, "5 mg", None),
        (GERMAN, "EUR", None),
        (GERMAN, "", None),
        (ENGLISH, "$1,234.50", 1234.5),
        (ENGLISH, "-$3", -3.0),
        (ENGLISH, "1,5", None),
        (FRENCH, "1 234 567,5 €", 1234567.5),
        (FRENCH, "1\u202f234,5\u00a0€", 1234.5),
        (FRENCH, "1\u00a0234", 1234.0),
        (FRENCH, "1 23", None),
        (FRENCH, "1.5", None),
        (SWISS, "1'234.5 CHF", 1234.5),
        (SWISS, "1’234", 1234.0),
    ],
)
def test_a_number_in_its_format(written, text, number):
    assert written(text.encode()) == number


def test_a_word_for_a_null_is_one_in_every_format():
    assert math.isnan(GERMAN(b" nan "))
    assert math.isnan(DateFormat("%d.%m.%Y")(b"NaN"))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", " EUR", "\u00a0€"]))
def test_what_python_writes_with_a_comma_comes_back(number, unit):
    assert GERMAN((repr(number).replace(".", ",") + unit).encode()) == number


@given(st.integers(-(10**15), 10**15), st.sampled_from([(GERMAN, "."), (ENGLISH, ","), (FRENCH, " "), (SWISS, "'")]))
def test_groups_of_three_digits_come_back(number, style):
    written, sign = style
    assert written(f"{number:,}".replace(",", sign).encode()) == number


@given(st.binary(max_size=12) | st.text("0123456789.,+-eE'€% xn\u00a0", max_size=12).map(str.encode))
def test_no_text_can_fail_and_a_format_of_nothing_changes_nothing(text):
    for written in (GERMAN, ENGLISH, FRENCH, SWISS, DateFormat("%d.%m.%y"), DateFormat("%Y%m%d%H%M%S")):
        assert written(text) is None or isinstance(written(text), float)
    plain = NumberFormat(b".", None, ())(text)
    if text == text.strip() and not any(sign in text for sign in (b"\xc2\xa0", b"\xe2\x80")):
        assert repr(plain) == repr(float_of_text(text))


@pytest.mark.parametrize("inside", ["\u00a0", " ", "1.", ".", "1", "EUR", "-", "€ "])
def test_a_long_text_takes_no_longer_than_its_length(inside):
    """A pattern that tries every place anew would take a minute."""
    text, start = b"x" + inside.encode() * 10**5 + b"x", time.monotonic()
    for written in (GERMAN, FRENCH, DateFormat("%d.%m.%Y"), DateFormat("%d%m%Y")):
        assert written(text) is written(text[1:]) is None
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("written", "text", "moment"),
    [
        ("%d.%m.%Y", "24.09.2021", dt.datetime(2021, 9, 24)),
        ("%d.%m.%Y", " 4.9.2021 ", dt.datetime(2021, 9, 4)),
        ("%m/%d/%y", "09/24/68", dt.datetime(2068, 9, 24)),
        ("%m/%d/%y", "09/24/69", dt.datetime(1969, 9, 24)),
        ("%d%m%Y", "24092021", dt.datetime(2021, 9, 24)),
        ("%d.%m.%Y %H:%M", "24.09.2021 7:05", dt.datetime(2021, 9, 24, 7, 5)),
        ("%Y-%m-%dT%H:%M:%S", "2021-09-24T23:59:58", dt.datetime(2021, 9, 24, 23, 59, 58)),
        ("%d%m%Y", "2492021", None),
        ("%d.%m.%Y", "2021-09-24", None),
        ("%d.%m.%Y", "24.09.21", None),
        ("%d.%m.%Y", "31.02.2021", None),
        ("%d.%m.%Y", "01.01.0000", None),
        ("%d.%m.%Y", "24.09.2021 00:00", None),
        ("%d.%m.%Y", "٢٤.09.2021", None),
        ("%d.%m.%Y %H:%M", "24.09.2021 24:00", None),
    ],
)
def test_a_date_in_its_format(written, text, moment):
    expected = None if moment is None else moment.replace(tzinfo=dt.UTC).timestamp()
    assert DateFormat(written)(text.encode()) == expected


@given(st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(2068, 12, 31)).map(lambda one: one.replace(microsecond=0)))
def test_dates_come_back(moment):
    for written in ("%d.%m.%Y %H:%M:%S", "%y%m%d%H%M%S", "%m/%d/%y %H.%M.%S"):
        assert DateFormat(written)(moment.strftime(written).encode()) == moment.replace(tzinfo=dt.UTC).timestamp()


SCHEMA = Schema.from_yaml("""
sfumato: 1
name: office
columns:
  - {name: pay, type: number, bounds: [0, 5000], missing: true}
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: born, type: date, bounds: [1969-01-01, 2020-12-31]}
  - {name: seen, type: datetime, bounds: [2020-01-01T00:00:00, 2020-12-31T23:59:59]}
text: {decimal: ",", thousands: ".", units: [EUR, Jahre], dates: "%d.%m.%y", datetimes: "%d.%m.%Y %H:%M"}
""")
TEXTS = {
    "pay": ["1.234,50 EUR", "1234,5", "1.5", "x", None],
    "age": ["30 Jahre", "30", "30.0", "1.030", None],
    "born": ["24.09.99", "24.9.99", "1999-09-24", "24.09.1999", None],
    "seen": ["03.01.2020 08:15", "3.1.2020 8:15", "2020-01-03T08:15:00", "03.01.2020", None],
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read_alike_in_whatever_it_is_stored(name):
    texts, codes = TEXTS[name], Encoder(SCHEMA).columns[name]
    alone = [int(codes.encode(pa.array([text], pa.string()))[0]) for text in texts]
    assert alone[0] == alone[1] != alone[2]
    for kept in (
        pa.array(texts, pa.string()),
        pa.array(texts, pa.large_binary()),
        pa.array(texts).dictionary_encode(),
        cells_of(texts),
        cells_of([*texts, 3, dt.date(2020, 1, 1)])[: len(texts)],
    ):
        assert codes.encode(kept).tolist() == alone


def test_values_that_are_no_text_are_read_as_without_a_format():
    plain = Schema.from_dict({key: value for key, value in SCHEMA.to_dict().items() if key != "text"})
    values = {"pay": [1234.5, 1], "age": [30, 2.4], "born": [dt.date(1999, 9, 24)], "seen": [dt.datetime(2020, 1, 3)]}
    for name, cells in values.items():
        ours, others = (Encoder(schema).columns[name] for schema in (SCHEMA, plain))
        assert ours.encode(cells_of(cells)).tolist() == others.encode(cells_of(cells)).tolist()
        assert ours.encode(pa.array(cells)).tolist() == others.encode(pa.array(cells)).tolist()


def test_a_request_is_written_as_the_schema_is():
    codes = Encoder(SCHEMA).columns
    assert codes["pay"].code_of("1.5") == codes["pay"].code_of(1.5)
    assert codes["born"].code_of("1999-09-24") == codes["born"].code_of(dt.date(1999, 9, 24))


def test_codes_of_two_formats_are_kept_apart_and_their_tables_shared():
    column = SCHEMA["pay"]
    german, plain = codes_of(column, SCHEMA.text), codes_of(column)
    assert german == plain
    text = pa.array(["1.234"])
    assert german.encode(text) != plain.encode(text)


def test_numbers_in_a_format_may_not_come_from_inferred_types():
    """Where all rows are like it, a library makes the number 1.234 of a text that means 1234."""
    schema = Schema.from_dict(SCHEMA.to_dict() | {"columns": SCHEMA.to_dict()["columns"][:1]})
    frame = pd.DataFrame({"pay": ["1.234"]})
    with pytest.raises(DataError, match=r"'pay' may not come from a pandas frame .*1\.234"):
        open_source(frame, schema)
    declared = open_source(frame.astype("string"), schema, declared=True)
    (batch,) = declared.batches(("pay",))
    assert batch.codes["pay"].tolist() == Encoder(schema).columns["pay"].encode(pa.array([1234.0])).tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"separator": ";;"}, "cannot separate"),
        ({"separator": "a"}, "cannot separate"),
        ({"separator": '"'}, "cannot separate"),
        ({"encoding": "utf-7"}, "not allowed here"),
        ({"decimal": ";"}, "not allowed here"),
        ({"thousands": "."}, "the decimal sign too"),
        ({"decimal": ",", "thousands": ","}, "the decimal sign too"),
        ({"units": ["5kg"]}, "is no unit"),
        ({"units": [""]}, "is no unit"),
        ({"dates": "%d.%m"}, "must have %d, %m and one of"),
        ({"dates": "%d.%m.%Y.%y"}, "must have %d, %m and one of"),
        ({"dates": "%d.%d.%m.%Y"}, "each once"),
        ({"dates": "%d %B %Y"}, "%B in"),
        ({"dates": "%d.%m.%Y%"}, "is not known"),
        ({"datetimes": "%d.%m.%Y %M"}, "minutes without hours"),
        ({"dates": "%d1%m1%Y"}, "a digit"),
        ({"date": "%d.%m.%Y"}, "did you mean 'dates'"),
    ],
)
def test_a_format_that_cannot_be_meant_is_refused(content, message):
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict(SCHEMA.to_dict() | {"text": content})


def test_years_of_two_digits_must_hold_the_bounds():
    columns = [{"name": "born", "type": "date", "bounds": ["1900-01-01", "2020-12-31"]}]
    with pytest.raises(SchemaError, match=r"%y means the years 1969 to 2068.*'born'"):
        Schema.from_dict(SCHEMA.to_dict() | {"columns": columns})


def test_the_format_travels_with_the_schema():
    assert Schema.from_yaml(SCHEMA.to_yaml()) == SCHEMA
    assert Schema.from_dict(SCHEMA.to_dict()).text == SCHEMA.text
    assert "text" not in Schema.from_dict(SCHEMA.to_dict() | {"text": {}}).to_dict()
    assert not TextFormat(separator=";", encoding="latin-1").changes_numbers
    assert np.all([TextFormat(units=("%",)).changes_numbers, TextFormat(thousands=" ").changes_numbers])
