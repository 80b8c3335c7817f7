"""What is wrong with a constraint is said when the schema is read: line, place and cure."""

import pytest

import sfumato
from sfumato.errors import SchemaError
from tests.constraints.stays import COLUMNS, SCHEMA

_RULES = """
- {name: sex, type: category, values: [F, M]}
- {name: pregnant, type: boolean}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- dischargd >= admitted", "did you mean 'discharged'"),
        ("- sex >= admitted", "only numbers with numbers, dates with dates"),
        ("- seen >= admitted", "only numbers with numbers, dates with dates"),
        ("- a >= a", "name each once"),
        ("- discharged >= admitted + 5000", "no value of column 'admitted' is left"),
        ("- age > 95", "no value of column 'age' is left"),
        ("- a >= tomorrow", "'tomorrow' is not a column"),
        ("- sex <= 3", "has no order"),
        ("- age <= 2020-01-01", "not a value of a column of type integer"),
        ("- a >= b\n- b >= a", "goes round in a circle"),
        ("- a = 2 * b\n- b = c - a", "goes round in a circle"),
        ("- a = b\n- a = c", "follows from another constraint already"),
        ("- a = b\n- a >= c", "follows from another constraint already"),
        ("- admitted = born + seen", "only numbers with numbers"),
        ("- a = admitted + 1", "the difference of two dates is a number"),
        (
            "- {column: country, of: city, table: [[Paris, France], [Paris, Italy]]}",
            "stands for both 'France' and 'Italy'",
        ),
        ("- {column: country, of: city, table: {Oslo: France}}", "'Oslo' is not a value of column 'city'"),
        ("- {column: country, of: city, table: {Paris: Peru}}", "'Peru' is not a value of column 'country'"),
        ("- {column: sex, of: city, table: {Paris: F}}", "says nothing of city 'Lyon'"),
        ("- {column: age, of: city}", "a function is of one listed column to another"),
        ("- {column: country, of: city, file: x}", "unknown key"),
        ("- {forbid: {sex: X}}", "'X' is not a value of column 'sex'"),
        ("- {forbid: {age: {from: 96}}}", "has no value there"),
        ("- {forbid: {sex: {from: 3}}}", "has no order"),
        ("- {forbid: {age: {above: 3}}}", "write a value, a list of values"),
        ("- {forbid: {age: null}}", "is never missing"),
        ("- {forbid: {}}", "is empty"),
        ("- {if: {sex: F}}", "is required and not there"),
        ("- {allow: [sex], table: [[F]]}", "list at least"),
        ("- {allow: [sex, pregnant], table: [[F]]}", "a row of the table has 1 values"),
        ("- {total: 200, of: [a, b]}", "write [0, 200]"),
        ("- {total: 99.5, of: [a, b]}", "integers do not add up to 99.5"),
        ("- {total: width, of: [a, b]}\n- width = high - low", "and cannot be a total"),
        ("- {null_together: [a, b]}", "is never missing"),
        ("- {place: [a, lat]}", "two columns of type number"),
        ("- {place: [low, lat]}", "both columns of a place may be missing, or none"),
        ("- {key: age}", "is read, and a key is not"),
        ("- {key: id, format: P}", "has no number in it"),
        ("- {forbit: {sex: F}}", "begins with one of"),
        ("- 7", "begins with one of"),
        ("- width = high - low\n- {forbid: {width: {from: 3}, sex: F}}", "write the rule for the columns behind it"),
        ("- high >= low\n- {forbid: {high: {from: 3}, sex: F}}", "write the rule for the columns behind it"),
    ],
)
def test_an_error_names_line_and_cure(text, said):
    with pytest.raises(SchemaError) as caught:
        sfumato.Schema.from_yaml(COLUMNS.rstrip() + _RULES + "constraints:\n" + text + "\n", "stays.yaml")
    assert said in " ".join(str(caught.value).split())
    assert str(caught.value).startswith("stays.yaml, line ")
    assert "constraints[" in str(caught.value)


def test_the_target_is_measured_as_it_is():
    for target, constraint in (("age", "- age = years(admitted - born)"), ("a", "- {total: 100, of: [a, b]}")):
        with pytest.raises(SchemaError, match="is the target"):
            sfumato.Schema.from_yaml(f"{COLUMNS}\ntarget: {target}\nconstraints:\n{constraint}\n")


def test_columns_that_are_to_be_bought_have_no_constraints_yet():
    text = COLUMNS.replace(
        "{name: age, type: integer, bounds: [0, 95]}", "{name: age, type: integer, bounds: estimate}"
    )
    with pytest.raises(SchemaError, match="are to be bought"):
        sfumato.Schema.from_yaml(text + "constraints: [age >= a]\n")


def test_constraints_are_written_as_they_were_read():
    assert sfumato.Schema.from_yaml(SCHEMA.to_yaml()) == SCHEMA
    assert sfumato.Schema.from_dict(SCHEMA.to_dict()) == SCHEMA


def test_tables_may_stand_in_files(tmp_path):
    (tmp_path / "cities.csv").write_text("country,city\nFrance,Paris\nFrance,Lyon\nItaly,Rome\n")
    file = tmp_path / "stays.yaml"
    file.write_text(COLUMNS + "constraints:\n- {column: country, of: city, table: {file: cities.csv}}\n")
    (function,) = sfumato.Schema.load(file).constraints
    assert dict(function.table) == {"Paris": "France", "Lyon": "France", "Rome": "Italy"}
    file.write_text(COLUMNS + "constraints:\n- {column: country, of: city, table: {file: towns.csv}}\n")
    with pytest.raises(SchemaError, match=r"towns.csv cannot be read"):
        sfumato.Schema.load(file)
    (tmp_path / "towns.csv").write_text("town,country\nParis,France\n")
    with pytest.raises(SchemaError, match=r"has no column 'city'; it has town, country"):
        sfumato.Schema.load(file)
