"""A draft of a family's schema: from headers alone, with keys and parents by the names of columns."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from sfumato import demo
from sfumato.cli.app import app
from sfumato.drafting.family import draft_family
from sfumato.errors import DataError
from sfumato.trusted.schema.file import read_schema


def test_the_hospital_is_drafted_as_it_is():
    draft = yaml.safe_load(draft_family(demo.FAMILY))
    true = yaml.safe_load(demo.FAMILY_SCHEMA.read_text(encoding="utf-8"))
    assert list(draft["tables"]) == list(true["tables"])
    for name, table in true["tables"].items():
        for key in ("parent", "key"):
            assert draft["tables"][name].get(key) == table.get(key)
        known = [(column["name"], column["type"]) for column in draft["tables"][name]["columns"]]
        assert known == [(column["name"], column["type"]) for column in table["columns"]]


def test_a_completed_draft_is_a_schema(tmp_path):
    text = draft_family(demo.FAMILY).replace("# unique_key", "unique_key").replace("[0, FILL]", "[0, 9]")
    text = text.replace("type: date, bounds: [FILL, FILL]", "type: date, bounds: [1920-01-01, 2023-12-31]")
    text = text.replace("bounds: [FILL, FILL]", "bounds: [0, 100]").replace("values: [FILL]", "values: [a, b]")
    (tmp_path / "h.yaml").write_text(text)
    assert read_schema(tmp_path / "h.yaml").path("diagnoses") == ("patients", "stays", "diagnoses")


def test_ids_and_text_that_tie_nothing_are_left_out(tmp_path):
    pq.write_table(pa.table({"account_id": [1], "owner_id": [7], "kind": ["x"]}), tmp_path / "accounts.parquet")
    rows = pa.table({"transaction_id": [1], "account_id": [1], "amount": [2.5], "comment": ["secret"]})
    pyarrow.csv.write_csv(rows, tmp_path / "transactions.csv")
    text = draft_family(tmp_path)
    draft = yaml.safe_load(text)["tables"]
    assert draft["accounts"]["leave_out"] == ["owner_id"]
    assert draft["transactions"]["leave_out"] == ["transaction_id", "comment"]
    assert draft["transactions"]["parent"] == "accounts"
    assert "secret" not in text


def test_a_person_may_be_named_on_the_third_level_too(tmp_path):
    for name, columns in {
        "clients": ["ClientNr", "casino"],
        "accounts": ["account_no", "ClientNr", "paid"],
        "bookings": ["booking_id", "account_no", "ClientNr", "amount"],
    }.items():
        pyarrow.csv.write_csv(pa.table({column: [1] for column in columns}), tmp_path / f"{name}.csv")
    draft = yaml.safe_load(draft_family(tmp_path))["tables"]
    assert {name: table.get("parent") for name, table in draft.items()} == {
        "clients": None,
        "accounts": "clients",
        "bookings": "accounts",
    }
    assert draft["bookings"]["person"] == "ClientNr"
    assert [column["name"] for column in draft["clients"]["columns"]] == ["casino"]
    assert [column["name"] for column in draft["accounts"]["columns"]] == ["paid"]


def test_what_is_no_family_is_refused(tmp_path):
    for place in (tmp_path, tmp_path / "absent"):
        with pytest.raises(DataError, match=r"two tables|no folder"):
            draft_family(place)


def test_the_command_prints_it():
    done = CliRunner().invoke(app, ["schema", "init", str(demo.FAMILY), "--family"])
    assert done.exit_code == 0
    assert done.stdout == draft_family(demo.FAMILY)
    both = CliRunner().invoke(app, ["schema", "init", str(demo.FAMILY), "--family", "--table", "x"])
    assert both.exit_code == 2


def test_a_key_that_is_just_id(tmp_path):
    (tmp_path / "patients.csv").write_text("id,sex\n1,f\n")
    (tmp_path / "stays.csv").write_text("id,patient id,admitted\n7,1,2024-01-01\n")
    draft = yaml.safe_load(draft_family(tmp_path))["tables"]
    assert draft["patients"]["key"] == "id"
    assert (draft["stays"]["parent"], draft["stays"]["foreign_key"]) == ("patients", "patient id")
    assert "leave_out" not in draft["patients"]


def test_tables_that_no_name_ties_are_told_what_to_write(tmp_path):
    (tmp_path / "persons.csv").write_text("pid_x,sex\n1,f\n")
    (tmp_path / "visits.csv").write_text("who,day\n1,2024-01-01\n")
    assert draft_family(tmp_path).count("# parent: FILL  # instead, in all tables but the one of persons") == 2
