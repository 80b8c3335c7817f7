"""What a custodian learns before the spend: capitals, units, codes, separators."""

import contextlib
import datetime as dt
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.errors import DataError
from sfumato.evaluation.checking import check_table
from sfumato.evaluation.file_formats import check_encoding, check_separator, likely_format
from sfumato.evaluation.unreleased import unreleased_columns
from sfumato.trusted.schema import Schema, TextFormat

SCHEMA = """
sfumato: 1
name: jobs
columns:
  - {name: job, type: category, values: [private, public], otherwise: public}
  - {name: pay, type: number, bounds: [0, 5000]}
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: born, type: date, bounds: [1900-01-01, 2020-12-31], missing: true}
  - {name: wet, type: boolean}
"""
ROWS = 100


@pytest.fixture
def table():
    return pa.table(
        {
            "job": ["Private"] * 90 + ["public "] * 5 + ["public"] * 5,
            "pay": ["1,234.50 EUR"] * 60 + ["1200"] * 30 + ["9000"] * 10,
            "age": [30] * 97 + [None] * 2 + [120],
            "born": ["24.09.2021"] * 50 + ["1990-02-01"] * 40 + [None] * 10,
            "wet": ["yes"] * 50 + ["true"] * 50,
        }
    )


def by_name(table):
    return {one.column: one for one in check_table(table, sfumato.Schema.from_yaml(SCHEMA))}


def test_every_kind_of_misreading_is_counted(table):
    found = by_name(table)
    assert (found["job"].unlisted, found["job"].rows) == (95, ROWS)
    assert (found["pay"].unread, found["pay"].outside) == (60, 10)
    assert (found["age"].nulls, found["age"].outside) == (2, 1)
    assert (found["born"].unread, found["born"].nulls) == (50, 0)
    assert found["job"].misread == 95


def test_near_misses_are_named(table):
    found = by_name(table)
    assert found["job"].hints[0] == "'Private' in 90.0% of the rows differs from 'private' in case"
    assert "differs from 'public' in spacing" in found["job"].hints[1]
    assert found["pay"].hints[0] == "'1,234.50 EUR' in 60.0% of the rows"
    assert found["born"].hints[0] == "'24.09.2021' in 50.0% of the rows"


def test_cells_of_any_kind_are_shown_as_they_are(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed; pip install 'sfumato[excel]'")
    book = openpyxl.Workbook()
    book.active.append(["job", "pay", "age", "born", "wet"])
    book.active.append(["Private", "1,5", dt.date(2020, 1, 1), 3, dt.time(3)])
    book.save(tmp_path / "t.xlsx")
    found = {one.column: one for one in check_table(tmp_path / "t.xlsx", sfumato.Schema.from_yaml(SCHEMA))}
    assert found["job"].hints[0] == "'Private' in 100.0% of the rows differs from 'private' in case"
    assert [found[name].hints[0] for name in ("age", "born", "wet")] == [
        "'2020-01-01' in 100.0% of the rows",
        "'3' in 100.0% of the rows",
        "'something of the kind other' in 100.0% of the rows",
    ]
    assert '`text: {decimal: ","}`' in found["pay"].hints[-1]


def test_ids_are_recognised():
    found = by_name(
        pa.table({"job": [f"person {n}" for n in range(ROWS)], "pay": [1.0] * ROWS, "age": [1] * ROWS})
        .append_column("born", pa.nulls(ROWS, pa.date32()))
        .append_column("wet", pa.array([True] * ROWS))
    )
    assert "an id or free text" in found["job"].hints[-1]
    assert found["pay"].misread == found["age"].misread == found["wet"].misread == 0


def test_what_is_as_the_schema_says_has_no_hint(table):
    good = pa.table({"job": ["private"], "pay": [1.5], "age": [3], "born": ["1990-02-01"], "wet": ["false"]})
    assert all(one.misread == 0 and not one.hints for one in by_name(good).values())
    assert all(one.rows == 0 for one in by_name(table.slice(0, 0)).values())


LATIN, UTF8 = "age;job\n3;Köln\n".encode("latin-1"), "age,job\n3;Köln\n".encode()


@pytest.mark.parametrize(
    ("content", "said", "hint"),
    [
        (LATIN, {}, "`text: {encoding: cp1252}`"),
        (LATIN, {"encoding": "latin-1"}, None),
        (LATIN, {"encoding": "cp1252"}, None),
        (LATIN, {"encoding": "utf-16"}, "`text: {encoding: cp1252}`"),
        (LATIN.replace(b"K", b"\x80"), {"encoding": "latin-1"}, "`text: {encoding: cp1252}`"),
        (LATIN.replace(b"K", b"\x81"), {}, "`text: {encoding: latin-1}`"),
        (UTF8, {}, None),
        (UTF8, {"encoding": "latin-1"}, "leave `encoding` out"),
        (UTF8[:-2], {}, None),
        (UTF8.decode().encode("utf-16"), {}, "`text: {encoding: utf-16}`"),
        (UTF8.decode().encode("utf-16"), {"encoding": "utf-16"}, None),
        (b"age,job\n", {"encoding": "cp1252"}, None),
    ],
)
def test_first_bytes_tell_the_encoding(tmp_path, content, said, hint):
    (tmp_path / "a.csv").write_bytes(content)
    found = check_encoding(tmp_path / "a.csv", TextFormat(**said))
    assert found is None if hint is None else hint in found


@pytest.mark.parametrize(
    ("content", "said", "hint"),
    [
        (LATIN, {}, '`text: {separator: ";"}`'),
        (LATIN, {"separator": ";"}, None),
        (UTF8, {}, None),
        (UTF8, {"separator": ";"}, '`text: {separator: ","}`'),
        (b"age\tjob\n", {}, '`text: {separator: "\\t"}`'),
        (b"age\n;;;;\n", {}, None),
        ("age;job\n".encode("utf-16"), {"encoding": "utf-16"}, '`text: {separator: ";"}`'),
        (b"", {}, None),
    ],
)
def test_the_header_tells_the_separator(tmp_path, content, said, hint):
    (tmp_path / "a.csv").write_bytes(content)
    found = check_separator(tmp_path / "a.csv", TextFormat(**said))
    assert found is None if hint is None else hint in found


@pytest.mark.parametrize(
    ("texts", "kind", "keys"),
    [
        (["1,5", "2,75"], "number", '{decimal: ","}'),
        (["1.234,50 EUR", "7 EUR"] * 3 + ["x"], "number", '{decimal: ",", thousands: ".", units: ["EUR"]}'),
        (["$1,234.50", "$3"], "number", '{thousands: ",", units: ["$"]}'),
        (["1 234,5"], "number", '{decimal: ",", thousands: " "}'),
        (["12 %"], "integer", '{units: ["%"]}'),
        (["24.09.2021", "1.2.2020"], "date", '{dates: "%d.%m.%Y"}'),
        (["09/24/2021", "01/02/2021"], "date", '{dates: "%m/%d/%Y"}'),
        (["24.09.2021 08:15"], "datetime", '{datetimes: "%d.%m.%Y %H:%M"}'),
        (["cook", "nurse"], "number", None),
        (["tomorrow"], "date", None),
    ],
)
def test_texts_tell_how_they_may_be_written(texts, kind, keys):
    hint = likely_format(Counter(texts), kind)
    assert hint is None if keys is None else f"`text: {keys}`" in hint


def test_a_format_is_named_beside_what_cannot_be_read(table):
    found = by_name(table)
    assert '`text: {thousands: ",", units: ["EUR"]}`' in found["pay"].hints[-1]
    assert '`text: {dates: "%d.%m.%Y"}`' in found["born"].hints[-1]
    assert not any("text:" in hint for name in ("job", "age", "wet") for hint in found[name].hints)


def test_numbers_out_of_bounds_are_in_no_other_format(table):
    many = table.set_column(1, "pay", pa.array(["9000"] * 99 + ["x"]))
    assert not any("text:" in hint for hint in by_name(many)["pay"].hints)


def test_other_tables_have_no_separator(tmp_path):
    (tmp_path / "a.csv").write_bytes(LATIN)
    for data in (tmp_path, pa.table({})):
        assert check_encoding(data, TextFormat()) is None
        assert check_separator(data, TextFormat()) is None


def test_the_command_spends_nothing_and_marks_its_file(table, tmp_path):
    pyarrow.csv.write_csv(table, tmp_path / "rows.csv")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    words = ["check", "rows.csv", "--schema", "s.yaml", "--out", "found.json"]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in words])
    assert done.exit_code == 0, done.output
    shown = " ".join(done.output.split())
    assert "job: 95.0% of the values are not in the schema's list 'Private' in 90.0% of the rows differs" in shown
    assert "for the custodian alone" in shown
    assert "informed by the rows" in shown
    content = json.loads((tmp_path / "found.json").read_text())
    assert "for the custodian alone" in content["notice"]
    assert content["columns"][0]["misread"] == 95
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_column_that_is_not_there_is_named(table):
    with pytest.raises(DataError, match="age"):
        by_name(table.drop_columns("age"))


@pytest.mark.parametrize(
    "values",
    [
        *(pa.nulls(3), pa.array([True, False, None]), pa.array([1, 2**63, 3], pa.uint64()), pa.array(["a", "1", None])),
        *(pa.array([b"3", b"x", b""]), pa.array(["7", "7", "x"]).dictionary_encode(), pa.array([[1], [2], None])),
    ],
    ids=lambda values: str(values.type),
)
def test_any_storage_can_be_looked_at(table, values):
    few = table.slice(0, 3)
    for column in few.column_names:
        changed = few.set_column(few.column_names.index(column), column, values)
        with contextlib.suppress(DataError):  # refused by its type, before a row is read
            found = by_name(changed)
            assert 0 <= found[column].misread <= found[column].rows == 3


STEPPED = """
sfumato: 1
name: fever
columns:
  - {name: fever, type: number, bounds: [34, 43], decimals: 1, missing: true}
  - {name: credit, type: integer, bounds: [0, 100000], step: 10000}
leave_out: [patient_id, notse]
"""


@pytest.fixture
def fevers():
    fever = [37.3] * 60 + [37.25] * 20 + [float("nan")] * 10 + [55.55] * 10
    return pa.table({"fever": fever, "credit": [10_000] * ROWS, "patient_id": range(ROWS), "notes": ["x"] * ROWS})


@pytest.mark.parametrize("storage", [pa.float64(), pa.float32(), pa.string()])
def test_what_is_rounded_is_told_and_does_not_count_as_misread(fevers, storage):
    stored = fevers.set_column(0, "fever", fevers["fever"].cast(storage))
    fever, credit = check_table(stored, sfumato.Schema.from_yaml(STEPPED))
    assert (fever.off_step, fever.outside, fever.misread) == (20, 10, 10)
    assert fever.hints[0] == "20.0% of the rows lie between multiples of 0.1 and are rounded to the nearest"
    assert (credit.off_step, credit.misread, credit.hints) == (0, 0, ())


def test_columns_that_nobody_decided_on_are_named(fevers, tmp_path):
    schema = sfumato.Schema.from_yaml(STEPPED)
    pyarrow.csv.write_csv(fevers, tmp_path / "rows.csv")
    pyarrow.parquet.write_table(fevers, tmp_path / "rows.parquet")
    places = (fevers, fevers.to_pandas(), tmp_path / "rows.csv", tmp_path / "rows.parquet")
    for data in (*places, pyarrow.dataset.dataset(tmp_path / "rows.parquet")):
        assert unreleased_columns(data, schema) == (("notes",), ("notse",))
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    assert unreleased_columns(tmp_path / "a.npy", schema) == ((), ())


def test_the_command_names_them(fevers, tmp_path):
    pyarrow.csv.write_csv(fevers, tmp_path / "rows.csv")
    (tmp_path / "s.yaml").write_text(STEPPED)
    words = ["check", "rows.csv", "--schema", "s.yaml", "--out", "found.json"]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in words])
    assert done.exit_code == 0, done.output
    shown = " ".join(done.output.split())
    assert "20.0% of the values lie between the multiples of the step" in shown
    assert "not released: notes. Describe them, or name them in leave_out" in shown
    assert "leave_out names notse, which the table does not have" in shown
    content = json.loads((tmp_path / "found.json").read_text())
    assert (content["forgotten"], content["absent"]) == (["notes"], ["notse"])


def test_of_what_is_to_be_bought_only_nulls_are_looked_at(table):
    columns = "{name: age, type: integer, bounds: estimate}, {name: job, type: category, values: discover}"
    schema = sfumato.Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{columns}]}}")
    assert [(one.column, one.nulls, one.misread) for one in check_table(table, schema)] == [
        ("age", 2, 2),
        ("job", 0, 0),
    ]
    allowed = sfumato.Schema.from_yaml(
        f"{{sfumato: 1, name: t, columns: [{columns.replace('estimate', 'estimate, missing: true')}]}}"
    )
    assert check_table(table, allowed)[0].misread == 0


def test_words_for_unknown_values_do_not_hide_a_format_and_are_told_their_place():
    amounts = [f"1.{row % 1000:03},{row // 1000:02}" for row in range(3_000)]
    written = pa.table({"pay": [*amounts, *["k.A."] * 400]})
    column = "{name: pay, type: number, bounds: [0, 50000]"
    (plain,) = check_table(written, Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{column}}}]}}"))
    assert '`text: {decimal: ",", thousands: "."}`' in plain.hints[-1]
    assert plain.hints[1].endswith("in less than 0.1% of the rows")
    read = "], text: {decimal: ',', thousands: '.'}}"
    found = {
        missing: check_table(written, Schema.from_yaml(f"{{sfumato: 1, name: t, columns: [{column}{missing}}}{read}"))[
            0
        ]
        for missing in (", missing: true", "", ", otherwise: 0")
    }
    assert [one.hints[-1] for one in found.values()] == [
        "'k.A.' in 11.8% of the rows",
        "what cannot be read counts as 25000.0; add `missing: true` or `otherwise` if that is wrong",
        "what cannot be read counts as 0.0",
    ]
    assert [(one.misread, one.words) for one in found.values()] == [(0, 400), (400, 0), (400, 0)]
    assert found[", missing: true"].describe() == "11.8% of the values are words and count as missing"


def test_numbers_outside_the_bounds_suggest_no_format():
    text = "text: {decimal: ',', thousands: '.'}"
    schema = Schema.from_yaml(
        f"{{sfumato: 1, name: t, columns: [{{name: pay, type: number, bounds: [0, 9]}}], {text}}}"
    )
    assert check_table(pa.table({"pay": [206_820.77, 207_434.82]}), schema)[0].hints == (
        "'206820.77' in 50.0% of the rows",
        "'207434.82' in 50.0% of the rows",
    )
