"""Both pages of a family: whole, standing alone, with the promise per person and both weightings of rows."""

import dataclasses
import re
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.about import About
from sfumato.evaluation.families.evaluation import NOTICE, RULES, evaluate_family
from sfumato.reports.private_family import private_family_report
from sfumato.reports.public_family import public_family_report
from sfumato.trusted.schema import FamilySchema
from tests.families.hospital import broken_tables, schema, tables
from tests.families.making import few_bins
from tests.reports.test_public import parsed

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def public(proven) -> str:
    return public_family_report(proven)


@pytest.fixture(scope="module")
def evaluation(hospital):
    return evaluate_family(hospital, broken_tables(400), tables(200, 6), persons=300)


@pytest.fixture(scope="module")
def private(evaluation, hospital) -> str:
    return private_family_report(evaluation, hospital)


@pytest.mark.parametrize("page", ["public", "private"])
def test_a_page_is_whole_and_stands_alone(page, request):
    text = request.getfixturevalue(page)
    assert text.startswith("<!doctype html>")
    assert {"script", "link", "img", "iframe", "a"}.isdisjoint(parsed(text).seen)
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", text)
    assert "url(" not in text


@pytest.mark.parametrize("page", ["public", "private"])
def test_drawings_are_well_formed_and_stay_inside(page, request):
    drawings = re.findall(r"<svg.*?</svg>", request.getfixturevalue(page), re.DOTALL)
    assert len(drawings) >= 2
    for drawing in drawings:
        tree = ElementTree.fromstring(drawing)
        _, _, width, height = (float(end) for end in tree.get("viewBox").split())
        for mark in tree.iter():
            if mark.tag.endswith("rect"):
                x, y, w, h = (float(mark.get(key)) for key in ("x", "y", "width", "height"))
                assert -0.1 <= x <= x + w <= width + 0.1
                assert -0.1 <= y <= y + h <= height + 0.1


def test_the_public_page_says_the_promise_per_person(public, proven):
    assert proven.statement.promise in public
    assert "whether a given person is in the database" in public
    assert "differential privacy for one person, all of their rows in all tables" in public
    assert "NOT PRIVATE" not in public


def test_the_public_page_has_both_weightings_of_rows(public):
    assert "Mean of cost in stays, every row alike?" in public
    assert "Mean of cost in stays, every person alike?" in public
    assert "release[&#34;stays&#34;].mean(&#34;cost&#34;, by=&#34;person&#34;)" in public


def test_the_public_page_says_how_many_rows_count(public):
    assert "0 to 20 rows of each row of patients, in the order of admitted" in public
    assert "1 to 9 rows of each row of stays, in no order" in public
    assert "share one unit of weight" in public
    assert "are drawn by lot" in public


def test_the_public_page_shows_every_column_and_constraint(public):
    for name, table in schema().tables.items():
        assert f"<h2>{name}</h2>" in public
        for column in schema().schema_of(name).by_name:
            assert f"<h3>{column}" in public
        for one in table.constraints:
            assert f"{name}: {one}".replace(">", "&gt;") in public
    assert "stays.admitted &gt;= patients.born" in public
    assert "emergency (target)" in public


def test_questions_on_the_page_have_answers_within_their_intervals(public):
    rows = re.findall(r'<td class="words">(.*?)</td>' + r'<td class="n">(.*?)</td>' * 3, public)
    assert len(rows) > 8
    for words, *numbers in rows:
        if re.match(r"[\d-]{10}$", numbers[0]):
            answer, low, high = numbers  # dates
        else:
            answer, low, high = (float(one.replace(",", "").replace("−", "-")) for one in numbers)
        assert low <= answer <= high, words


def test_a_seeded_release_says_loudly_that_it_is_not_private(hospital):
    page = public_family_report(hospital)
    assert page.count('class="warning"') == 2
    assert "NOT PRIVATE" in page
    assert "Nobody who reads" not in page


def test_what_the_custodian_says_is_shown_and_cannot_write_html(proven):
    page = public_family_report(proven, About(custodian=EVIL, purpose="x", contact="y"))
    assert "script" not in parsed(page).seen
    assert "What the custodian says" in page


def test_names_and_values_cannot_write_html():
    columns = [{"name": EVIL, "type": "category", "values": [EVIL, "&<>\"'"]}]
    family = FamilySchema.from_dict(
        {
            "sfumato": 2,
            "name": EVIL,
            "tables": {
                "people": {"key": "id", "columns": columns},
                "stays": {"parent": "people", "rows": [0, 3], "columns": columns, "target": EVIL},
            },
        }
    )
    rows = {"people": {"id": [1, 2], EVIL: [EVIL, "&<>\"'"]}, "stays": {"id": [1, 1], EVIL: [EVIL, EVIL]}}
    frames = {name: pa.table(content) for name, content in rows.items()}
    with few_bins():
        made = sfumato.release(frames, family, epsilon=1.0, ledger=None, types="declared", seed=1)
        found = evaluate_family(made, frames, frames, persons=20)
    for page in (public_family_report(made), private_family_report(found, made), made._repr_html_()):
        assert "script" not in parsed(page).seen
        assert "<script>" not in page


def test_the_private_page_carries_its_notice(private):
    assert private.count(NOTICE) == 3
    head = private[private.index("<body>") : private.index("<main>")]
    assert head.index("<thead>") < head.index(NOTICE) < head.index("</thead>")
    assert "position: fixed" not in private


def test_the_private_page_says_topics_rules_and_rows_that_do_not_count(private, evaluation):
    assert evaluation.headline in private
    for finding in evaluation.findings:
        assert f"<dd>{finding.topic}</dd>" in private
    for words in ("rows above, by row", "rows above, by person", "Rows that do not fit together"):
        assert words in private
    assert "rows are beyond the most that the schema allows" in private
    assert all(rule in private for rule in RULES)


def test_histories_are_promised_where_there_are_persons_enough(proven):
    claim, refusal = "<li>what follows what, and learners on histories</li>", "with so few persons noise is larger"
    many = dataclasses.replace(proven.fitted, persons=dataclasses.replace(proven.fitted.persons, size=50_000.0))
    few = dataclasses.replace(proven.fitted, persons=dataclasses.replace(proven.fitted.persons, size=100.0))
    for fitted, there, absent in ((many, claim, refusal), (few, refusal, claim)):
        release = dataclasses.replace(proven, fitted=fitted)
        vars(release)["answering"] = proven.answering
        page = public_family_report(release)
        assert there in page
        assert absent not in page
