import contextlib
import datetime as dt
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import SchemaError
from sfumato.trusted.schema import Schema, text_of
from tests.conftest import MIXED

DESIGN = """
sfumato: 1                       # version of this format
name: adult                      # the dataset's name in the ledger
columns:
  - {name: age, type: integer, bounds: [17, 90]}
  - {name: workclass, type: category, values: [Private, Self-emp-inc, State-gov], missing: true}
  - {name: capital_gain, type: number, bounds: [0, 99999], atoms: [0], scale: log}
  - {name: admitted, type: date, bounds: [2019-01-01, 2024-12-31]}
  - {name: "pixel_{0..783}", type: number, bounds: [0, 255]}      # a run of like columns
  - {name: income, type: category, values: ["<=50K", ">50K"]}
target: income
unit: {column: patient_id, records: 3}
"""


def test_the_example_of_the_design_is_read():
    schema = Schema.from_yaml(DESIGN)
    assert len(schema.by_name) == 5 + 784
    assert schema["pixel_783"].bounds == (0, 255)
    assert schema["admitted"].bounds == (dt.date(2019, 1, 1), dt.date(2024, 12, 31))
    assert schema.target == "income"
    assert "income" not in schema.features
    assert (schema.unit.column, schema.unit.records) == ("patient_id", 3)


@pytest.mark.parametrize("text", [DESIGN, MIXED])
def test_yaml_and_json_go_out_and_come_back(text):
    schema = Schema.from_yaml(text)
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert list(Schema.from_yaml(schema.to_yaml()).by_name) == list(schema.by_name)


def test_runs_keep_leading_zeros():
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: 'h{08..11}:00', type: boolean}]}")
    assert list(schema.by_name) == ["h08:00", "h09:00", "h10:00", "h11:00"]


def test_a_moment_with_a_zone_is_universal_time():
    schema = Schema.from_yaml(
        "{sfumato: 1, name: t, columns: ["
        "{name: t, type: datetime, bounds: ['2024-01-01T00:30:00+01:00', '2024-02-01']}]}"
    )
    assert schema["t"].bounds == (dt.datetime(2023, 12, 31, 23, 30), dt.datetime(2024, 2, 1))


def test_numbers_may_be_written_as_people_write_them():
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: integer, bounds: [-1e3, 2e6]}]}")
    assert schema["x"].bounds == (-1000, 2_000_000)


def test_types_name_columns_and_runs():
    columns = '{name: "p_{0..2}", type: integer, bounds: [0, 9]}, {name: c, type: category, values: [1, 2]}'
    schema = Schema.from_yaml(
        f'{{sfumato: 1, name: t, columns: [{columns}], types: {{"p_{{0..2}}": uint8, p_1: int16, c: int8}}}}'
    )
    assert schema.stored_types == {"p_0": "uint8", "p_1": "int16", "p_2": "uint8", "c": "int8"}
    assert Schema.from_yaml(schema.to_yaml()) == schema


BROKEN = {
    "unknown key": (
        "bounds: [17, 90]",
        "boundz: [17, 90]",
        "line 5, columns[0] (age), boundz: unknown key (did you mean 'bounds'?)",
    ),
    "key left out": ("bounds: [17, 90]", "missing: false", "columns[0] (age), bounds: is required"),
    "reversed bounds": (
        "[17, 90]",
        "[90, 17]",
        "columns[0] (age): bounds: 90 is not below 17; write the lowest value first",
    ),
    "one bound": ("[17, 90]", "[17]", "columns[0] (age), bounds: needs two values"),
    "bounds beyond floats": ("[0, 99999]", "[0, 1e200]", "are larger than 1e100"),
    "bounds without room": ("[0, 99999]", "[1e16, 10000000000000002]", "so close that a float64 cannot tell"),
    "no number in a list": ('["<=50K", ">50K"]', "[a, .nan]", "nan is not a value that can be listed"),
    "a number of too many bits": (
        '["<=50K", ">50K"]',
        "[1, 9999999999999999999]",
        "more than 64 bits; put it in quotes",
    ),
    "half a surrogate": ('["<=50K", ">50K"]', '["\\ud800"]', "income"),
    "a moment before all calendars": (
        "type: date, bounds: [2019-01-01,",
        "type: datetime, bounds: [0001-01-01T00:00:00+05:00,",
        "lies before the year 1",
    ),
    "an alias inside of itself": ("target: income", "target: &a [*a]", "an alias stands inside of what it names"),
    "aliases that multiply": (
        "target: income",
        "a: &a [x]\n"
        + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefghij"))
        + "target: income",
        "stand for more than a million things",
    ),
    "an endless number": ("[17, 90]", "[17, 0x" + "f" * 5000 + "]", "more than 400 digits"),
    "a list as a key": ("target: income", "? [a, b]\n: 3", "is not YAML"),
    "draft left as it is": ("[17, 90]", "[FILL, FILL]", "bounds[0]: 'FILL' is not a number"),
    "draft of a list": ('["<=50K", ">50K"]', "[FILL]", "values[0]: FILL stands for what only you can know"),
    "infinite bound": ("[17, 90]", "[17, .inf]", "bounds[1]: inf is not a number"),
    "boolean bound": ("[17, 90]", "[true, 90]", "bounds[0]: True is not a number"),
    "fraction of an integer": ("[17, 90]", "[17.5, 90]", "17.5 is not a whole number"),
    "integer beyond floats": ("[17, 90]", "[17, 1e300]", "is not a whole number within 2**53"),
    "empty list": ('["<=50K", ">50K"]', "[]", "line 10, columns[5] (income), values: is empty; list at least one"),
    "words that YAML takes for truth": (
        '["<=50K", ">50K"]',
        "[no, yes]",
        "False is not text or a number; put it in quotes",
    ),
    "null in a list": ('["<=50K", ">50K"]', "[a, null]", "None is not text or a number"),
    "the same value twice": ('["<=50K", ">50K"]', "[1, '1']", "values: '1' is listed twice"),
    "otherwise not listed": ('">50K"]', '">50K"], otherwise: rich', "otherwise: 'rich' is not one of the values"),
    "a type of nothing": ("target: income", "types: {incom: category}", "types: 'incom' is not a column (did you mean"),
    "a type that does not fit": ("target: income", "types: {age: category}", "does not fit a column of type integer"),
    "a type of no library": (
        "target: income",
        "types: {age: int128}",
        "does not fit a column of type integer; use int8",
    ),
    "a zone of no moment": ("target: income", "types: {income: zone UTC}", "does not fit a column of type category"),
    "words as numbers": ("target: income", "types: {income: int8}", "does not fit a column of type category"),
    "unknown target": ("target: income", "target: incom", "target: 'incom' is not a column (did you mean 'income'?)"),
    "unknown type": ("type: date,", "type: dat,", "columns[3] (admitted): type must be one of integer, number"),
    "unknown version": ("sfumato: 1 ", "sfumato: 2 ", "line 2, sfumato: 2 is not allowed here; use 1"),
    "no name": ("name: adult", "nam: adult", "name: is required and not there; add it"),
    "atom outside": ("atoms: [0]", "atoms: [-5]", "atoms: -5.0 lies outside the bounds"),
    "no date": ("2024-12-31", "soon", "columns[3] (admitted), bounds[1]: Input should be a valid date"),
    "run that goes down": ("{0..783}", "{9..3}", "must run upwards"),
    "two runs": ("{0..783}", "{0..3}_{0..3}", "more than one run"),
    "unknown scale": ("scale: log", "scale: exp", "'exp' is not allowed here; use 'linear' or 'log'"),
    "a column twice": ("name: age", "name: income", "columns: 'income' is named twice"),
    "a key twice": ("target: income", "target: income\ntarget: age", "key 'target' stands twice"),
    "unit that is released": ("column: patient_id", "column: age", "unit: 'age' must not be released"),
    "unit of nothing": ("records: 3", "records: 0", "unit, records: Input should be greater than or equal to 1"),
    "not YAML": ("columns:", "columns: {", "is not YAML"),
    "no columns": ("columns:", "columns: []\nother:", "columns: is empty"),
}


@pytest.mark.parametrize(("old", "new", "message"), BROKEN.values(), ids=BROKEN)
def test_an_error_names_file_line_key_and_cure(tmp_path, old, new, message):
    assert old in DESIGN
    file = tmp_path / "adult.yaml"
    file.write_text(DESIGN.replace(old, new, 1))
    with pytest.raises(SchemaError) as error:
        Schema.load(file)
    assert str(file) in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "just words", "3"])
def test_what_is_no_mapping_is_refused(text):
    with pytest.raises(SchemaError, match="not a mapping"):
        Schema.from_yaml(text)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path / "binary.yaml")


@given(st.text(max_size=300))
def test_any_text_is_a_schema_or_a_schema_error(text):
    with contextlib.suppress(SchemaError):
        Schema.from_yaml(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["name", "type", "bounds", "values", "missing"]), inner, max_size=4)
        ),
    )
)
def test_any_column_is_sound_or_a_schema_error(column):
    with contextlib.suppress(SchemaError):
        Schema.from_dict({"sfumato": 1, "name": "t", "columns": [column]})


def test_a_value_is_the_same_text_in_any_type():
    assert text_of(3) == text_of(3.0) == text_of("3") == "3"
    assert text_of(2.5) == "2.5"


def test_the_published_json_schema_is_up_to_date():
    published = Path(__file__).parents[1] / "docs" / "schema.json"
    assert json.loads(published.read_text()) == Schema.model_json_schema()


class TestListsInFiles:
    HEAD = "sfumato: 1\nname: t\ncolumns:\n  - {name: zip, type: category, values: "

    def load(self, folder, asked: str) -> Schema:
        (folder / "s.yaml").write_text(f"{self.HEAD}{asked}}}\n")
        return Schema.load(folder / "s.yaml")

    def test_a_column_of_a_csv_file(self, tmp_path):
        (tmp_path / "zips.csv").write_text('\ufeffzip,town\n01001,"Agawam, MA"\n01002,Amherst\n01002,again\n')
        schema = self.load(tmp_path, "{file: zips.csv, column: zip}")
        assert schema["zip"].values == ("01001", "01002")
        assert Schema.from_yaml(schema.to_yaml()) == schema

    def test_the_lines_of_a_text(self, tmp_path):
        (tmp_path / "zips.txt").write_text("01001\n\n 01002 \n")
        assert self.load(tmp_path, "{file: zips.txt}")["zip"].values == ("01001", "01002")

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ("{file: nowhere.csv}", "nowhere.csv cannot be read"),
            ("{file: zips.csv, column: code}", "has no column 'code'; it has zip, town"),
            ("{column: zip}", "say {file: NAME.csv, column: NAME}"),
            ("{file: 3}", "say {file: NAME.csv, column: NAME}"),
            ("{file: empty.txt}", "values"),
        ],
    )
    def test_what_is_no_list_is_refused(self, tmp_path, asked, message):
        (tmp_path / "zips.csv").write_text("zip,town\n01001,Agawam\n")
        (tmp_path / "empty.txt").write_text("\n")
        with pytest.raises(SchemaError, match=re.escape(message)):
            self.load(tmp_path, asked)
