"""The forecast: at each place of the slider the words of a plan with that epsilon."""

import json
import re
import shutil

import pytest

import sfumato
from sfumato.artefact.verdict import judge
from sfumato.demo import FAMILY, FAMILY_SCHEMA
from sfumato.trusted.schema import Schema
from tests.studio.conftest import YAML


def positions(page: str):
    return json.loads(re.search(r'id="positions">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize("rows", [100, 5000])
def test_words_follow_the_slider(browser, rows):
    table = browser.choose()
    browser.describe(table)
    page = browser.post("t", table, "plan", data={"rows": str(rows), "epsilon": "20"}).text
    told = positions(page)
    assert told["epsilons"][-1] == 20  # beyond the slider's own places
    for epsilon, words in zip(told["epsilons"], told["words"], strict=True):
        made = sfumato.plan(Schema.from_yaml(YAML), rows=rows, epsilon=epsilon, delta=1e-6)
        verdict = judge(made.quality)
        assert words == {
            "headline": verdict.headline,
            "sentence": made.risk_sentence,
            "lists": {
                "good": list(verdict.good_for),
                "bad": list(verdict.not_for),
                "gains": list(made.risk_words),
                "warnings": list(made.warnings),
            },
        }
    assert "promises next to nothing" in page.partition('id="positions"')[0]
    assert len({words["headline"] for words in told["words"]}) > 1


def test_words_of_a_family_follow_too(browser):
    shutil.copytree(FAMILY, browser.studio.folder / "hospital")
    table = browser.choose("hospital", family="on")
    browser.describe(table, FAMILY_SCHEMA.read_text())
    told = positions(browser.post("t", table, "plan", data={"rows": "2000", "epsilon": "1"}).text)
    for epsilon, words in zip(told["epsilons"], told["words"], strict=True):
        made = sfumato.plan(FAMILY_SCHEMA, rows=2000, epsilon=epsilon, delta=1e-6)
        assert words["lists"]["gains"] == list(made.risk_words)
        assert words["lists"]["warnings"] == list(made.warnings)
        assert words["sentence"] == made.risk_sentence
