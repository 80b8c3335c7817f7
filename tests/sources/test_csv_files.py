"""CSV files that a reader could stumble over: each record is read by itself, wherever it stands, and nothing speaks."""

import itertools
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import Encoder
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import csv_files, csv_records, open_source
from sfumato.trusted.sources.locations import Location
from sfumato.trusted.statistics import Cells

SCHEMA = Schema.from_dict(
    {
        "sfumato": 1,
        "name": "csv",
        "columns": [
            {
                "name": "a",
                "type": "category",
                "values": ["1", "ü", "x\ny", "é,è", 'q"q'],
                "missing": True,
                "otherwise": "1",
            },
            {"name": "größe", "type": "integer", "bounds": [0, 9], "missing": True},
        ],
    }
)
GRIDS = {name: Grid.of_cells(np.arange(codes.size)) for name, codes in Encoder(SCHEMA).columns.items()}
COUNTS = Cells((("a",), ("größe",)), GRIDS, None)


def counts(path, text: bytes) -> list[int]:
    path.write_bytes(text)
    return open_source(path, SCHEMA, declared=True).sum(COUNTS)[:6].tolist()


HEAD = "a,größe\n".encode()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (b"", [0, 0, 0, 0, 0, 0]),
        ("1,2\nü,3".encode(), [1, 1, 0, 0, 0, 0]),
        ("1,2\r\nü,3\r\n".encode(), [1, 1, 0, 0, 0, 0]),
        (b'"x\ny",1\n"x\r\ny",2\n', [0, 0, 2, 0, 0, 0]),
        ('"é,è",1\n'.encode(), [0, 0, 0, 1, 0, 0]),
        (b'"q""q",1\n', [0, 0, 0, 0, 1, 0]),
        (b",\n,4\n", [0, 0, 0, 0, 0, 2]),
        (b"\xfc,1\n\xff\xfe,2\n", [2, 0, 0, 0, 0, 0]),
        (b"1,2,3\n1\nM\xfcller,secret,diagnosis\n1,2\n", [1, 0, 0, 0, 0, 0]),
        (b"\n1,2\n\n\n1,3\n", [2, 0, 0, 0, 0, 0]),
        (b"1\x00,2\n", [1, 0, 0, 0, 0, 0]),
    ],
    ids=lambda value: repr(value) if isinstance(value, bytes) else "",
)
def test_what_is_a_record(tmp_path, capfd, monkeypatch, rows, expected):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    assert counts(tmp_path / "t.csv", HEAD + rows) == expected
    assert heard == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("head", [HEAD, HEAD.rstrip(), b"\xef\xbb\xbf" + HEAD, HEAD.replace(b"\n", b"\r\n")])
def test_a_header_alone_has_no_records(tmp_path, head):
    assert sum(counts(tmp_path / "t.csv", head)) == 0


def test_in_a_file_of_one_column_an_empty_line_is_a_null(tmp_path):
    schema = Schema.from_dict({**SCHEMA.to_dict(), "columns": [SCHEMA.to_dict()["columns"][0]]})
    (tmp_path / "t.csv").write_bytes(b"a\n1\n\n\n1\n")
    total = open_source(tmp_path / "t.csv", schema, declared=True).sum(Cells((("a",),), GRIDS, None))
    assert total.tolist() == [2, 0, 0, 0, 0, 2]


RECORDS = [
    *("1,2\n", '"x\r\ny",3\n', "ü,\n", '"é,è",9\r\n', '"q""q",4\n', ",1\n", "zz,2\n", '"x\r\r\ny",3\n', '"x\ry",3\n'),
    *(
        '5",2\n',
        'q"q,4\n',
        '"x"\ny",1\n',
        '"",5\n',
        '"""",5\n',
        '"a"b"c,5\n',
        "\r\n",
        "x\ry,3\r\n",
        "1,2,3\n",
        '"1\n",","\n',
    ),
]


@given(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=40), st.integers(0, 200), st.integers(1, 120))
def test_a_record_counts_the_same_wherever_it_stands(tmp_path_factory, records, shift, block):
    """Blocks of any size, and any offset: the sum is that of the records, one by one."""
    path = tmp_path_factory.getbasetemp() / "where.csv"
    alone = {record: np.array(counts(path, HEAD + record.encode())) for record in set(records)}
    pad = ("zz,2\n" * shift).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "BLOCK", block)
        together = counts(path, HEAD + pad + "".join(records).encode())
    expected = sum(alone[record] for record in records) + shift * np.array([1, 0, 0, 0, 0, 0])
    assert together == expected.tolist()


def fields(path, text: bytes, block: int = 1 << 23) -> list[tuple]:
    """All records of a file as bytes."""
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "BLOCK", block)
        batches = itertools.chain.from_iterable(csv_files.parts_of(Location.of(path), csv_files.Dialect(), ("a", "b")))
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("block", [1, 2, 3, 5, 7, 11, 1 << 23])
def test_a_line_end_in_a_quoted_field_is_kept_wherever_a_block_ends(tmp_path, block):
    """Raw `\\r\\r\\n`, cut between its bytes, once lost its line feed, so that one record's length changed another."""
    rows = b'a,b\n"1\r\r\n2","3\r\n4"\r\n"5\r6",\r\n'
    assert fields(tmp_path / "t.csv", rows, block) == [(b"1\r\n2", b"3\n4"), (b"5\r6", None)]


@pytest.mark.parametrize("block", [1, 3, 1 << 23])
def test_a_file_of_an_old_mac(tmp_path, block):
    text = b'a,b\r1,"x\ry\nz"\r2,ok\r'
    assert fields(tmp_path / "t.csv", text, block) == [(b"1", b"x\ny\nz"), (b"2", b"ok")]


@pytest.mark.parametrize("block", [1, 16, 64])
@pytest.mark.parametrize(
    "long", [b"x" * 200 + b",1\n", b'"' + b'q""\n9,9\n' * 30 + b'",1\n', b'1,"' + b"\n8,8" * 60 + b'"z\n']
)
def test_a_record_that_is_too_long_is_left_out_by_itself(tmp_path, monkeypatch, long, block):
    """Also where it looks as if there were others in it."""
    monkeypatch.setattr(csv_records, "LONGEST_RECORD", 150)
    around = [b"1,2\n", long, b'"3",4\n', long, long, b"5,6\n"]
    expected = [(b"1", b"2"), (b"3", b"4"), (b"5", b"6")]
    assert fields(tmp_path / "t.csv", b"a,b\n" + b"".join(around), block) == expected
    assert fields(tmp_path / "t.csv", b"a,b\n" + b"".join([*around, long[:-1]]), block) == expected


@pytest.mark.parametrize("block", [1, 1 << 23])
def test_a_field_that_is_never_closed_is_no_record(tmp_path, block):
    assert fields(tmp_path / "t.csv", b'a,b\n1,2\n3,"4\n5,6\n', block) == [(b"1", b"2")]


PIECES = [b"a", b'"', b'""', b"\n", b"\r\n", b"\r", b",", b" ", b"\x00", b"\xef\xbb\xbf", b"\xff", b'","', b'"\n"']


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.integers(1, 40))
def test_the_records_of_any_bytes_do_not_depend_on_blocks(tmp_path_factory, parts, block):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    text = b"a,b\n" + b"".join(parts)
    assert fields(path, text, block) == fields(path, text)


@given(st.lists(st.tuples(st.binary(max_size=12), st.binary(max_size=12)), max_size=20), st.integers(1, 60))
def test_what_a_writer_wrote_is_read_back(tmp_path_factory, rows, block):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    text = b"".join(b'"%b","%b"\n' % tuple(one.replace(b'"', b'""') for one in row) for row in rows)
    expected = [tuple(one.replace(b"\r\n", b"\n") or None for one in row) for row in rows]
    assert fields(path, b"a,b\n" + text, block) == expected


def test_bytes_come_back_as_they_were():
    array = pa.array(["ü".encode().decode("latin-1"), None, "a"])
    assert csv_files._bytes(array).to_pylist() == ["ü".encode(), None, b"a"]


def test_a_record_that_is_a_little_too_long_is_left_out_by_itself(monkeypatch):
    """It ends in the same piece of the file in which it begins, and others follow it there."""
    monkeypatch.setattr(csv_records, "BLOCK", 64)
    monkeypatch.setattr(csv_records, "LONGEST_RECORD", 64)
    text = b"x\n" + b"a" * 70 + b"\nb\nc\n"
    stream = csv_records.RecordStream(pa.BufferReader(text), ",")
    assert b"".join(stream.pieces()) == b"b\nc\n"
