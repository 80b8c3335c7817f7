"""The schema of a family: what it says, and what it refuses, with place and cure."""

import copy
import json
from pathlib import Path

import pytest
import yaml

from sfumato.demo import FAMILY_SCHEMA
from sfumato.errors import SchemaError
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.schema import FamilySchema, Schema
from sfumato.trusted.schema.file import read_schema
from tests.families.hospital import schema

CONTENT = yaml.safe_load(FAMILY_SCHEMA.read_text(encoding="utf-8"))
PROCEDURES = {"parent": "diagnoses", "rows": [0, 3], "columns": [{"name": "x", "type": "boolean"}]}


def test_it_goes_out_and_comes_back():
    assert read_schema(json.loads(json.dumps(schema().to_dict()))) == schema()
    assert read_schema(yaml.safe_load(schema().to_yaml())) == schema()


def test_a_file_of_one_table_stays_what_it_was(tmp_path):
    (tmp_path / "one.yaml").write_text("{sfumato: 1, name: rain, columns: [{name: wet, type: boolean}]}")
    assert isinstance(read_schema(tmp_path / "one.yaml"), Schema)
    with pytest.raises(SchemaError, match="of a family of tables, and one of a single table is asked for"):
        Schema.load(FAMILY_SCHEMA)


def test_a_key_that_may_be_shared_will_do_where_rows_name_their_person():
    content = copy.deepcopy(CONTENT)
    del content["tables"]["stays"]["unique_key"]
    content["tables"]["diagnoses"]["person"] = "patient_id"
    assert not FamilySchema.from_dict(content).has_shared_keys
    assert schema().has_shared_keys


def test_the_published_json_schema_is_up_to_date():
    published = Path(__file__).parents[2] / "docs" / "family_schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == FamilySchema.model_json_schema()


def test_lists_of_values_may_stand_in_files(tmp_path):
    content = copy.deepcopy(CONTENT)
    content["tables"]["diagnoses"]["columns"][0]["values"] = {"file": "codes.txt"}
    (tmp_path / "codes.txt").write_text("a\nb\n")
    (tmp_path / "h.yaml").write_text(yaml.safe_dump(content))
    found = read_schema(tmp_path / "h.yaml")
    assert found.schema_of("diagnoses")["code"].values == ("a", "b")


def change(path: str, value: object = None):
    """Set a place of the file, or take it off."""

    def apply(content):
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        for step in steps:
            content = content[step]
        if value is None:
            del content[last]
        else:
            content[last] = value

    return apply


BAD = {
    "no such parent": (change("tables/stays/parent", "patientz"), "stays, parent: 'patientz' is not a table"),
    "circle": (change("tables/patients/parent", "diagnoses"), "goes round in a circle"),
    "two roots": (change("tables/stays/parent"), "'patients' and 'stays' have no parent"),
    "no key below": (change("tables/stays/key"), "needs a key, the column that 'diagnoses' names its rows by"),
    "a key that may be shared": (change("tables/stays/unique_key"), "write unique_key: true under stays"),
    "no key of persons": (change("tables/patients/key"), "the table of persons needs a key"),
    "no rows": (change("tables/stays/rows"), "rows: is required and not there; write .fewest, most."),
    "rows without end": (
        lambda content: (
            change("tables/stays/rows", [0, 10_000])(content),
            change("tables/diagnoses/rows", [0, 101])(content),
        ),
        "somebody could have 1,010,000 rows",
    ),
    "rows that are one number": (change("tables/stays/rows", 30), "write two numbers, such as .0, 20.; 30 is no pair"),
    "a unit": (change("unit", {"column": "patient_id", "records": 3}), "whoever the key of its first table names"),
    "columns without a table": (change("columns", []), "columns stand under their table"),
    "constraint without a table": (
        change("constraints", [{"if": {"ward": "maternity"}, "then": {"patients.sex": "f"}}]),
        "'ward' names no table; write stays.ward",
    ),
    "rows reversed": (change("tables/stays/rows", [5, 2]), "rows: write .fewest, most."),
    "rows of persons": (change("tables/patients/rows", [1, 2]), "this key is for tables with a parent"),
    "four levels": (change("tables/procedures", PROCEDURES), "is on level 4, and 3 are the most"),
    "a key among the columns": (
        change("tables/stays/key", "ward"),
        "'ward' is a key and must not be released; take it off the columns",
    ),
    "a foreign key among the columns": (
        change("tables/diagnoses/columns/0/name", "stay_id"),
        "'stay_id' names the parent row and must not be released",
    ),
    "order by no column": (change("tables/stays/order", "admited"), "did you mean 'admitted'"),
    "order by a list": (change("tables/stays/order", "ward"), "which has no order"),
    "order by a computed column": (
        change("tables/stays/order", "discharged"),
        "order: 'discharged' follows from a constraint; order by the column behind it",
    ),
    "unreleased order among the columns": (
        change("tables/stays/order", {"column": "cost", "type": "number"}),
        "'cost' is among the columns; write its name alone",
    ),
    "gap without an order": (change("tables/diagnoses/gap", [0, 5]), "gap: is for tables in the order of a released"),
    "bounds to be bought": (change("tables/patients/columns/1/bounds", "estimate"), "to be bought"),
    "target that is no column": (change("tables/stays/target", "x"), "stays: target: 'x' is not a column"),
    "constraint of a table": (
        change("tables/stays/constraints", ["cost >= wardd"]),
        r"stays, constraints\[0\]: 'wardd' is not a column",
    ),
    "constraint within one table": (change("constraints", ["stays.cost >= stays.cost"]), "stands on both sides|are of"),
    "constraint off the path": (
        change("constraints", [{"if": {"stays.nurse": 1}, "then": {"patients.sex": "f"}}]),
        "'stays.nurse' is not a column",
    ),
    "constraint of unlike types": (change("constraints", ["stays.cost >= patients.born"]), "can be compared"),
    "equation between tables": (
        change("constraints", ["stays.cost = 2 * patients.born"]),
        "write other constraints under",
    ),
    "share of no table": (change("share", {"wards": 2}), "'wards' is not a table"),
    "unknown key": (change("tables/stays/ordr", "x"), "unknown key .did you mean 'order'"),
    "a name with a dot": (change("tables/a.b", PROCEDURES), "'a.b' is no name of a table"),
    "person of a child of persons": (change("tables/stays/person", "p"), "the foreign key names the person already"),
    "learnt function": (
        change("tables/diagnoses/constraints", [{"column": "code", "of": "confirmed"}]),
        "would have to be learnt",
    ),
}


@pytest.mark.parametrize(("spoil", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_is_refused_with_its_place_and_cure(spoil, words):
    content = copy.deepcopy(CONTENT)
    spoil(content)
    with pytest.raises(SchemaError, match=words):
        family_layout_of(FamilySchema.from_dict(content))


def test_an_error_names_the_line(tmp_path):
    text = FAMILY_SCHEMA.read_text(encoding="utf-8").replace("parent: stays", "parent: stay")
    (tmp_path / "h.yaml").write_text(text)
    line = 1 + text.splitlines().index("    parent: stay")
    with pytest.raises(SchemaError, match=f"line {line}, tables, diagnoses, parent: 'stay' is not a table"):
        read_schema(tmp_path / "h.yaml")


def test_views_of_a_family():
    layout = family_layout_of(schema())
    assert list(layout.views) == ["persons", "stays, first", "stays, next", "diagnoses, first", "diagnoses, next"]
    steps = layout.views["stays, next"]
    assert "stays.admitted" not in steps.by_name  # the distance from the row before stands in its place
    assert steps.by_name["stays.admitted since the row before"].which == "own"
    assert "patients.number of stays" not in steps.by_name  # place and rows left say it
    assert layout.views["diagnoses, next"].names("place", "left") == ()
    assert all(
        column.codes.missing is not None for column in layout.views["persons"].columns if column.which == "first"
    )
    assert repr(schema()) == "<FamilySchema of hospital: 3 tables (patients, stays, diagnoses)>"
