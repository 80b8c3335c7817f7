"""CSV files that a reader could stumble over: each record is read by itself, wherever it stands, and nothing speaks."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.encoding import Encoder
from sfumato.schema import Schema
from sfumato.sources import csv_files, open_source
from sfumato.sources.places import Place
from sfumato.statistics import Cells, Grid

SCHEMA = Schema.from_content(
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
    return open_source(path, SCHEMA).sum(COUNTS)[:6].tolist()


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
    schema = Schema.from_content({**SCHEMA.to_content(), "columns": [SCHEMA.to_content()["columns"][0]]})
    (tmp_path / "t.csv").write_bytes(b"a\n1\n\n\n1\n")
    total = open_source(tmp_path / "t.csv", schema).sum(Cells((("a",),), GRIDS, None))
    assert total.tolist() == [2, 0, 0, 0, 0, 2]


RECORDS = ["1,2\n", '"x\r\ny",3\n', "ü,\n", '"é,è",9\r\n', '"q""q",4\n', ",1\n", "zz,2\n"]


@given(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=40), st.integers(0, 200), st.integers(40, 120))
def test_a_record_counts_the_same_wherever_it_stands(tmp_path_factory, records, shift, block):
    """Blocks as small as the parser takes, and any offset: the sum is that of the records, one by one."""
    path = tmp_path_factory.getbasetemp() / "where.csv"
    alone = {record: np.array(counts(path, HEAD + record.encode())) for record in set(records)}
    pad = ("zz,2\n" * shift).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "LONGEST_LINE", block)
        together = counts(path, HEAD + pad + "".join(records).encode())
    expected = sum(alone[record] for record in records) + shift * np.array([1, 0, 0, 0, 0, 0])
    assert together == expected.tolist()


def test_the_stream_is_the_file_in_another_guise(tmp_path):
    text = bytes(range(256)) * 50 + b"\r\n\r\r\nend\r"
    (tmp_path / "t.csv").write_bytes(text)
    for size in (1, 2, 7, 1000):
        stream = csv_files._PlainStream(Place.of(tmp_path / "t.csv"))
        parts = []
        while part := stream.read(size):
            parts.append(part)
        plain = b"".join(parts).decode().encode("latin-1")
        assert plain == text.replace(b"\r\n", b"\n") + b"\n"
        stream.close()


def test_bytes_come_back_as_they_were():
    array = pa.array(["ü".encode().decode("latin-1"), None, "a"])
    assert csv_files._bytes(array).to_pylist() == ["ü".encode(), None, b"a"]
