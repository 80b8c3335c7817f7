"""No row of an array has a say in how another is read, whatever type numpy gives to all of them."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.sklearn.tables import column_of_array, plain_cell, with_column
from sfumato.trusted.encoding import Encoder

SCHEMA = sfumato.Schema.load(
    {
        "sfumato": 1,
        "name": "cells",
        "columns": [
            {"name": "code", "type": "category", "values": [0, 1, 2.5, "x"], "otherwise": "x", "missing": True},
            {"name": "text", "type": "category", "values": ["2.0", "03", "True", "a"]},
            {"name": "truth", "type": "boolean", "missing": True},
            {"name": "word", "type": "boolean", "words": ["no", "yes"]},
            {"name": "number", "type": "number", "bounds": [0, 10], "missing": True},
            {"name": "whole", "type": "integer", "bounds": [0, 10]},
        ],
    }
)
PLAIN = st.sampled_from(
    [0, 1, 2, 1.0, 2.5, 0.1, True, False, "1.0", "2.0", "03", "01", "x", "a", "yes", "True", "1", float("nan")]
)
HOSTILE = st.one_of(
    PLAIN,
    st.text(max_size=4),
    st.floats(),
    st.integers(),
    st.sampled_from([None, b"1", 10**400, dt.date(2020, 1, 1), pd.NA, pd.NaT, np.datetime64("2020-01-01"), 1j]),
)


def codes_of_first(cells: list[object], name: str) -> list[int]:
    """The codes of all cells but the last, where numpy chose the type of the array."""
    column = column_of_array(np.array(cells), SCHEMA[name])
    return Encoder(SCHEMA).columns[name].encode(column)[: len(cells) - 1].tolist()


@pytest.mark.parametrize("name", list(SCHEMA.by_name))
@given(st.lists(PLAIN, min_size=1, max_size=3), HOSTILE, HOSTILE)
def test_no_cell_changes_how_another_is_read(name, cells, one, other):
    assert codes_of_first([*cells, one], name) == codes_of_first([*cells, other], name)


@pytest.mark.parametrize("name", list(SCHEMA.by_name))
@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_the_type_of_a_column_does_not_depend_on_its_cells(name, cells):
    assert column_of_array(np.array(cells), SCHEMA[name]).type == column_of_array(np.array([1]), SCHEMA[name]).type


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (True, 1.0), ("True", 1.0), (np.int8(3), 3.0), ("3", 3.0), ("3.0", 3.0), ("03", "03"), ("1_0", "1_0"),
        ("1e5", "1e5"), ("nan", None), (None, None), (pd.NaT, None), (10**400, np.inf), (b"ab", "ab"),
        (dt.date(2020, 1, 1), "2020-01-01"), (object(), None),
    ],
)  # fmt: skip
def test_what_a_cell_says(cell, said):
    assert plain_cell(cell) == said


def test_listed_values_keep_their_codes():
    codes = Encoder(SCHEMA).columns["code"]
    found = column_of_array(np.array([0, 1, 2.5, "x", "other", None], dtype=object), SCHEMA["code"])
    assert codes.encode(found).tolist() == [0, 1, 2, 3, 3, 4]
    text = column_of_array(np.array(["2.0", "03", "True", "a"]), SCHEMA["text"])
    assert Encoder(SCHEMA).columns["text"].encode(text).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("frame", [pa.table({"z": [1, 2]}), pl.DataFrame({"z": [1, 2]}), pd.DataFrame({"z": [1, 2]})])
def test_labels_beside_a_frame_are_read_one_by_one(frame):
    """No library infers their type, so that no error quotes a label."""
    found = with_column(frame, "code", [1.0, "secret"], SCHEMA["code"])["code"]
    assert (found.to_pylist() if isinstance(found, pa.ChunkedArray) else list(found)) == ["1", "x"]


def test_dates_need_a_frame_whatever_the_cells_hold():
    schema = sfumato.Schema.load(
        {"sfumato": 1, "name": "d", "columns": [{"name": "d", "type": "date", "bounds": ["2020-01-01", "2021-01-01"]}]}
    )
    for cells in ([1, 2], ["2020-01-01", 2], np.array(["2020-01-01"], dtype="M8[D]")):
        with pytest.raises(ValueError, match="give a frame"):
            column_of_array(np.array(cells), schema["d"])
