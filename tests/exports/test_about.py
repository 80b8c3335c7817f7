"""What a custodian says is checked: every error names line, key and cure."""

import datetime as dt

import pytest
import yaml

from sfumato.artefact.about import About, about_template, load_about, parse_about
from sfumato.errors import RequestError

GOOD = "custodian: A\npurpose: B\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD + "licence: MIT",
            r"about.yaml, line 3, licence: unknown key \(did you mean 'license'\?\); remove it or use",
        ),
        ("custodian: A", r"about.yaml, purpose: is required and not there; add it: what the release is meant"),
        (
            GOOD + "review: next year",
            r"line 3, review: 'next year' is no date; write year, month and day, such as 2026-01-31",
        ),
        (GOOD + "published: 2026-13-01", r"line 3|is not YAML"),
        (GOOD + "published: '2026-13-01'", r"line 3, published: '2026-13-01' is no date"),
        (GOOD + "url: javascript:alert(1)", r"line 3, url: 'javascript:alert\(1\)' is no address; begin with http"),
        (
            GOOD + "sector: Hospitals",
            r"line 3, sector: 'Hospitals' is not allowed here; use 'Technology', 'Healthcare'",
        ),
        (GOOD + "contact: 12", r"line 3, contact: 12 is no text; put it in quotes"),
        (GOOD + "contact: ''", r"line 3, contact: is empty; say it, or leave the key out"),
        (GOOD + "purpose: C", r"line 3: key 'purpose' stands twice; keep one"),
        ("- custodian", r"about.yaml: holds no keys; write `custodian"),
        ("", r"about.yaml: holds no keys"),
        ("{", r"about.yaml: is not YAML"),
        ("&a [*a]: 1", r"about.yaml"),
        (GOOD + "contact: &a {b: *a}", r"line 3: an alias stands inside of what it names"),
        (GOOD + "contact: " + "[" * 3_000, r"about.yaml: is not YAML"),
        (GOOD + "contact: " + 6_000 * "x", r"line 3, contact: String should have at most 5000"),
    ],
)
def test_errors_name_line_key_and_cure(text, message):
    with pytest.raises(RequestError, match=message):
        parse_about(text, "about.yaml")


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(RequestError) as caught:
        parse_about("custodain: A\nreview: soon\n", "a")
    assert len(str(caught.value).splitlines()) == 4


def test_a_good_file_is_read(tmp_path):
    (tmp_path / "a.yaml").write_text(GOOD + "review: 2028-02-29\njustification: |\n  one\n  two\n", encoding="utf-8")
    about = load_about(tmp_path / "a.yaml")
    assert about.review == dt.date(2028, 2, 29)
    assert about.justification == "one\ntwo"


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_names_the_cure(tmp_path, content):
    if content is not None:
        (tmp_path / "a.yaml").write_bytes(content)
    with pytest.raises(RequestError, match=r"cannot be read as a text file .*; check the path, or write one with"):
        load_about(tmp_path / "a.yaml")


def test_the_template_names_every_key_and_is_good_once_filled_in():
    text = about_template().replace('"..."', '"words"')
    assert parse_about(text, "t").custodian == "words"
    whole = "\n".join(line.removeprefix("# ") for line in text.splitlines()[1:])
    assert set(yaml.safe_load(whole)) == set(About.model_fields)
    parse_about(whole, "t")
