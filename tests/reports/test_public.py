import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.about import About
from sfumato.artefact.questions import example_questions, quality_of
from sfumato.reports.public import public_report
from tests.conftest import MIXED, make_table


class Balanced(HTMLParser):
    """Refuses tags that are not closed in order, and anything that would be fetched from elsewhere."""

    VOID = ("meta", "br", "rect", "line", "circle")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        for name, value in attrs:
            assert not (name in ("src", "href") and value), value
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def test_a_page_is_whole_and_stands_alone(schema):
    page = public_report(sfumato.release(make_table(2_000), schema, epsilon=1.0, ledger=None, types="declared"))
    seen = parsed(page).seen
    assert seen.count("svg") == 1 + 1 + 8 + 1  # risk, budget, columns, dependences
    assert "script" not in seen
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)
    for name in schema.by_name:
        assert f"<h3>{name}" in page
    assert "Whether any one record was in the table or not" in page
    assert "Nobody who reads this release can tell with confidence whether a given record is in the table." in page
    assert "What is not protected" in page
    assert page.index("good for") < page.index("Every column")
    assert page.index("What somebody could learn") < page.index("Every column")
    assert "What the custodian says" not in page


def test_a_seeded_release_says_loudly_that_it_is_not_private(schema):
    page = public_report(sfumato.release(make_table(500), schema, epsilon=1.0, ledger=None, types="declared", seed=1))
    assert page.count('class="warning"') == 2
    assert "NOT PRIVATE" in page
    assert "Nobody who reads" not in page
    assert "What an attacker" not in page


def test_a_budget_that_protects_nobody_is_not_called_a_protection(schema):
    release = sfumato.release(make_table(500), schema, epsilon=50.0, ledger=None, types="declared")
    page = public_report(release)
    assert "Nobody who reads" not in page
    assert "At this budget somebody may tell whether a given record is in the table: up to 99." in page


@pytest.mark.parametrize(
    ("adjacency", "unit", "words"),
    [
        ("add-remove", "", "whether a given record is in the table"),
        ("add-remove", "unit: {column: who, records: 2},", "whether a given person is in the table"),
        ("replace", "", "which of two contents a record has"),
        ("label", "", "which y a given record has; all other columns are public"),
    ],
)
def test_promise_and_risk_speak_of_what_is_protected(adjacency, unit, words):
    schema = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: p, target: y, UNIT columns: [{name: x, type: boolean}, {name: y, type: boolean}]}".replace(
            "UNIT", unit
        )
    )
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.random(900) < 0.5, "y": rng.random(900) < 0.5, "who": np.arange(900) // 2})
    page = public_report(
        sfumato.release(table, schema, epsilon=1.0, adjacency=adjacency, ledger=None, types="declared")
    )
    assert words in page
    assert ("participants found" in page) == (adjacency == "add-remove")


def test_what_the_custodian_says_is_shown_and_cannot_write_html(schema):
    about = About(
        custodian="<b>Clinic</b>",
        purpose="x",
        contact="<script>alert(1)</script>",
        url="https://example.org/?a=javascript:1",
    )
    page = public_report(sfumato.release(make_table(500), schema, epsilon=1.0, ledger=None, types="declared"), about)
    assert "script" not in parsed(page).seen
    assert "a" not in parsed(page).seen  # no links at all
    assert "&lt;b&gt;Clinic" in page
    assert "https://example.org/?a=javascript:1" in page


def test_questions_have_answers_within_their_intervals(schema):
    release = sfumato.release(make_table(4_000), schema, epsilon=2.0, ledger=None, types="declared")
    asked = example_questions(release, quality_of(release))
    assert {one.call.split("(")[0] for one in asked} == {
        "release.size", "release.marginal", "release.mean", "release.predict_proba"
    }  # fmt: skip
    shares = [one for one in asked if one.call.startswith("release.marginal")]
    for one in shares:
        low, answer, high = (float(number.rstrip("%")) for number in (one.low, one.answer, one.high))
        assert low <= answer <= high
    assert eval(asked[0].call, {"release": release}) == release.size
    means = [one for one in asked if "mean" in one.call]
    assert means
    for one in means:
        assert eval(one.call, {"release": release}).mean is not None


@pytest.mark.parametrize("target", ["ill", "age", "member", None])
@pytest.mark.parametrize("rows", [0, 1, 3_000])
def test_any_release_has_a_page(target, rows):
    text = MIXED.replace("target: ill", f"target: {target}" if target else "")
    parsed(
        public_report(
            sfumato.release(
                make_table(rows), sfumato.Schema.from_yaml(text), epsilon=0.5, ledger=None, types="declared"
            )
        )
    )


def test_a_conditioned_release_has_a_page(schema):
    release = sfumato.release(make_table(2_000), schema, epsilon=1.0, ledger=None, types="declared")
    parsed(public_report(release.condition({"age": (40, 60), "debt": None, "job": "cook"})))


def test_names_and_values_cannot_write_html():
    evil = "<script>alert(1)</script>"
    schema = sfumato.Schema.from_dict(
        {
            "sfumato": 1,
            "name": evil,
            "target": evil + "t",
            "columns": [
                {"name": evil, "type": "category", "values": [evil, "&<>\"'"]},
                {"name": evil + "t", "type": "boolean"},
            ],
        }
    )
    page = public_report(
        sfumato.release(
            pa.table({evil: [evil], evil + "t": [True]}), schema, epsilon=1.0, ledger=None, types="declared"
        )
    )
    assert "script" not in parsed(page).seen
    assert "<script>" not in page


def test_long_lists_and_many_columns_are_kept_readable():
    schema = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: wide, target: y, columns: [{name: 'x_{0..59}', type: boolean}, "
        "{name: c, type: category, values: [" + ", ".join(f"v{i}" for i in range(40)) + "]}, {name: y, type: boolean}]}"
    )
    rng = np.random.default_rng(0)
    y = rng.random(3_000) < 0.5
    columns = {f"x_{i}": (y if i == 7 else rng.random(3_000) < 0.5) for i in range(60)}
    table = pa.table({**columns, "c": [f"v{i % 40}" for i in range(3_000)], "y": y})
    page = public_report(sfumato.release(table, schema, epsilon=5.0, ledger=None, types="declared"))
    assert "16 others" in page
    assert "The 30 columns that tell most are drawn." in page
    matrix = page[page.index("How columns depend") :]
    assert "x_7 and y" in matrix
    assert "1 of 435 pairs stand above the noise" in matrix
    untargeted = schema.model_copy(update={"target": None})
    parsed(public_report(sfumato.release(table, untargeted, epsilon=5.0, ledger=None, types="declared")))


def test_dependence_goes_from_nothing_to_all():
    schema = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: d, target: y, columns: ["
        "{name: same, type: boolean}, {name: other, type: boolean}, {name: y, type: boolean}]}"
    )
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.5
    table = pa.table({"same": y, "other": rng.random(20_000) < 0.5, "y": y})
    model = sfumato.release(table, schema, epsilon=5.0, ledger=None, types="declared").model
    assert model.dependence("same", "y") > 0.8
    assert model.dependence("other", "y") < 0.05
    assert model.dependence("y", "same") == pytest.approx(model.dependence("same", "y"))


def test_a_page_of_tables_needs_no_scipy(schema, tmp_path):
    """As a receiver has it: numpy, pyarrow, pydantic, yaml and jinja2."""
    sfumato.release(make_table(500), schema, epsilon=1.0, ledger=None, types="declared").save(tmp_path / "b.sfumato")
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "import sfumato\nfrom sfumato.reports.public import public_report\nfrom sfumato.exports.card import data_card\n"
        "release = sfumato.open(sys.argv[1])\npublic_report(release)\ndata_card(release)\n"
        "print([name for name in sys.modules if name in ('sfumato.api', 'sfumato.trusted.curator')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "b.sfumato")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_number_of_records_lies_within_its_interval():
    schema = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: n, columns: [{name: x, type: integer, bounds: [0, 30]}, {name: y, type: boolean}]}"
    )
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.integers(0, 31, 900), "y": rng.random(900) < 0.5})
    inside = []
    for _ in range(8):
        release = sfumato.release(table, schema, epsilon=1.0, ledger=None, types="declared")
        asked = example_questions(release, quality_of(release))[0]
        inside.append(int(asked.low.replace(",", "")) <= 900 <= int(asked.high.replace(",", "")))
        assert 10 < int(asked.high.replace(",", "")) - int(asked.low.replace(",", "")) < 900
    assert sum(inside) >= 6
