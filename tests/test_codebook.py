"""A draft of a schema by name, declared type and code book, and never by a row."""

import datetime as dt
import sqlite3
import uuid
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.drafting.codebook import read_codebook
from sfumato.drafting.draft import draft_schema
from sfumato.drafting.identifying import is_free_text, is_id
from sfumato.errors import SchemaError
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.databases import Database
from tests.sources.filling import fill_duckdb

BOOK = """\
Variable,Type,Values,Range,Description,missing,decimals,step,source
age,int,,0..110,age in years,,,,register
ward,factor,surgery | maternity|other,,"where,
 first",yes,,,
sex,,1|2,,,,,,
zip,category,01001;01002,,,,,,
fever,number,,"34,43",,y,1,,
credit,integer,,0..1000000,,,,10000,
smoker,bool,no|yes,,,,,,
alive,boolean,,,,,,,
admitted,date,,2022-01-01..2023-12-31,,,,,
arrived,timestamp,,2022-01-01T00:00:00..2023-12-31T23:59:59,,,,,
notes,category,short|long,,kinds of notes,,,,
weight,float,,,,,,,
gone,boolean,,,,,,,

"""
HEADER = "patient_id,age,ward,sex,zip,fever,credit,smoker,alive,admitted,arrived,notes,weight,blood,comment"
DRAFTED = """\
  - {name: age, type: integer, bounds: [0, 110]}  # age in years
  - {name: ward, type: category, values: [surgery, maternity, other], missing: true}  # where, first
  - {name: sex, type: category, values: [1, 2]}
  - {name: zip, type: category, values: ['01001', '01002']}
  - {name: fever, type: number, bounds: [34, 43], decimals: 1, missing: true}
  - {name: credit, type: integer, bounds: [0, 1000000], step: 10000}
  - {name: smoker, type: boolean, words: ['no', 'yes']}
  - {name: alive, type: boolean}
  - {name: admitted, type: date, bounds: [2022-01-01, 2023-12-31]}
  - {name: arrived, type: datetime, bounds: ['2022-01-01T00:00:00', '2023-12-31T23:59:59']}
  - {name: notes, type: category, values: [short, long]}  # kinds of notes
  - {name: weight, type: number, bounds: [FILL, FILL]}
  - {name: blood, type: FILL}
leave_out: [patient_id, comment]  # called like ids or free text; describe above what is neither
# unit: {column: patient_id, records: FILL}  # or: whose record it is
"""


@pytest.fixture
def book(tmp_path):
    (tmp_path / "book.csv").write_text(BOOK)
    return tmp_path / "book.csv"


def test_what_the_book_describes_is_complete(book, tmp_path):
    (tmp_path / "rows.csv").write_text(f"{HEADER}\nsecret\n")
    draft = draft_schema(tmp_path / "rows.csv", read_codebook(book))
    assert DRAFTED in draft.text
    assert draft.absent == ("gone",)
    assert "secret" not in draft.text
    filled = draft.text.replace("[FILL, FILL]", "[0, 300]").replace("type: FILL", "type: boolean")
    schema = Schema.from_yaml(filled)
    assert schema["smoker"].words == ("no", "yes")
    assert schema["arrived"].bounds[1] == dt.datetime(2023, 12, 31, 23, 59, 59)
    assert open_source(tmp_path / "rows.csv", schema).header.types.keys() == set(schema.by_name)


def test_the_command_reports_what_the_table_lacks_beside_the_draft(book, tmp_path):
    (tmp_path / "rows.csv").write_text(f"{HEADER}\n")
    done = CliRunner().invoke(app, ["schema", "init", str(tmp_path / "rows.csv"), "--codebook", str(book)])
    assert done.exit_code == 0, done.output
    assert yaml.safe_load(done.stdout)["leave_out"] == ["patient_id", "comment"]
    assert "also describes gone, which" in done.stderr
    assert "gone" not in done.stdout


def test_a_book_with_semicolons_is_read(tmp_path):
    (tmp_path / "book.csv").write_text("\ufeffname;type;values;bounds\nage;integer;;0,110\nsex;category;f|m;\n")
    found = read_codebook(tmp_path / "book.csv")
    assert found["age"].definition == {"type": "integer", "bounds": ["0", "110"]}
    assert found["sex"].definition == {"type": "category", "values": ["f", "m"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: no column of the code book is called name; begin with"),
        ("type,values\ninteger,\n", "line 1: no column of the code book is called name"),
        ("name,field\na,b\n", "line 1: more than one column holds the name; keep one"),
        ("name,type\na,integer\n,number\n", "line 3: has no name"),
        ("name,type\na,integer\na,number\n", "line 3: column 'a' stands twice"),
        ("name,type\na,complex\n", "line 2: type 'complex' is not known; use integer, number"),
        ("name,bounds\na,0,99\n", 'line 2: has more fields than the header; put "0,99" in quotes'),
        ("name,bounds\na,0-99\n", "line 2: bounds '0-99' are not two values; write lowest..highest"),
        ("name,bounds\na,0..\n", "line 2: bounds '0..' are not two values"),
        ("name,values\na,x||y\n", "line 2: values 'x||y' hold an empty one"),
        ("name,missing\na,perhaps\n", "line 2: missing 'perhaps' is neither yes nor no"),
        ("name,decimals\na,two\n", "line 2: decimals 'two' is not a number"),
        ("name,type,bounds\na,integer,9..0\n", "line 2, .* 9 is not below 0"),
        ("name,type,bounds\na,date,1..2\n", "line 2, .*bounds"),
        ("name,type,bounds,step\na,integer,1..9,5\n", r"line 2, .*write \[0, 10\]"),
        ("name,type,bounds,values\na,integer,1..9,a|b\n", "line 2, .*values: this key does not belong here"),
        ("name,values\na,x|x\n", "line 2, .*listed twice"),
    ],
)
def test_a_bad_line_is_named_with_its_cure(tmp_path, text, told):
    (tmp_path / "book.csv").write_text(text)
    (tmp_path / "rows.csv").write_text("a\n")
    with pytest.raises(SchemaError, match=f"book.csv, {told}"):
        draft_schema(tmp_path / "rows.csv", read_codebook(tmp_path / "book.csv"))


def test_what_is_no_text_file_is_refused(tmp_path):
    (tmp_path / "book.csv").write_bytes(b"name\n\xff\n")
    for path in (tmp_path / "book.csv", tmp_path / "none.csv"):
        with pytest.raises(SchemaError, match="cannot be read as a text file"):
            read_codebook(path)


TABLE = pa.table(
    {
        "patient_id": pa.array([1], pa.int64()),
        "age": pa.array([33], pa.int16()),
        "fever": [37.5],
        "ward": ["secret"],
        "ok": [True],
        "born": [dt.date(2000, 1, 1)],
        "seen": [dt.datetime(2000, 1, 1)],
        "notes": ["secret"],
        "price": pa.array([None], pa.decimal128(9, 2)),
    }
)
TYPED = [
    "integer, bounds: [FILL, FILL]",
    "number, bounds: [FILL, FILL]",
    "category, values: [FILL]",
    "boolean",
    "date, bounds: [FILL, FILL]",
    "datetime, bounds: [FILL, FILL]",
    "number, bounds: [FILL, FILL]",
]


def in_parquet(folder):
    pyarrow.parquet.write_table(TABLE, folder / "t.parquet")
    return folder / "t.parquet"


def in_duckdb(folder):
    return Database(fill_duckdb(folder / "t.duckdb", TABLE), table="people")


@pytest.mark.parametrize("stored", [in_parquet, in_duckdb])
def test_declared_types_are_drafted(stored, tmp_path):
    text = draft_schema(stored(tmp_path)).text
    lines = [line.split("type: ")[1].removesuffix("}") for line in text.splitlines() if line.startswith("  - ")]
    assert lines == TYPED
    assert "leave_out: [patient_id, notes]" in text
    assert "secret" not in text


def test_sqlite_declares_nothing_and_the_book_helps(tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection, connection:
        connection.execute("create table t (age, ward)")
    (tmp_path / "book.csv").write_text("name,type,values,bounds\nage,integer,,0..99\nward,,1|2,\n")
    text = draft_schema(Database(str(tmp_path / "t.sqlite"), table="t"), read_codebook(tmp_path / "book.csv")).text
    assert "{name: age, type: integer, bounds: [0, 99]}" in text
    assert "{name: ward, type: category, values: [1, 2]}" in text


def test_codes_that_are_stored_as_text_are_listed_as_text(tmp_path):
    pyarrow.parquet.write_table(pa.table({"ward": ["1"], "site": [1]}), tmp_path / "t.parquet")
    (tmp_path / "book.csv").write_text("name,values\nward,1|2\nsite,1|2\n")
    text = draft_schema(tmp_path / "t.parquet", read_codebook(tmp_path / "book.csv")).text
    assert "{name: ward, type: category, values: ['1', '2']}" in text
    assert "{name: site, type: category, values: [1, 2]}" in text


def test_a_column_is_left_out_by_its_name_and_type():
    ids = ["id", "ID", "patient_id", "PatientId", "person.id", "encounter id", "uuid", "row-uuid"]
    texts = ["name", "first_name", "lastName", "surname", "notes", "doctor_comment", "text", "e-mail", "home_phone"]
    others = ["paid", "valid", "hybrid", "drug_name", "context", "footnotes_count", "age", "texture"]
    assert all(is_id(name, kind) for name in ids for kind in ("integer", "text", "nothing"))
    assert all(is_free_text(name, kind) for name in texts for kind in ("text", "nothing"))
    assert not any(is_id(name, "nothing") or is_free_text(name, "nothing") for name in others)
    assert not any(is_id(name, "boolean") for name in ids)
    assert not any(is_free_text(name, "number") for name in texts)


def test_no_row_decides_what_is_left_out(tmp_path):
    for rows in (["a"], [str(uuid.uuid4())], [None]):
        pyarrow.parquet.write_table(pa.table({"ward": pa.array(rows, pa.string())}), tmp_path / "t.parquet")
        assert "{name: ward, type: category, values: [FILL]}" in draft_schema(tmp_path / "t.parquet").text
