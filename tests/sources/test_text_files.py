"""Tables as offices store them, in any encoding, packed or not: the same sums to the bit from every engine."""

import gzip
import io
import zipfile
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato
from sfumato.errors import DataError, RequestError
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.schema import Schema, TextFormat
from sfumato.trusted.sources import csv_records, open_source
from sfumato.trusted.sources.files import header_types
from sfumato.trusted.sources.transcoding import Transcoded
from sfumato.trusted.statistics import Cells
from tests.leaks import TOKEN, everything_shown
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite

COLUMNS = """
sfumato: 1
name: office
columns:
  - {name: Größe, type: number, bounds: [0, 250], missing: true}
  - {name: pay, type: number, bounds: [0, 5000]}
  - {name: town, type: category, values: [Köln, Zürich, other], otherwise: other}
  - {name: born, type: date, bounds: [1950-01-01, 2020-12-31], missing: true}
  - {name: seen, type: datetime, bounds: [2020-01-01T00:00:00, 2020-12-31T23:59:59]}
"""
FORMAT = """\
text: {separator: ";", decimal: ",", thousands: ".", units: [EUR, cm], dates: "%d.%m.%Y", datetimes: "%d.%m.%Y %H:%M"}
"""
SCHEMA = Schema.from_yaml(COLUMNS + FORMAT)
GRIDS = {name: fine_grid(codes) for name, codes in Encoder(SCHEMA).columns.items()}
EACH = Cells(tuple((name,) for name in SCHEMA.by_name), GRIDS, None)
ROWS = [
    ("170,5 cm", "1.234,50 EUR", "Köln", "24.09.1999", "03.01.2020 08:15"),
    ("165,25", "999", "Zürich", "1.2.1960", "3.1.2020 8:15"),
    ("1.5", "1.5", "Koln", "1999-09-24", "2020-01-03"),
    (None, "12.345,00", "Köln ", None, "x"),
    ("180", "0,01 EUR", "other", "31.02.1999", "31.12.2020 23:59"),
]
TEXTS = pa.table({name: [row[place] for row in ROWS] for place, name in enumerate(SCHEMA.by_name)})
MEANT = Schema.from_yaml(COLUMNS)  # what the rows say, in the words of no format
PLAIN = pa.table(
    {
        "Größe": ["170.5", "165.25", "x", None, "180"],
        "pay": ["1234.5", "999", "x", "12345", "0.01"],
        "town": TEXTS.column("town"),
        "born": ["1999-09-24", "1960-02-01", "x", None, "x"],
        "seen": ["2020-01-03T08:15", "2020-01-03T08:15", "x", "x", "2020-12-31T23:59"],
    }
)


def written(encoding: str = "utf-8", separator: str = ";", rows: list = ROWS) -> bytes:
    lines = [SCHEMA.by_name, *([field or "" for field in row] for row in rows)]
    return "".join(separator.join(line) + "\r\n" for line in lines).encode(encoding)


def in_encoding(encoding: str) -> Schema:
    text = SCHEMA.text.model_copy(update={"encoding": encoding})
    return SCHEMA.model_copy(update={"text": text})


@pytest.fixture(scope="module")
def expected() -> bytes:
    return open_source(PLAIN, MEANT, declared=True).sum(EACH).tobytes()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "iso-8859-15", "cp1252"])
def test_a_csv_file_in_any_encoding(tmp_path, expected, encoding):
    (tmp_path / "t.csv").write_bytes(written(encoding))
    assert open_source(tmp_path / "t.csv", in_encoding(encoding)).sum(EACH).tobytes() == expected


def test_umlauts_in_another_encoding_are_not_listed(tmp_path, expected):
    """The fault: the schema does not say how the file is encoded."""
    (tmp_path / "t.csv").write_bytes(written("latin-1").replace("Größe".encode("latin-1"), "Größe".encode()))
    assert open_source(tmp_path / "t.csv", SCHEMA).sum(EACH).tobytes() != expected


@pytest.mark.parametrize("place", ["memory", "parquet", "duckdb", "sqlite", "postgresql", "spark", "spark csv"])
def test_every_engine_reads_text_alike(request, tmp_path, expected, place):
    match place:
        case "memory":
            data = TEXTS
        case "parquet":
            data = tmp_path / "t.parquet"
            pyarrow.parquet.write_table(TEXTS, data, row_group_size=2)
        case "duckdb":
            data = sfumato.Database(fill_duckdb(tmp_path / "t.duckdb", TEXTS), table="people")
        case "sqlite":
            data = sfumato.Database(fill_sqlite(tmp_path / "t.sqlite", TEXTS), table="people")
        case "postgresql":
            data = sfumato.Database(fill_server(request.getfixturevalue("server"), TEXTS), table="people")
        case "spark":
            data = request.getfixturevalue("spark").createDataFrame(TEXTS).repartition(3)
        case "spark csv":
            from sfumato.trusted.sources.spark_files import open_frame

            request.getfixturevalue("spark")
            (tmp_path / "t.csv").write_bytes(written())
            data = open_frame(str(tmp_path / "t.csv"), SCHEMA)
    with closing(open_source(data, SCHEMA, declared=True)) as source:
        assert source.sum(EACH).tobytes() == expected


@pytest.mark.parametrize("name", ["t.csv", "t.zip"])
def test_what_spark_would_read_otherwise_is_refused_by_schema_or_name(spark, tmp_path, name):
    from sfumato.trusted.sources.spark_files import open_frame

    (tmp_path / "t.csv").write_bytes(written("cp1252"))
    pack(tmp_path / "t.zip", {"t.csv": written("cp1252")})
    with pytest.raises(RequestError, match=r"UTF-8 alone|does not read"):
        open_frame(str(tmp_path / name), in_encoding("cp1252"))


def test_a_byte_that_the_encoding_does_not_define_is_no_listed_value(tmp_path):
    """Not even where its bytes would be one in UTF-8."""
    schema = Schema.from_dict(
        in_encoding("cp1252").to_dict()
        | {"columns": [{"name": "a", "type": "category", "values": ["Á", "x"], "otherwise": "x"}]}
    )
    (tmp_path / "t.csv").write_bytes(b"a\n\xc3\x81\n\xc1\n")
    (batch,) = open_source(tmp_path / "t.csv", schema).batches(("a",))
    assert batch.codes["a"].tolist() == [1, 0]


ENCODINGS = [
    name for name in TextFormat.model_fields["encoding"].annotation.__args__ if name.startswith(("l", "i", "c"))
]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding_of_single_bytes_is_total_and_tells_all_bytes_apart(encoding):
    """ASCII is itself, so that records are cut where they end; every other byte is a text of its own."""
    texts = [Transcoded(io.BytesIO(bytes([byte])), encoding).read(1) for byte in range(256)]
    assert texts[:128] == [bytes([byte]) for byte in range(128)]
    assert len(set(texts)) == 256
    assert not any(set(text) & set(range(128)) for text in texts[128:])


@given(
    st.binary(max_size=60) | st.lists(st.sampled_from([0, 10, 13, 34, 0x41, 0xD8, 0xDC, 0xFE, 0xFF])).map(bytes),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.sampled_from([("utf-16", b"\xff\xfe"), ("utf-16", b"\xfe\xff"), ("cp1252", b""), ("latin-1", b"")]),
)
@example(b"\x00\xd8", [1], ("utf-16", b"\xff\xfe"))  # half of a pair, at the end
def test_no_byte_stops_a_stream_and_blocks_do_not_matter(data, sizes, kind):
    encoding, mark = kind

    def read(*steps: int) -> bytes:
        stream, parts = Transcoded(io.BytesIO(mark + data), encoding), []
        while part := stream.read(steps[len(parts) % len(steps)]):
            parts.append(part)
        return b"".join(parts)

    assert read(*sizes) == read(1 << 20)
    assert all(len(Transcoded(io.BytesIO(mark + data), encoding).read(size)) <= max(size, 6) for size in range(1, 40))
    if len(data) % 2 == 0:
        lost = read(1).decode("utf-8", "surrogatepass")
        back = lost.encode("utf-16-be" if mark == b"\xfe\xff" else "utf-16-le", "surrogatepass") if mark else b""
        assert not mark or back == data


def test_utf_16_without_its_mark_is_refused_by_the_header(tmp_path):
    (tmp_path / "t.csv").write_bytes(written("utf-16-le"))
    with pytest.raises(DataError, match="cannot be read as CSV"):
        open_source(tmp_path / "t.csv", in_encoding("utf-16"))


def pack(path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("name", ["t.csv.zip", "T.ZIP", "t.csv.gz"])
def test_packed_files_are_read_as_they_are(tmp_path, expected, name):
    if name.endswith("gz"):
        (tmp_path / name).write_bytes(gzip.compress(written()))
    else:
        hidden = {"__MACOSX/._t.csv": b"not for us", "readme.txt": b"", "below/": b""}
        pack(tmp_path / name, {"below/t.csv": written(), **hidden})
    assert open_source(tmp_path / name, SCHEMA).sum(EACH).tobytes() == expected
    assert list(header_types(tmp_path / name, SCHEMA.text)) == list(SCHEMA.by_name)


def test_the_separator_in_an_archive_is_that_of_its_member(tmp_path):
    pack(tmp_path / "t.zip", {"t.tsv": b"a\tb\n1\t2\n"})
    assert list(header_types(tmp_path / "t.zip")) == ["a", "b"]


def test_archives_in_a_folder_are_no_part_of_its_table(tmp_path, expected):
    (tmp_path / "t.csv").write_bytes(written())
    pack(tmp_path / "backup.zip", {"t.csv": written()})
    assert open_source(tmp_path, SCHEMA).sum(EACH).tobytes() == expected


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"readme.txt": b""}, "holds 0 CSV files"),
        ({}, "cannot be read as a zip archive"),
        ({"a.csv": b"a\n", "b.tsv": b"a\n"}, "holds 2 CSV files"),
        ({"a.csv.gz": gzip.compress(b"a\n")}, "holds 0 CSV files"),
    ],
)
def test_an_archive_holds_one_table(tmp_path, members, message):
    pack(tmp_path / "t.zip", members)
    with pytest.raises(DataError, match=message):
        open_source(tmp_path / "t.zip", SCHEMA)


def broken(kind: str, text: bytes) -> tuple[str, bytes]:
    """A packed file whose rows are cut short or changed, behind a header that is whole."""
    file = io.BytesIO()
    if kind == "gz":
        return "t.csv.gz", gzip.compress(text)[:-2_000]
    pack(file, {"t.csv": text})
    content = bytearray(file.getvalue())
    if kind == "locked":
        content[6] |= 1
        content[content.rindex(b"PK\1\2") + 8] |= 1
    elif kind == "changed":
        content[-2_000:-1_000] = bytes(1_000)
    else:
        content = content[:-2_000]
    return "t.zip", bytes(content)


@pytest.mark.parametrize("kind", ["gz", "cut", "changed", "locked"])
@pytest.mark.parametrize("seen_by_header", [True, False])
def test_a_broken_file_tells_nothing_and_costs_what_a_broken_file_costs(tmp_path, monkeypatch, kind, seen_by_header):
    """What is broken where the header is read costs nothing; what is broken further on was reserved before."""
    rng = np.random.default_rng(0)
    rows = [(f"{x},5", f"{y}", TOKEN, "24.09.1999", "x") for x, y in rng.integers(0, 10**6, (3_000, 2))]
    if not seen_by_header:
        monkeypatch.setattr(csv_records, "BLOCK", 512)
    name, content = broken(kind, written(rows=rows))
    (tmp_path / name).write_bytes(content)
    book = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(DataError) as caught:
        sfumato.release(tmp_path / name, SCHEMA, epsilon=1.0, ledger=book)
    assert TOKEN not in everything_shown(caught.value)
    at_once = seen_by_header or kind in ("cut", "locked")
    assert [entry.kind for entry in book.entries()] == ([] if at_once else ["reserve"])


def test_a_bomb_without_lines_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_records, "LONGEST_RECORD", 1 << 20)
    monkeypatch.setattr(csv_records, "BLOCK", 1 << 16)
    pack(tmp_path / "t.zip", {"t.csv": b"x" * (1 << 23)})
    taken = []
    reading = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda *args: taken.append(args[1]) or reading(*args))
    with pytest.raises(DataError, match="cannot be read as CSV"):
        open_source(tmp_path / "t.zip", SCHEMA)
    assert sum(taken) < 1 << 22


@given(st.lists(st.sampled_from(["ä", "x;y", '"a;ß"', '"z\n€"', "é\r", ""]), max_size=30), st.integers(8, 60))
def test_a_record_in_another_encoding_counts_the_same_wherever_it_stands(tmp_path_factory, fields, block):
    path, schema = tmp_path_factory.getbasetemp() / "where.csv", in_encoding("cp1252")
    columns = [{"name": "a", "type": "category", "values": ["ä", "a;ß", "z\n€", "other"], "missing": True}]
    listed = Schema.from_dict(schema.to_dict() | {"columns": columns})

    def codes(rows: list[str]) -> list[int]:
        path.write_bytes("".join(f"{row}\n" for row in ["a;b", *(f"{field};1" for field in rows)]).encode("cp1252"))
        return [code for batch in open_source(path, listed).batches(("a",)) for code in batch.codes["a"].tolist()]

    alone = [code for field in fields for code in codes([field])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "BLOCK", block)
        assert codes(fields) == alone
