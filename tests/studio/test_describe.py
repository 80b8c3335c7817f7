"""The description as a form, as YAML and from a code book: the real rules, at the right field."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise

import pytest

from sfumato.studio.forms import TYPES, read_form, show_column, show_constraints, write_content
from sfumato.studio.presets import PRESETS
from sfumato.studio.problems import check_draft, parse_content
from sfumato.trusted.schema import Schema
from tests.conftest import MIXED
from tests.studio.conftest import YAML

MORE = """
sfumato: 1
name: more
columns:
  - {name: fee, type: number, bounds: [0, 500], decimals: 2, atoms: [0, 20], missing: true, otherwise: 20}
  - {name: loan, type: integer, bounds: [0, 90000], step: 1000, scale: log}
  - {name: "hour_{00..23}", type: number, bounds: [0, 10.5]}
  - {name: "pixel_{0..3}", type: integer, bounds: [0, 255], image: [2, 2]}
  - {name: grade, type: category, values: [1, 2, 3], otherwise: 2}
  - {name: code, type: category, values: ["007", "010"]}
  - {name: zip, type: category, values: discover, otherwise: rest}
  - {name: tall, type: number, bounds: estimate}
  - {name: ja, type: boolean, words: [Nein, Ja], otherwise: true}
  - {name: a, type: date, bounds: [2020-01-01, 2021-12-31]}
  - {name: b, type: date, bounds: [2020-01-01, 2021-12-31]}
target: grade
unit: {column: patient, records: 3}
leave_out: [notes]
constraints:
  - b >= a
  - {forbid: {grade: 1, ja: true}}
types: {loan: int32}
text: {separator: ";", decimal: ",", units: [EUR]}
"""

HEAPS = "a: &a [x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefghij")
)


def form_of(content):
    form = {"name": content["name"], "target": content.get("target", "")}
    for place, column in enumerate(content["columns"]):
        form |= {f"c{place}.{key}": text for key, text in show_column(column).items()}
    unit = content.get("unit", {})
    form |= {"unit.column": unit.get("column", ""), "unit.records": str(unit.get("records", ""))}
    form |= {f"text.{key}": str(value) for key, value in content.get("text", {}).items() if key != "units"}
    return form | {"constraints": show_constraints(content)}


@pytest.mark.parametrize("text", [MIXED, MORE, YAML])
def test_a_form_that_is_sent_back_says_the_same(text):
    content = parse_content(text)
    again = write_content(read_form(form_of(content), content, []))
    assert Schema.from_yaml(again) == Schema.from_yaml(text)
    assert write_content(read_form(form_of(parse_content(again)), parse_content(again), [])) == again


@pytest.mark.parametrize("key", PRESETS)
def test_a_preset_is_valid(key, tmp_path):
    content = parse_content("{sfumato: 1, name: x, columns: [{name: a, type: FILL, missing: true}]}")
    text = write_content(read_form({"preset": f"0:{key}"}, content, []))
    schema = check_draft(text, tmp_path).schema
    assert schema is not None
    assert schema["a"].missing is False  # the form said so
    assert schema["a"].type in TYPES


def test_a_fresh_draft_says_what_is_open(browser):
    table = browser.choose()
    page = browser.get("t", table, "describe").text
    assert "5 places" not in page
    assert "choose a type" in page
    assert "patient_id" in page
    assert "leave_out: [patient_id, notes]" in page


def test_live_answers_name_the_field(browser):
    table = browser.choose("stays.parquet")
    page = browser.get("t", table, "describe").text
    fields = {"version": browser.hidden(page, "version"), "name": "stays", "target": "nobody"}
    fields |= {"c0.type": "integer", "c0.low": "110", "c0.high": "0"}
    fields |= {"c1.type": "category", "c1.values": "surgery\nsurgery"}
    fields |= {"c2.type": "number", "c2.low": "0", "c2.high": "many"}
    fields |= {"c3.type": "date", "c3.low": "1900-01-01", "c3.high": "1999-02-31"}
    told = browser.post("t", table, "describe", "live", data=fields).json()
    assert "write the lowest value first" in told["troubles"]["c0.bounds"][0]
    assert "listed twice" in told["troubles"]["c1.values"][0]
    assert "is not a number" in told["troubles"]["c2.bounds"][0]
    assert "c3.bounds" in told["troubles"]
    assert not told["complete"]
    fields |= {
        "c0.low": "0",
        "c0.high": "110",
        "c1.values": "surgery\nmaternity",
        "c2.high": "9",
        "c3.high": "1999-12-31",
    }
    told = browser.post("t", table, "describe", "live", data=fields | {"version": told["version"]}).json()
    assert list(told["troubles"]) == ["target"]
    told = browser.post(
        "t", table, "describe", "live", data=fields | {"version": told["version"], "target": "ward"}
    ).json()
    assert told["complete"]
    assert Schema.from_yaml(told["yaml"]).target == "ward"
    assert told["states"][0] == {"kind": "fine", "words": "integer, 0 to 110"}
    assert browser.get("t", table, "schema.yaml").text == told["yaml"]  # it is kept


def test_columns_move_between_described_and_left_out(browser):
    table = browser.choose()
    version = browser.hidden(browser.get("t", table, "describe").text, "version")
    browser.post("t", table, "describe", data={"version": version, "leave": "age", "name": "stays"})
    assert "leave_out: [patient_id, notes, age]" in browser.get("t", table, "schema.yaml").text
    version = browser.hidden(browser.get("t", table, "describe").text, "version")
    browser.post("t", table, "describe", data={"version": version, "describe": "patient_id", "name": "stays"})
    assert "{name: patient_id, type: FILL}" in browser.get("t", table, "schema.yaml").text


def test_the_column_of_the_person_is_read_and_neither_left_out_nor_undecided(browser):
    table = browser.choose()
    browser.describe(table)
    fields = {"name": "stays", "target": "ward", "unit.column": "patient_id", "unit.records": "3"}
    content = parse_content(browser.get("t", table, "schema.yaml").text)
    for place, column in enumerate(content["columns"]):
        fields |= {f"c{place}.{key}": text for key, text in show_column(column).items()}
    version = browser.hidden(browser.get("t", table, "describe").text, "version")
    page = browser.post("t", table, "describe", data=fields | {"version": version, "save": "on"}).text
    assert "complete and valid" in page
    assert "Undecided" not in page
    schema = Schema.from_yaml(browser.get("t", table, "schema.yaml").text)
    assert (schema.unit.column, schema.unit.records) == ("patient_id", 3)
    assert schema.leave_out == ("born", "notes")
    version = browser.hidden(page, "version")
    browser.post("t", table, "describe", data=fields | {"version": version, "unit.column": ""})
    schema = Schema.from_yaml(browser.get("t", table, "schema.yaml").text)
    assert schema.unit is None
    assert "patient_id" in schema.leave_out


def test_another_tab_overwrites_nothing(browser):
    table = browser.choose()
    old = browser.hidden(browser.get("t", table, "describe").text, "version")
    browser.describe(table)
    for parts, fields in ((("describe",), {}), (("describe", "live"), {}), (("describe", "yaml"), {"yaml": "{}"})):
        answer = browser.post("t", table, *parts, data={"version": old, "name": "other", **fields})
        assert answer.status_code in (400, 409)
        assert "changed elsewhere" in answer.text
    assert "name: stays" in browser.get("t", table, "schema.yaml").text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not YAML"),
        ("", "is empty or not a mapping"),
        ("[1]", "is empty or not a mapping"),
        ("a: !!python/object:os.system x", "is not YAML"),
        ("&a [*a]", "line 1: an alias stands inside of what it names"),
        ("x: &a {y: *a}", "line 1: an alias stands inside"),
        ("a: 1\na: 2", "line 2: key &#39;a&#39; stands twice"),
        ("x: 0x" + "f" * 5000, "more than 400 digits"),
        (HEAPS, "stand for more than a million things"),
    ],
)
def test_what_is_no_schema_is_not_kept(browser, text, words):
    table = browser.choose()
    before = browser.get("t", table, "schema.yaml").text
    version = browser.hidden(browser.get("t", table, "describe").text, "version")
    answer = browser.post("t", table, "describe", "yaml", data={"yaml": text, "version": version})
    assert answer.status_code == 400
    assert words in answer.text
    assert browser.get("t", table, "schema.yaml").text == before


@pytest.mark.parametrize(
    "text",
    [
        *("columns: 3", "sfumato: 9", "columns: [1, 2]", "tables: []", "columns: [{name: [a]}]"),
        *("columns: []\nleave_out: 7", "columns: []\nconstraints: 5", "columns: [{name: a, words: true}]"),
        *("columns: [{name: a, words: [1]}]", "columns: [{name: a, atoms: 5}]", 'columns: []\nname: "\\ud800"'),
    ],
)
def test_a_strange_draft_is_shown_as_yaml(browser, text):
    table = browser.choose()
    version = browser.hidden(browser.get("t", table, "describe").text, "version")
    page = browser.post("t", table, "describe", "yaml", data={"yaml": text, "version": version})
    assert page.status_code == 200
    assert "problem" in page.text
    for step in ("check", "plan", "release", "look"):
        assert browser.get("t", table, step).status_code in (200, 409)
    version = browser.hidden(page.text, "version")
    answer = browser.post("t", table, "describe", data={"version": version, "preset": "²:age", "name": "x"})
    assert answer.status_code in (200, 409)


def test_of_several_tabs_at_once_one_is_kept(browser):
    table = browser.choose()
    version = browser.hidden(browser.get("t", table, "describe").text, "version")

    def save(tab: int) -> int:
        fields = {"version": version, "yaml": YAML.replace("stays", f"stays{tab}")}
        return browser.post("t", table, "describe", "yaml", data=fields, follow=False).status_code

    with ThreadPoolExecutor(8) as tabs:
        assert sorted(tabs.map(save, range(8))) == [303] + 7 * [400]


def test_a_code_book_completes_the_draft(browser):
    table = browser.choose()
    book = "name,type,values,bounds\nage,integer,,0..110\nward,category,surgery|maternity,\nheight,number,,0..3\n"
    page = browser.post("t", table, "describe", "book", files={"file": ("book.csv", book)})
    assert "book.csv also describes height" in page.text
    assert "{name: age, type: integer, bounds: [0, 110]}" in browser.get("t", table, "schema.yaml").text
    page = browser.post("t", table, "describe", "book", files={"file": ("book.csv", "type\ninteger\n")})
    assert page.status_code == 400
    assert "book.csv, line 1" in page.text
    assert str(browser.studio.state) not in page.text.split("<main")[1].split("</main")[0]
    assert browser.post("t", table, "describe", "book").status_code == 400


def test_a_list_is_uploaded_and_named(browser):
    table = browser.choose()
    browser.post("t", table, "describe", "list", files={"file": ("wards.txt", "surgery\nmaternity\n")})
    browser.describe(table, YAML.replace("[surgery, maternity]", "{file: wards.txt}"))
    page = browser.get("t", table, "describe").text
    assert "complete and valid" in page
    assert "<option selected>wards.txt</option>" in page
    for name in ("../up.csv", ".hidden.csv", "a.exe", "x" * 99 + ".csv"):
        answer = browser.post("t", table, "describe", "list", files={"file": (name, "a")})
        assert answer.status_code in (200, 400)
    assert sorted(path.name for path in (browser.studio.state / "tables" / table / "lists").iterdir()) in (
        ["wards.txt"],
        ["up.csv", "wards.txt"],  # the name without the folder
    )


@pytest.mark.parametrize(
    ("location", "table", "words"),
    [
        ("../elsewhere.csv", "", "is not below"),
        ("/etc/passwd", "", "is not below"),
        ("nothing.csv", "", "does not exist"),
        ("stays.txt", "", "does not exist"),
        ("", "", "nothing is named"),
        ("x.duckdb", "", "several tables"),
        ("postgresql://ada:secret@host/db", "t", "holds a password"),
        ("s3://bucket/x?secret_key=1", "", "password or key"),
        ("file://{outside}", "", "of this kind"),
        ("local://{outside}", "", "of this kind"),
        ("FILE://{outside}", "", "of this kind"),
        ("https://127.0.0.1:1/x.csv", "", "of this kind"),
        ("x#/../../elsewhere.csv", "", "is not below"),
        ("x.xlsx#/../../elsewhere.csv", "", "is not below"),
        ("linked", "", "holds a link"),
        ("around", "", "holds a link"),
        ("jdbc:postgresql://host password=x", "", ""),
        ("a\0b", "", "no path"),
    ],
)
def test_a_location_that_is_none(browser, tmp_path, location, table, words):
    for name in ("x#", "x.xlsx#", "linked", "around"):
        (browser.studio.folder / name).mkdir()
    (browser.studio.folder / "linked" / "a.csv").symlink_to(tmp_path / "elsewhere.csv")
    (browser.studio.folder / "around" / "a").symlink_to(browser.studio.folder / "around")
    location = location.format(outside=tmp_path / "elsewhere.csv")
    answer = browser.post("", data={"location": location, "table": table})
    assert answer.status_code == 400
    assert words in answer.text.lower()
    assert "secret_column" not in answer.text
    assert not list((browser.studio.state / "tables").iterdir())


@pytest.mark.parametrize("name", ["clinic.sqlite", "clinic.duckdb"])
def test_a_table_of_a_database_is_chosen_by_name(browser, name):
    path = browser.studio.folder / name
    if name.endswith(".duckdb"):
        duckdb = pytest.importorskip("duckdb", reason="pip install 'sfumato[sql]'")
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table stays (age integer, ward text)")
            connection.execute("insert into stays values (7654321, 'zx81canary')")
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("create table stays (age integer, ward text)")
            connection.execute("insert into stays values (7654321, 'zx81canary')")
            connection.commit()
    page = browser._keep(browser.client.get(browser.studio.path("") + f"?database={name}")).text
    assert 'name="table" value="stays"' in page
    table = browser.choose(name, table="stays")
    assert "name: age" in browser.get("t", table, "schema.yaml").text
    assert "zx81canary" not in "".join(browser.shown)
    (browser.studio.folder / f"no{name}").write_text("zx81canary")
    page = browser._keep(browser.client.get(browser.studio.path("") + f"?database=no{name}")).text
    assert "cannot be opened as a database" in page


def test_the_same_table_is_one_draft(browser):
    table = browser.choose()
    browser.describe(table)
    assert browser.choose() == table
    assert browser.choose("stays.parquet") != table
    (browser.studio.folder / "stays.csv").write_text("age,other\n1,2\n")
    assert browser.choose() != table  # other columns


def test_names_of_columns_are_text(browser):
    """A header is the only thing of a table that a page shows early; it may be anybody's words."""
    hostile = [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</script>",
        "{{ 7*7 }}",
        "'; drop",
        "a: b",
    ]
    line = ",".join('"' + name.replace('"', '""') + '"' for name in hostile)
    (browser.studio.folder / "hostile.csv").write_text(line + "\n1,2,3,4,5,6\n")
    table = browser.choose("hostile.csv", anyway="on")
    page = browser.get("t", table, "describe").text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "{{ 7*7 }}" in page
    assert page.count("<script") == 2
    content = parse_content(browser.get("t", table, "schema.yaml").text)
    assert [column["name"] for column in content["columns"]] == hostile


def test_links_out_of_the_folder_are_not_followed(browser, tmp_path):
    (browser.studio.folder / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert "link.csv" not in browser.get("").text
    assert browser.post("", data={"location": "link.csv"}).status_code == 400
    family = browser.studio.folder / "family"
    family.mkdir()
    (family / "a.csv").write_text("a_id,x\n1,2\n")
    (family / "b.csv").symlink_to(tmp_path / "elsewhere.csv")
    answer = browser.post("", data={"location": "family", "family": "on"})
    assert answer.status_code == 400
    assert "secret_column" not in answer.text


def test_strange_names_of_files_are_in_nobodys_way(browser):
    (browser.studio.folder / "round.csv").symlink_to("round.csv")
    (browser.studio.folder / os.fsdecode(b"b\xff.csv")).write_text("a\n1\n")
    page = browser.get("")
    assert page.status_code == 200
    assert "stays.csv" in page.text
    assert "round.csv" not in page.text


def test_a_family_is_described_as_yaml_and_planned(browser, jobs_here):
    import shutil

    from sfumato.demo import FAMILY, FAMILY_SCHEMA

    shutil.copytree(FAMILY, browser.studio.folder / "hospital")
    table = browser.choose("hospital", family="on")
    assert "A family of tables is described as YAML" in browser.get("t", table, "describe").text
    browser.describe(table, FAMILY_SCHEMA.read_text())
    browser.post("t", table, "plan", data={"rows": "2000", "epsilon": "1"}, follow=False)
    page = browser.get("t", table, "plan").text
    assert "persons" in page
    assert "<svg" in page
    assert "one person, all of their rows in all tables" in browser.get("t", table, "release").text
    assert "columns are taken as they are" in browser.wait(browser.ask("t", table, "check")).text
