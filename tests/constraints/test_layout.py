"""The measured columns: a function of one record, and one that leads back to it."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.errors import RequestError
from sfumato.fitting.violating_rows import find_violating_rows
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.constraints.computed import full_years
from sfumato.trusted.constraints.places import CELLS, Cell
from tests.constraints.stays import COLUMNS, SCHEMA, stays


def encode(table, schema=SCHEMA):
    return layout_of(schema).encode(table.combine_chunks().to_batches()[0])


def test_the_measured_columns():
    names = list(layout_of(SCHEMA).measured.by_name)
    assert names == [
        *("admitted", "discharged - admitted", "seen", "left - seen", "born", "city", "low", "high - low"),
        *("a / rest", "b / rest", "lat, lon"),
    ]


def test_records_that_keep_the_constraints_come_back():
    table, layout = stays(500), layout_of(SCHEMA)
    back = layout.decode(encode(table), np.random.default_rng(0), {})
    for name in ("admitted", "discharged", "born", "city", "low", "high", "a", "b", "c"):
        assert back.column(name).to_pylist() == table.column(name).to_pylist(), name
    for name, width in (("lat", 0.01), ("lon", 0.01)):
        ours, theirs = (np.array(one.column(name).to_pylist(), dtype=float) for one in (back, table))
        assert np.array_equal(np.isnan(ours), np.isnan(theirs))
        assert np.nanmax(np.abs(ours - theirs)) <= width
    for one, stay in zip(back.column("left").to_pylist(), back.column("seen").to_pylist(), strict=True):
        assert one > stay


def test_whatever_the_records_are_what_comes_back_keeps_every_constraint():
    table = stays(500, broken=0.4)
    assert sum(broken.any() for broken in find_violating_rows(SCHEMA, table).values()) >= 5
    back = layout_of(SCHEMA).decode(encode(table), np.random.default_rng(0), {})
    assert not any(broken.any() for broken in find_violating_rows(SCHEMA, back).values())


def test_a_record_alone_has_the_codes_that_it_has_among_others():
    table = stays(60, broken=0.3)
    together = encode(table).codes
    for place in range(table.num_rows):
        alone = encode(table.slice(place, 1)).codes
        assert {name: codes[0] for name, codes in alone.items()} == {
            name: codes[place] for name, codes in together.items()
        }


def test_storage_makes_no_difference():
    table = stays(80, broken=0.2)
    texts = pa.table({name: _texts(table.column(name)) for name in table.column_names})
    folded = table.set_column(10, "width", table.column("width"))
    folded = folded.set_column(11, "a", table.column("a").dictionary_encode())
    plain = encode(table).codes
    for other in (texts, folded):
        assert all(np.array_equal(codes, plain[name]) for name, codes in encode(other).codes.items())


def _texts(column):
    shown = (
        None if one is None else one.isoformat() if isinstance(one, dt.date) else str(one) for one in column.to_pylist()
    )
    return pa.array(list(shown), pa.string())


def test_what_must_be_read_is_what_the_columns_are_made_of():
    layout = layout_of(SCHEMA)
    assert layout.reads(["left - seen"]) == ("left", "seen")
    assert layout.reads(["b / rest", "city"]) == ("a", "b", "city")
    assert not {"age", "country", "width", "c"} & set(layout.reads(layout.measured.by_name))


def test_a_chain_is_measured_link_by_link():
    schema = _numbers("b >= a", "c > b", "c >= a + 3")
    layout = layout_of(schema)
    table = pa.table({"a": [1, 9, 5], "b": [4, 2, None], "c": [5, 1, 7]})
    back = layout.decode(encode(table, schema), np.random.default_rng(0), {})
    # 2 is below 9 and counts as 9; what lies above it must lie above 9 then, and 3 above 9
    assert back.to_pylist() == [{"a": 1, "b": 4, "c": 5}, {"a": 9, "b": 9, "c": 12}, {"a": 5, "b": None, "c": 8}]


def _numbers(*constraints):
    columns = [{"name": name, "type": "integer", "bounds": [0, 40], "missing": name == "b"} for name in "abc"]
    return sfumato.Schema.from_dict({"sfumato": 1, "name": "n", "columns": columns, "constraints": list(constraints)})


def test_a_value_that_breaks_a_link_counts_as_the_nearest_for_the_next():
    schema = _numbers("b >= a", "c >= b")
    back = layout_of(schema).decode(
        encode(pa.table({"a": [9, 9], "b": [2, 2], "c": [5, 12]}), schema), np.random.default_rng(0), {}
    )
    assert back.to_pylist() == [{"a": 9, "b": 9, "c": 9}, {"a": 9, "b": 9, "c": 12}]


def test_a_record_without_reference_has_the_same_distance_alone_and_among_others():
    schema = _numbers("c >= b")
    table = pa.table({"a": [0] * 6, "b": [7, None, 30, None, 9, 40], "c": [9, 12, 31, 0, 3, 40]})
    together = encode(table, schema).codes["c - b"].tolist()
    assert together == [2, 12, 1, 0, 0, 0]
    assert [encode(table.slice(k, 1), schema).codes["c - b"][0] for k in range(6)] == together


def test_parts_beyond_the_total_count_as_the_total():
    columns = [{"name": name, "type": "integer", "bounds": [0, 60]} for name in "abc"]
    content = {"sfumato": 1, "name": "n", "columns": columns, "constraints": [{"total": 60, "of": ["a", "b", "c"]}]}
    schema = sfumato.Schema.from_dict(content)
    table = pa.table({"a": [60, 50, 0], "b": [60, 50, 60], "c": [60, 0, 0]})
    back = layout_of(schema).decode(encode(table, schema), np.random.default_rng(0), {})
    assert [tuple(row.values()) for row in back.to_pylist()] == [(60, 0, 0), (50, 10, 0), (0, 60, 0)]


def test_bounds_that_constraints_leave():
    layout = layout_of(_numbers("b >= a", "c > b", "c <= 30"))
    assert layout.columns["c"].bounds == (0, 30)  # b may be missing, and then c is free
    assert layout.columns["a"].bounds == (0, 29)


@given(st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=1, max_size=50))
def test_places_come_back_within_their_cell(places):
    cell = Cell(("lat", "lon"), (-90.0, -180.0), (180 / CELLS**0.5, 360 / CELLS**0.5))
    lat, lon = np.array(places).T
    codes = cell.forward({"lat": lat, "lon": lon})
    assert ((codes >= 0) & (codes < CELLS)).all()
    back = cell.backward(codes, (np.full(len(lat), 0.3), np.full(len(lat), 0.9)))
    assert np.array_equal(cell.forward(back), codes)


@given(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)))
def test_full_years_are_birthdays(born, day):
    epoch = dt.date(1970, 1, 1)
    found = full_years(*(np.array([float((one - epoch).days)]) for one in (born, day)))[0]
    assert found == day.year - born.year - ((day.month, day.day) < (born.month, born.day))
    assert math.isnan(full_years(np.array([np.nan]), np.array([0.0]))[0])


def test_a_schema_without_constraints_is_measured_as_it_is():
    schema = sfumato.Schema.from_yaml(COLUMNS)
    assert layout_of(schema).measured is schema
    assert layout_of(schema).is_plain


def test_a_feature_must_not_follow_the_label():
    content = _numbers("b >= a").to_dict()
    leads = {target: layout_of(sfumato.Schema.from_dict(content | {"target": target})) for target in "abc"}
    assert [leads[target].target_moves_a_feature for target in "abc"] == [True, False, False]
    with pytest.raises(RequestError, match="turn the constraint round"):
        sfumato.release(
            pa.table({name: [1, 2] for name in "abc"}),
            sfumato.Schema.from_dict(content | {"target": "a"}),
            epsilon=1.0,
            adjacency="label",
            ledger=None,
        )
