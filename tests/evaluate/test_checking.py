"""What a custodian learns before the spend: capitals, units, codes, separators."""

import contextlib
import json

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.errors import DataError
from sfumato.evaluate.checking import check_encoding, check_separator, check_table

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


def test_first_bytes_tell_separator_and_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes("age;job\n3;Köln\n".encode("latin-1"))
    assert "not UTF-8" in check_encoding(tmp_path / "a.csv")
    assert "separated by ';'" in check_separator(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("age,job\n3,Köln\n", encoding="utf-8")
    for data in (tmp_path / "b.csv", tmp_path, pa.table({})):
        assert check_encoding(data) is None
        assert check_separator(data) is None


def test_the_command_spends_nothing_and_marks_its_file(table, tmp_path):
    pyarrow.csv.write_csv(table, tmp_path / "rows.csv")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    words = ["check", "rows.csv", "--schema", "s.yaml", "--out", "found.json"]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in words])
    assert done.exit_code == 0, done.output
    shown = " ".join(done.output.split())
    assert "job: 95.0% not listed 'Private' in 90.0% of the rows differs from 'private' in case" in shown
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
