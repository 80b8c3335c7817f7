import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import sfumato
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
    assert seen.count("svg") == 1 + 8 + 1
    assert "script" not in seen
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)
    for name in schema.by_name:
        assert f"<h3>{name}" in page
    assert "Whether any one record was in the table or not" in page
    assert "What is not protected" in page


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
    assert "31 others" in page
    assert "The 30 columns that tell most are drawn." in page
    matrix = page[page.index("How columns depend") :]
    assert "x_7<" in matrix
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
