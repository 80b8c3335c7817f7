"""Excel workbooks: each cell is read by itself, and by what it is; a sheet is found by its name."""

import datetime as dt
import io
import re
import sys
import zipfile
from contextlib import closing

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

import sfumato
from sfumato.drafting.draft import draft_schema
from sfumato.errors import DataError
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import excel_files, open_source
from sfumato.trusted.statistics import Cells
from tests.leaks import TOKEN, everything_shown

SCHEMA = Schema.from_yaml("""
sfumato: 1
name: workbook
columns:
  - {name: age, type: integer, bounds: [0, 99], missing: true}
  - {name: pay, type: number, bounds: [0, 5000]}
  - {name: ward, type: category, values: ["007", "2020-02-01", Köln, other], otherwise: other}
  - {name: ill, type: boolean}
  - {name: born, type: date, bounds: [1950-01-01, 2020-12-31], missing: true}
  - {name: seen, type: datetime, bounds: [2020-01-01T00:00:00, 2020-12-31T23:59:59]}
text: {decimal: ",", thousands: ".", units: [EUR], dates: "%d.%m.%Y"}
""")
NAMES = tuple(SCHEMA.by_name)
GRIDS = {name: fine_grid(codes) for name, codes in Encoder(SCHEMA).columns.items()}
EACH = Cells(tuple((name,) for name in NAMES), GRIDS, None)
ROWS = [
    (30, 1234.5, "Köln", True, dt.date(1999, 9, 24), dt.datetime(2020, 1, 3, 8, 15)),
    ("30", "1.234,50 EUR", 7, "yes", "24.09.1999", "2020-01-03T08:15"),
    (None, "1.5", dt.date(2020, 2, 1), 0, "1999-09-24", dt.date(2020, 1, 3)),
    ("", None, "#N/A", None, None, dt.timedelta(hours=3)),
    (29.6, -3, "x", 2, dt.datetime(1999, 9, 24, 12), dt.time(8)),
]


def workbook(*sheets: tuple[str, list]) -> Workbook:
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    return book


def saved(path, rows: list, title: str = "stays"):
    workbook((title, [NAMES, *rows])).save(path)
    return path


def counted(data, schema: Schema = SCHEMA) -> list[int]:
    return open_source(data, schema, declared=True).sum(EACH).tolist()


def test_a_sheet_is_read_as_its_cells_are(tmp_path):
    columns = {name: cells_of([row[place] for row in ROWS]) for place, name in enumerate(NAMES)}
    encoder = Encoder(SCHEMA)
    expected = EACH(encoder.encode(pa.RecordBatch.from_arrays(list(columns.values()), list(NAMES))))
    assert counted(saved(tmp_path / "t.xlsx", ROWS)) == expected.tolist()
    assert sum(expected) == len(ROWS) * len(NAMES)


CELLS = [
    *(None, 0, 1, 30, -(2**40), 0.5, 1e300, True, False, "", "x", "30", "1.234,50 EUR", "Köln", "nan", "#N/A", "=1"),
    *(dt.date(1999, 9, 24), dt.datetime(2020, 1, 3, 8), dt.time(3), dt.timedelta(2), "24.09.1999", "\u00a0", "_x0041_"),
]


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(CELLS), min_size=6, max_size=6), min_size=1, max_size=5))
def test_a_record_counts_the_same_in_any_company(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "company.xlsx"
    alone = [counted(saved(path, [row])) for row in rows]
    assert counted(saved(path, rows)) == [sum(column) for column in zip(*alone, strict=True)]


def test_a_date_beyond_the_calendar_says_nothing(tmp_path, capfd, recwarn):
    """openpyxl warns of it, and quotes it."""
    book = workbook(("stays", [NAMES, (30, 5, "Köln", True, 10**9, 5)]))
    book.active["E2"].number_format = "dd.mm.yyyy"
    book.save(tmp_path / "t.xlsx")
    assert sum(counted(tmp_path / "t.xlsx")) == len(NAMES)
    assert capfd.readouterr() == ("", "")
    assert len(recwarn) == 0


def test_sheets_are_found_by_name_and_the_first_that_is_seen_by_default(tmp_path):
    book = workbook(("lists", [["a"]]), ("stays 1", [NAMES, *ROWS]), ("stays 2", [NAMES, ROWS[0]]))
    book["lists"].sheet_state = "hidden"
    book.save(tmp_path / "t.xlsx")
    assert sum(counted(tmp_path / "t.xlsx")) == len(ROWS) * len(NAMES)
    assert sum(counted(f"{tmp_path}/t.xlsx#stays 2")) == len(NAMES)
    assert list(excel_files.header_types(f"{tmp_path}/t.xlsx#lists")) == ["a"]
    with pytest.raises(DataError, match="or none of that name; check its 3 sheets"):
        counted(f"{tmp_path}/t.xlsx#stays 3")


def test_rows_without_a_value_are_no_records_and_cells_beside_the_table_are_not_read(tmp_path):
    blank, longer = (None,) * 6, (*ROWS[0], "a note")
    assert counted(saved(tmp_path / "a.xlsx", [blank, longer, blank, ROWS[1][:3], blank])) == counted(
        saved(tmp_path / "b.xlsx", [ROWS[0], (*ROWS[1][:3], None, None, None)])
    )
    assert sum(counted(saved(tmp_path / "c.xlsx", []))) == 0


def test_a_wrong_size_in_the_file_hides_no_row(tmp_path):
    saved(tmp_path / "t.xlsx", ROWS)
    with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    members[sheet] = re.sub(rb'<dimension ref="[^"]+"', b'<dimension ref="B2:C3"', members[sheet])
    with zipfile.ZipFile(tmp_path / "wrong.xlsx", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert counted(tmp_path / "wrong.xlsx") == counted(tmp_path / "t.xlsx")


def test_persons_are_told_apart_by_their_digits(tmp_path):
    schema = Schema.from_dict(SCHEMA.to_dict() | {"unit": {"column": "who", "records": 1}})
    ids = [17, "17", 17.0, "018", 18, None]
    workbook(("stays", [[*NAMES, "who"], *([*ROWS[0], one] for one in ids)])).save(tmp_path / "t.xlsx")
    with closing(open_source(tmp_path / "t.xlsx", schema, b"k")) as source:
        assert source.sum(EACH).sum() == 3 * len(NAMES)  # 17, 018 and 18; nobody is not counted


def test_a_draft_has_the_names_of_the_header(tmp_path):
    workbook(("stays", [["age", "Größe", 2021, None, "x", None], [1]])).save(tmp_path / "t.xlsx")
    drafted = draft_schema(tmp_path / "t.xlsx").text
    assert [name.strip("'") for name in re.findall(r"name: ([^,\n]+),", drafted)] == ["age", "Größe", "2021", "x"]
    assert "name: t\n" in drafted


@pytest.mark.parametrize("content", [b"", b"PK", b"not a workbook", "cut", "no sheet"])
def test_a_broken_workbook_tells_nothing(tmp_path, content):
    whole = io.BytesIO()
    workbook(("stays", [NAMES, *([TOKEN] * 6 for _ in range(99))])).save(whole)
    if content == "cut":
        content = whole.getvalue()[:-50]
    elif content == "no sheet":
        other = io.BytesIO()
        with zipfile.ZipFile(other, "w") as archive:
            archive.writestr("[Content_Types].xml", "<Types/>")
        content = other.getvalue()
    (tmp_path / "t.xlsx").write_bytes(content)
    book = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(DataError, match="cannot be read as an Excel workbook") as caught:
        sfumato.release(tmp_path / "t.xlsx", SCHEMA, epsilon=1.0, ledger=book)
    assert TOKEN not in everything_shown(caught.value)
    assert list(book.entries()) == []


def test_rows_that_are_broken_tell_nothing(tmp_path):
    saved(tmp_path / "t.xlsx", [[TOKEN, 99999, *ROWS[0][2:]]])
    with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "broken.xlsx", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content.replace(b"<v>99999</v>", b"<v>" + TOKEN.encode() + b"</v>"))
    source = open_source(tmp_path / "broken.xlsx", SCHEMA)
    with pytest.raises(DataError, match="could not be read to its end") as caught:
        source.sum(EACH)
    assert TOKEN not in everything_shown(caught.value)


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="does not exist"):
        counted(tmp_path / "none.xlsx")
    workbook(("stays", [NAMES[1:], ROWS[0][1:]])).save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="has no column 'age'"):
        counted(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=re.escape("pip install 'sfumato[excel]'")):
        counted(tmp_path / "t.xlsx")
