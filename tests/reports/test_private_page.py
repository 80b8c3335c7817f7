"""The custodian's page: every kind of column, nothing cut, a banner that covers nothing."""

import re
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.evaluation import evaluate
from sfumato.evaluation.evaluation import NOTICE
from sfumato.evaluation.training import Group
from sfumato.reports.private import private_report
from sfumato.reports.private_charts import groups_chart
from sfumato.trusted.schema import Schema
from tests.conftest import MIXED, make_table

LONG = "how often the person was seen by anyone on the ward during the whole stay, nights included"


@pytest.fixture(scope="module")
def page():
    schema = Schema.from_yaml(MIXED)
    release = sfumato.release(make_table(800), schema, epsilon=4, ledger=None, types="declared", seed=1)
    found = evaluate(release, make_table(800), make_table(400, seed=1), rows=500)
    return private_report(found, release), found


def test_every_column_is_drawn_over_the_real_one(page):
    text, found = page
    for name in found.columns:
        assert f"<h3>{name}" in text
        assert f"Distribution of {name}</title>" in text or f"Shares of the values of {name}</title>" in text
    assert text.count('<section class="card') == len(found.columns) == 8
    assert text.count("<td>median</td>") == 5  # age, wage, debt, born, seen
    assert "real rows" in text[text.index("Real against synthetic") :]


def test_drawings_are_well_formed_and_stay_inside(page):
    for drawing in re.findall(r"<svg.*?</svg>", page[0], re.DOTALL):
        tree = ElementTree.fromstring(drawing)
        _, _, width, height = (float(end) for end in tree.get("viewBox").split())
        for mark in tree.iter():
            if mark.tag.endswith("rect"):
                x, y, w, h = (float(mark.get(key)) for key in ("x", "y", "width", "height"))
                assert -0.1 <= x <= x + w <= width + 0.1
                assert -0.1 <= y <= y + h <= height + 0.1
            if mark.tag.endswith("circle"):
                assert 0 <= float(mark.get("cx")) <= width
                assert 0 <= float(mark.get("cy")) <= height


def test_the_notice_heads_every_sheet_and_floats_over_none(page):
    text = page[0]
    assert text.count(NOTICE) == 3
    assert "position: fixed" not in text
    head = text[text.index("<body>") : text.index("<main>")]
    assert head.index("<thead>") < head.index(NOTICE) < head.index("</thead>")
    assert "display: table-header-group" in text


def test_nothing_comes_from_elsewhere(page):
    assert "<script" not in page[0]
    assert "<link" not in page[0]
    assert "url(" not in page[0]


def test_long_names_are_never_cut():
    names = {"x": LONG, "y": f"{LONG} (second)"}
    values = [f"{LONG} value {n}" for n in range(30)]
    columns = [
        {"name": names["x"], "type": "integer", "bounds": [0, 50]},
        {"name": names["y"], "type": "category", "values": values},
        {"name": "ill", "type": "boolean"},
    ]
    schema = Schema.from_dict({"sfumato": 1, "name": "long", "columns": columns, "target": "ill"})
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            names["x"]: rng.integers(0, 50, 400),
            names["y"]: np.array(values)[np.minimum(rng.integers(0, 30, 400), rng.integers(0, 30, 400))],
            "ill": rng.random(400) < 0.5,
        }
    )
    release = sfumato.release(table, schema, epsilon=4, ledger=None, types="declared", seed=1)
    text = private_report(evaluate(release, table, table, rows=200), release)
    assert "…" not in text
    assert text.count(f"<h3>{names['y']}") == 1
    parts = [part for part in re.findall(r"<svg.*?</svg>", text) if "Shares of the values of how often" in part]
    assert len(parts) > 1
    assert all(float(re.search(r'viewBox="0 0 420 ([\d.]+)"', part)[1]) < 800 for part in parts)  # fits on a sheet
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", "".join(parts)))
    assert words.count("how often the person was") == 23
    assert "7 others" in words


def test_many_sub_groups_are_drawn_in_parts_that_fit_on_a_sheet():
    groups = [Group("column", f"{LONG} {n}", 60, 0.1, 0.2, 0.01) for n in range(40)]
    parts = re.findall(r"<svg.*?</svg>", groups_chart(groups))
    assert len(parts) > 1
    assert all(float(re.search(r'viewBox="0 0 430 ([\d.]+)"', part)[1]) < 600 for part in parts)
    assert sum(part.count("<circle") for part in parts) == 80


def test_a_table_of_one_column_has_a_page():
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [0, 1]}]}")
    table = pa.table({"x": np.full(200, 0.5)})
    release = sfumato.release(table, schema, epsilon=4, ledger=None, types="declared", seed=1)
    text = private_report(evaluate(release, table, table.slice(0, 100)), release)
    assert "Every two columns" not in text
    assert "<h3>x" in text
