"""The code of a value is its own, whatever company it keeps.

Neighbouring tables differ in one record. So no record may decide how another one is read: not by the type that a
library gives to the whole column, nor by the batch, the dictionary or the order in which the records come.
"""

import datetime as dt
import decimal
import io
import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.trusted.encoding import codes_of
from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from tests.parameters import mostly_slow

COLUMNS = {
    "integer": {"type": "integer", "bounds": [0, 10]},
    "integer, missing": {"type": "integer", "bounds": [-5, 2**40], "missing": True},
    "number": {"type": "number", "bounds": [0, 3], "atoms": [0.5]},
    "number, missing": {"type": "number", "bounds": [0.1, 1e6], "scale": "log", "missing": True},
    "tenths": {"type": "number", "bounds": [0, 3], "decimals": 1, "missing": True},
    "quarters of millions": {"type": "integer", "bounds": [0, 10**15], "step": 4},
    "boolean": {"type": "boolean"},
    "boolean in words": {"type": "boolean", "words": ["a", "B"], "missing": True},
    "boolean in digits": {"type": "boolean", "words": [0, 1]},
    "boolean in times": {"type": "boolean", "words": ["a", "12:30:00"]},
    "boolean in nulls": {"type": "boolean", "words": ["a", "NA"]},
    "boolean, missing": {"type": "boolean", "missing": True},
    "True or False": {"type": "category", "values": ["True", "False"], "missing": True},
    "true or false": {"type": "category", "values": ["false", "true"]},
    "0 or 1": {"type": "category", "values": [0, 1], "missing": True},
    "halves": {"type": "category", "values": [0.5, 1.5, "1", "a"]},
    "zeros in front": {"type": "category", "values": ["007", "01", "a"], "otherwise": "a"},
    "words": {"type": "category", "values": ["a", "b"], "missing": True},
    "words for nulls": {"type": "integer", "bounds": [0, 10], "missing": True, "otherwise": 3},
    "countries": {"type": "category", "values": ["NA", "1", "a"], "otherwise": "a"},
    "times": {"type": "category", "values": ["12:30:00", "a"]},
    "spellings of one number": {"type": "category", "values": ["7", "007", "1"]},
    "long codes": {"type": "category", "values": [900000000000207008, "unknown", 1]},
    "days in a list": {"type": "category", "values": ["2020-01-01", "2020-01-02"]},
    "date": {"type": "date", "bounds": ["2019-01-01", "2021-01-01"], "missing": True},
    "datetime": {"type": "datetime", "bounds": ["2019-01-01", "2021-01-01"]},
}
BASES = {
    "booleans": [True, False, True],
    "integers": [1, 0, 7, 1],
    "long integers": [900000000000207008, 1, 2**53 + 1],
    "halves": [0.5, 1.5, 1.0],
    "negative zero": [-0.0, 1.0],
    "words": ["a", "b", "c"],
    "digits": ["1", "0", "007", "1.0", "0.5"],
    "truth in words": ["True", "False", "true"],
    "days": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    "moments": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 12)],
    "decimals": [decimal.Decimal("1.5"), decimal.Decimal("0.10"), decimal.Decimal(1)],
    "nulls": [None, None],
    "nans": [math.nan, 1.0],
}
COMPANIONS = [
    *(None, math.nan, "t", "", "1", "True", "2020-01-05", True, False, 0, 1, -1, 0.25, 1e300, 2**63, 2**64, 10**30, 2j),
    *(dt.timedelta(1), dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), b"\xff"),
    *(decimal.Decimal("0.123456789"), [1], {"a": 1}, np.float32(0.1), pd.NA, pd.NaT, object()),
]


def schema_of(column: dict) -> Schema:
    return Schema.from_dict({"sfumato": 1, "name": "t", "columns": [{"name": "x", **column}]})


SCHEMAS = {name: schema_of(column) for name, column in COLUMNS.items()}


def outcome(frame, schema: Schema, rows: int):
    """What can be told of a frame before and after it is read: a refusal, or its header and the codes of some rows."""
    try:
        source = open_source(frame, schema)
    except DataError as error:
        return str(error)
    codes = np.concatenate([np.empty(0, np.int32), *(batch.codes["x"] for batch in source.batches(("x",)))])
    return source.header, codes[:rows].tolist()


def in_pandas(values: list) -> pd.DataFrame:
    return pd.DataFrame({"x": values})


def in_pandas_by_numpy(values: list) -> pd.DataFrame:
    return pd.DataFrame({"x": np.array(values)})


def in_pandas_by_rows(values: list) -> pd.DataFrame:
    return pd.DataFrame.from_records([{"x": value} for value in values])


def in_polars(values: list) -> pl.DataFrame:
    return pl.DataFrame({"x": values}, strict=False)


FRAMES = [in_pandas, in_pandas_by_numpy, in_pandas_by_rows, in_polars]


def built(make, values: list):
    """The frame that a library makes of the values, None where it makes none."""
    try:
        frame = make(values)
    except BaseException:  # noqa: BLE001 - polars panics
        return None
    return frame if len(frame) == len(values) else None


@pytest.mark.filterwarnings("ignore")  # libraries warn of what they infer
@pytest.mark.parametrize("make", mostly_slow(FRAMES, in_pandas, in_polars), ids=lambda make: make.__name__)
def test_one_record_changes_neither_codes_nor_header_nor_refusal(make):
    pairs = 0
    for base in BASES.values():
        if (one := built(make, base)) is None or (make is in_polars and base == BASES["days"]):
            continue  # with strict=False polars makes numbers of days that stand beside numbers, and text beside text
        alone = {name: outcome(one, schema, len(base)) for name, schema in SCHEMAS.items()}
        for companion in COMPANIONS:
            if (other := built(make, [*base, companion])) is None or (make is in_polars and companion == {"a": 1}):
                continue  # and throws away numbers that stand beside a struct
            together = {name: outcome(other, schema, len(base)) for name, schema in SCHEMAS.items()}
            assert alone == together, (base, companion)
            pairs += len(together)
    assert pairs > 1_000


CSV = {
    "truth": ["True", "False", "TRUE", "true"],
    "integers": ["1", "0", "007"],
    "floats": ["0.5", "1.5", "1e0", "3.141592653589793"],
    "long": ["900000000000207008", "1"],
    "words": ["a", "b", "c"],
    "dates": ["2020-01-01", "2020-01-02"],
    "nan": ["nan", "1", "0.5"],
    "infinite": ["inf", "1.5"],
    "words for nulls": ["NA", "1", "N/A", "None", "null", "0"],
    "hex": ["0x10", "1", "0x7"],
    "times": ["12:30:00", "01:00:00"],
}
MORE = ["", "x", "n.d.", "1.5", "9223372036854775808", "true", "nan", "-1", "2020-01-05", "1e400"]
READERS = {
    "pandas": lambda text: pd.read_csv(io.StringIO(text), skip_blank_lines=False),
    "pandas, dates": lambda text: pd.read_csv(io.StringIO(text), skip_blank_lines=False, parse_dates=["x"]),
    "pandas by pyarrow": lambda text: pd.read_csv(io.StringIO(text), engine="pyarrow"),
    "pyarrow": lambda text: pa.csv.read_csv(io.BytesIO(text.encode())),
    "polars": lambda text: pl.read_csv(io.StringIO(text), infer_schema_length=None),
    "polars, dates": lambda text: pl.read_csv(io.StringIO(text), infer_schema_length=None, try_parse_dates=True),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reader", mostly_slow(READERS, "pandas", "pyarrow", "polars"))
def test_one_line_of_a_file_that_another_library_read_changes_nothing_else(reader):
    """Where it would, the frame is refused by the schema alone."""
    read, pairs = READERS[reader], 0
    for fields, more in itertools.product(CSV.values(), MORE):
        text = "x\n" + "".join(f'"{field}"\n' if not field else f"{field}\n" for field in fields)
        one, other = read(text), read(text + (f"{more}\n" if more else '""\n'))
        if len(other) != len(one) + 1:
            continue
        for name, schema in SCHEMAS.items():
            if "dates" in reader and "date" not in COLUMNS[name]["type"]:
                continue
            alone, together = (outcome(frame, schema, len(fields)) for frame in (one, other))
            assert alone == together, (name, fields, more)
            pairs += 1
    assert pairs > 100


REFUSED = {
    "words for nulls",
    "countries",
    "times",
    "boolean in times",
    "boolean in nulls",
    "spellings of one number",
    "long codes",
    "days in a list",
    "date",
    "datetime",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_inference_may_change_is_refused_by_the_schema_alone(name):
    schema = SCHEMAS[name]
    told = {
        outcome(frame, schema, 1) if name in REFUSED else type(outcome(frame, schema, 1)).__name__
        for values in BASES.values()
        for frame in (in_pandas(values), in_pandas([]))
    }
    assert len(told) == 1
    assert (next(iter(told)) == "tuple") == (name not in REFUSED)


def test_ids_of_persons_are_refused_where_types_are_inferred():
    content = SCHEMAS["words"].to_dict() | {"unit": {"column": "p", "records": 1}}
    schema = Schema.from_dict(content)
    frame = pd.DataFrame({"x": ["a", "b"], "p": [2**53, 2**53 + 1]})
    with pytest.raises(DataError, match="ids may lose digits where one of them is missing"):
        open_source(frame, schema)
    with pytest.raises(DataError, match="ids may lose digits where one of them is missing"):
        open_source(pl.from_pandas(frame), schema)
    assert open_source(frame, schema, declared=True)
    with pytest.raises(DataError, match="as floats, which libraries make of integers where one is missing"):
        open_source(pd.DataFrame({"x": ["a", "b"], "p": [2**53, None]}), schema, declared=True)


WORDS = ["a", "b", "007", "7", "1.0", "True", "false", "nan", "", " 1", "2020-01-01", "unknown", "1e3", "inf"]
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from([0.5, 1.5, -0.0, 1e400, 0.1, float(2**53), 900000000000207008]),
    st.decimals(allow_nan=True, allow_infinity=True, places=3),
    st.sampled_from(WORDS),
    st.text(max_size=4),
    st.binary(max_size=3),
    st.dates(dt.date(2018, 1, 1), dt.date(2022, 1, 1)),
    st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1), timezones=st.none() | st.just(dt.UTC)),
    st.timedeltas(),
)
NUMERIC = {pa.int64(): int, pa.uint64(): int, pa.float64(): float, pa.bool_(): bool}


def as_stored(rows: list, storage: pa.DataType) -> pa.Array | None:
    """Numbers in an Arrow type, None where it cannot hold one of them as it is."""
    try:
        plain = [None if row is None else NUMERIC[storage](row) for row in rows]
        array = pa.array(plain, storage)
    except (OverflowError, ValueError, pa.ArrowException):
        return None
    same = all(one is None or one == row or row != row for one, row in zip(plain, rows, strict=True))
    return array if same else None


def stored(rows: list) -> list[pa.Array]:
    """The same values in every Arrow type that can hold all of them, beside the cells that hold anything."""
    arrays = [cells_of(rows)]
    kinds = {type(row) for row in rows} - {type(None)}
    if kinds <= {bool, int, float}:
        arrays += [array for storage in NUMERIC if (array := as_stored(rows, storage)) is not None]
    if kinds <= {decimal.Decimal} and all(row is None or row.is_finite() for row in rows):
        arrays.append(pa.array(rows, pa.decimal256(70, 3)))
    if kinds <= {str}:
        texts = [None if row is None else row.encode("utf-8", "surrogatepass") for row in rows]
        arrays += [pa.array(texts, storage) for storage in (pa.binary(), pa.large_binary())]
    if kinds <= {dt.date}:
        arrays += [pa.array(rows, pa.date32()), pa.array(rows, pa.date64())]
    if kinds <= {dt.datetime} and all(row is None or row.tzinfo is None for row in rows):
        arrays += [pa.array(rows, pa.timestamp(unit)) for unit in ("us", "ns")]
    return arrays


@given(st.sampled_from(list(COLUMNS)), st.lists(values, min_size=1, max_size=8), st.randoms())
def test_the_code_of_a_value_depends_on_nothing_but_the_value(name, rows, random):
    """Alone and in company, in any order, slice, dictionary and storage type."""
    codec = codes_of(SCHEMAS[name].columns[0])
    alone = [int(codec.encode(cells_of([row]))[0]) for row in rows]
    order = random.sample(range(len(rows)), len(rows))
    cut = random.randrange(len(rows))
    for array in stored(rows):
        assert codec.encode(array).tolist() == alone, array.type
        for place, code in enumerate(alone):
            assert codec.encode(array.slice(place, 1)).tolist() == [code], array.type
        assert codec.encode(array.take(pa.array(order))).tolist() == [alone[place] for place in order]
        assert [*codec.encode(array[:cut]).tolist(), *codec.encode(array[cut:]).tolist()] == alone
        if not isinstance(array, pa.ExtensionArray):
            assert codec.encode(array.dictionary_encode()).tolist() == alone, array.type
        named = pa.DictionaryArray.from_arrays(pa.array(order), array)
        assert codec.encode(named).tolist() == [alone[place] for place in order]
