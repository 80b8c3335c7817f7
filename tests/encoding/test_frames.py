"""Types, category order, nulls and column order come back as they went in."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.artefact.frames import decode, to_frame
from sfumato.errors import DataError, RequestError
from sfumato.trusted.encoding import Encoder, Header
from sfumato.trusted.encoding.frames import header_of, kind_of, to_arrow
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Cells

SCHEMA = Schema.from_yaml("""
sfumato: 1
name: types
columns:
  - {name: small, type: integer, bounds: [0, 100]}
  - {name: gap, type: integer, bounds: [0, 100], missing: true}
  - {name: real, type: number, bounds: [0, 100]}
  - {name: word, type: category, values: [b, a, c], missing: true}
  - {name: code, type: category, values: [1, 2]}
  - {name: flag, type: boolean, missing: true}
  - {name: day, type: date, bounds: [2020-01-01, 2020-12-31]}
  - {name: moment, type: datetime, bounds: [2020-01-01, 2020-12-31]}
""")
NAMES = list(SCHEMA.by_name)


def round_trip(frame, declared=True):
    header = header_of(frame, SCHEMA, declared)
    encoder = Encoder(SCHEMA)
    records = to_arrow(frame, NAMES).combine_chunks().to_batches()[0]
    table = decode(encoder.encode(records), encoder.columns, np.random.default_rng(0))
    return to_frame(table, header, SCHEMA)


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "word": pd.Categorical(["a", None, "b"], categories=["b", "a", "c"], ordered=True),
            "small": np.array([1, 2, 3], np.int16),
            "gap": pd.array([1, None, 3], dtype="Int64"),
            "real": np.array([0.0, 100.0, 0.0], np.float32),
            "code": [1, 2, 2],
            "flag": pd.array([True, None, False], dtype="boolean"),
            "extra": ["not", "in the", "schema"],
            "day": pd.Series(["2020-05-01", "2020-05-02", "2020-05-03"]).astype("datetime64[us]"),
            "moment": pd.to_datetime(["2020-01-01", "2020-06-01", "2020-12-31"]).tz_localize("UTC"),
        }
    )


def test_pandas_comes_back_as_pandas():
    frame = pandas_frame()
    again = round_trip(frame)
    wanted = frame.drop(columns="extra")
    assert list(again.columns) == list(wanted.columns)
    assert again.dtypes.to_dict() == wanted.dtypes.to_dict()
    assert again["word"].cat.categories.tolist() == ["b", "a", "c"]
    assert again.drop(columns="moment").equals(wanted.drop(columns="moment"))


GUESSED = {
    "small": [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"], [1, 2, "x"], [None, None, None]],
    "gap": [[1, 2, 3], [1.0, np.nan, 3.0], ["1", None, "3"]],
    "real": [[0, 100, 0], [0.5, 1.5, np.nan], ["0.5", "x", None], [decimal.Decimal("1.5")] * 3],
    "word": [["a", "b", None], [1, 2, 3], [None, None, None]],
    "code": [[1, 2, 2], [1.0, 2.0, np.nan], ["1", "2", "x"]],
    "flag": [[True, False, True], [True, None, False], ["yes", "no", None], [1.0, 0.0, np.nan]],
    "day": [[dt.date(2020, 5, 1)] * 3, ["2020-05-01", None, "x"], [None, None, None]],
    "moment": [[dt.datetime(2020, 5, 1)] * 3, [pd.Timestamp("2020-05-01 00:00:00.123456789")] * 3, ["x", None, "y"]],
}


@pytest.mark.parametrize("name", GUESSED)
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_type_that_was_guessed_from_values_leaves_no_trace(library, name):
    """Whatever a library makes of the rows, the header and the types that come back are the same."""
    headers, types = set(), set()
    for values in GUESSED[name]:
        frame = pandas_frame().drop(columns="extra").assign(**{name: values})
        if library != "pandas":
            frame = pa.Table.from_pandas(pandas_frame().drop(columns="extra"), preserve_index=False)
            try:
                frame = frame.set_column(frame.column_names.index(name), name, pa.array(values))
            except pa.ArrowException:
                continue  # Arrow itself refuses to mix these
        if library == "polars":
            frame = pl.from_arrow(frame)
        header = header_of(frame, SCHEMA, declared=False)
        again = round_trip(frame, declared=False)
        headers.add(header.types[name])
        types.add(str(again.schema.field(name).type if library == "arrow" else again[name].dtype))
    assert headers == {""}
    assert len(types) == 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_that_declares_nothing_has_no_types(library):
    frame = (
        pandas_frame()
        if library == "pandas"
        else pl.from_pandas(pandas_frame().drop(columns="moment").assign(moment=dt.datetime(2020, 5, 1)))
    )
    assert any(header_of(frame, SCHEMA, declared=True).types.values())
    assert set(header_of(frame, SCHEMA, declared=False).types.values()) == {""}


def test_the_schema_says_how_a_sample_is_stored():
    content = SCHEMA.to_dict() | {
        "types": {"small": "int16", "real": "float32", "word": "ordered category", "moment": "zone UTC"}
    }
    schema = Schema.from_dict(content)
    for declared in (True, False):
        types = header_of(pandas_frame(), schema, declared).types
        assert {name: types[name] for name in content["types"]} == content["types"]


def test_an_integer_column_that_gets_nulls_becomes_nullable():
    frame = pandas_frame().astype({"gap": object})
    frame["gap"] = np.array([1, 2, 3], np.int32)
    frame["flag"] = [True, True, False]
    again = round_trip(frame)
    assert str(again["gap"].dtype) == "Int32"
    assert str(again["flag"].dtype) == "boolean"


def test_the_list_of_a_pandas_category_is_not_believed():
    """It may have been read off the rows; the schema's list and order come back."""
    frame = pandas_frame()
    frame["word"] = pd.Categorical(["a", None, "zz"])
    assert header_of(frame, SCHEMA, declared=True).types["word"] == "category"
    assert round_trip(frame)["word"].cat.categories.tolist() == ["b", "a", "c"]


def test_polars_comes_back_as_polars():
    frame = pl.DataFrame(
        {
            "moment": [dt.datetime(2020, 1, 1), dt.datetime(2020, 6, 1), dt.datetime(2020, 12, 31)],
            "small": pl.Series([1, 2, 3], dtype=pl.UInt8),
            "gap": pl.Series([1, None, 3], dtype=pl.Int32),
            "real": pl.Series([0.0, 100.0, 0.0], dtype=pl.Float32),
            "word": pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a", "c"])),
            "code": pl.Series(["1", "2", "2"], dtype=pl.Categorical),
            "flag": [True, None, False],
            "day": [dt.date(2020, 5, day) for day in (1, 2, 3)],
        }
    )
    again = round_trip(frame)
    assert again.columns == frame.columns
    assert dict(again.schema) == dict(frame.schema)
    assert again.drop("moment", "code").equals(frame.drop("moment", "code"))
    assert again["code"].cast(pl.String).to_list() == ["1", "2", "2"]


def test_arrow_comes_back_as_arrow():
    types = {
        "word": pa.dictionary(pa.int32(), pa.string(), ordered=True),
        "small": pa.uint8(),
        "gap": pa.int64(),
        "real": pa.float32(),
        "code": pa.int16(),
        "flag": pa.bool_(),
        "day": pa.date32(),
        "moment": pa.timestamp("us", "Europe/Paris"),
    }
    plain = {
        "word": ["a", None, "b"],
        "small": [1, 2, 3],
        "gap": [1, None, 3],
        "real": [0.0, 100.0, 0.0],
        "code": [1, 2, 2],
        "flag": [True, None, False],
        "day": [dt.date(2020, 5, 1)] * 3,
        "moment": [dt.datetime(2020, 5, 1)] * 3,
    }
    table = pa.table({name: pa.array(values, types[name]) for name, values in plain.items()})
    again = round_trip(table)
    assert again.schema == table.schema
    assert again.drop(["moment"]).to_pydict() == table.drop(["moment"]).to_pydict()
    assert again.column("word").chunk(0).dictionary.to_pylist() == ["b", "a", "c"]


def test_a_type_too_small_for_the_schema_is_not_used():
    """A sample never wraps around: bounds of 0 to 1000 do not fit into int8, whatever the rows were."""
    schema = Schema.from_yaml(
        "{sfumato: 1, name: t, columns: [{name: a, type: integer, bounds: [-5, 1000]}, "
        "{name: b, type: number, bounds: [0, 1e60]}, {name: c, type: category, values: [1, 70000]}]}"
    )
    types = {"a": "int8", "b": "float32", "c": "int16"}
    table = pa.table({"a": [-5, 1000], "b": [0.0, 1e60], "c": [1, 70000]})
    for frame in ("arrow", "pandas", "polars"):
        again = to_frame(table, Header(frame, types), schema)
        columns = {name: list(again[name].to_pylist() if frame == "arrow" else again[name]) for name in types}
        assert columns == {"a": [-5, 1000], "b": [0.0, 1e60], "c": [1, 70000]}


def test_whole_numbers_stored_for_a_number_column_are_rounded():
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: a, type: number, bounds: [0, 100]}]}")
    for frame in ("arrow", "pandas", "polars"):
        again = to_frame(pa.table({"a": [1.6, 2.4]}), Header(frame, {"a": "int16"}), schema)
        assert [int(value) for value in (again["a"].to_pylist() if frame == "arrow" else again["a"])] == [2, 2]


def test_lists_of_mixed_types_come_back_as_text():
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: a, type: category, values: [1, b]}]}")
    frame = pd.DataFrame({"a": pd.Categorical([1, "b", 1])})
    encoder = Encoder(schema)
    table = decode(encoder.encode(to_arrow(frame, ["a"]).to_batches()[0]), encoder.columns, np.random.default_rng(0))
    assert to_frame(table, header_of(frame, schema, declared=True), schema)["a"].tolist() == ["1", "b", "1"]


def test_another_kind_of_frame_may_be_asked_for():
    frame = pandas_frame()
    encoder = Encoder(SCHEMA)
    batch = encoder.encode(to_arrow(frame, NAMES).to_batches()[0])
    table = decode(batch, encoder.columns, np.random.default_rng(0))
    header = header_of(frame, SCHEMA, declared=True)
    assert isinstance(to_frame(table, header, SCHEMA, "polars"), pl.DataFrame)
    assert to_frame(table, header, SCHEMA, "arrow").column_names[0] == "word"
    with pytest.raises(RequestError, match="arrow, pandas or polars"):
        to_frame(table, header, SCHEMA, "excel")


def test_a_library_that_is_not_there_is_named(monkeypatch):
    table = pa.table({name: pa.nulls(0) for name in NAMES})
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(RequestError, match="polars is not installed"):
        to_frame(table, header_of(pandas_frame(), SCHEMA, declared=True), SCHEMA, "polars")


@pytest.mark.parametrize("text", ["list<item: int8>", "read_csv", "zone x; y", "int128", "object"])
def test_a_header_that_was_made_up_is_refused(text):
    with pytest.raises(ValueError, match="not known"):
        Header("arrow", {"small": text})
    with pytest.raises(ValueError, match="not known"):
        Header("excel", {"small": ""})


PLAIN = SCHEMA.model_copy(update={"columns": tuple(column for column in SCHEMA.columns if "date" not in column.type)})


@pytest.mark.parametrize("dtype", ["complex64", "timedelta64[ns]", "period[D]", object])
def test_a_declared_type_that_holds_no_values_of_ours_is_refused(dtype):
    frame = pandas_frame()
    frame["real"] = pd.Series([None, None, None]).astype(dtype)
    with pytest.raises(DataError, match=r"'real' as Python objects of any kind \(set one.*cannot be read as number"):
        open_source(frame, SCHEMA, declared=True)


@pytest.mark.parametrize("dtype", ["complex64", "timedelta64[ns]", "period[D]", object, "Sparse[float]"])
def test_an_inferred_type_refuses_nothing(dtype):
    schema = Schema.from_dict(PLAIN.to_dict())
    frame = pandas_frame()
    frame["real"] = pd.Series([None, None, None]).astype(dtype)
    grid = Grid.of_cells(np.arange(3))
    assert open_source(frame, schema).sum(Cells((("flag",),), {"flag": grid}, None)).tolist() == [1, 1, 1]


NESTED = {
    "a struct": pl.Series([{"a": 1}, None], dtype=pl.Struct({"a": pl.Int64})),
    "a struct of long integers": pl.Series([{"a": 2**64}, None], dtype=pl.Struct({"a": pl.Int128})),
    "a list of long integers": pl.Series([[2**64], None], dtype=pl.List(pl.Int128)),
    "a list of lists": pl.Series([[[2**63]], None], dtype=pl.List(pl.List(pl.UInt128))),
    "an array of long integers": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int128, 2)),
}


@pytest.mark.parametrize("series", NESTED.values(), ids=NESTED)
def test_nested_values_of_polars_are_no_values_of_any_column(series):
    records = to_arrow(pl.DataFrame(dict.fromkeys(NAMES, series)), NAMES).combine_chunks().to_batches()[0]
    schema = Schema.from_dict(
        SCHEMA.to_dict() | {"columns": [{**one, "missing": True} for one in SCHEMA.to_dict()["columns"]]}
    )
    other = to_arrow(pl.DataFrame({name: pl.Series([object(), None], dtype=pl.Object) for name in NAMES}), NAMES)
    encoder = Encoder(schema)
    codes, expected = (encoder.encode(one).codes for one in (records, other.combine_chunks().to_batches()[0]))
    assert {name: codes[name].tolist() for name in NAMES} == {name: expected[name].tolist() for name in NAMES}
    with pytest.raises(DataError, match="cannot be read as"):
        open_source(pl.DataFrame(dict.fromkeys(NAMES, series)), SCHEMA, declared=True)


SCALARS = [
    *(pl.Null, pl.Boolean, pl.Decimal(9, 2), pl.String, pl.Binary, pl.Categorical, pl.Enum(["a"]), pl.Date, pl.Time),
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Int128, pl.UInt128),
    *(pl.Float32, pl.Float64, pl.Duration("us"), pl.Datetime("ns"), pl.Datetime("ms", "Europe/Berlin")),
]


@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_plain_values_of_polars_are_kept(dtype):
    series = pl.Series([None], dtype=dtype)
    expected = pa.large_string() if "Int128" in str(dtype) else series.to_arrow().type
    assert to_arrow(pl.DataFrame({"x": series}), ["x"]).schema.field("x").type == expected


def test_kinds():
    assert kind_of(pa.table({})) == "arrow"
    assert kind_of([1, 2]) is None
