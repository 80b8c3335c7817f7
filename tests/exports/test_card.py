"""A data card: a header that hubs read, and text that people read."""

import re

import pytest
import yaml
from jsonschema import Draft7Validator

import sfumato
from sfumato.exports.card import card_header, data_card
from tests.conftest import make_table

NAMES = {"type": "array", "items": {"type": "string"}, "minItems": 1}
HEADER = Draft7Validator(
    {
        "type": "object",
        "required": ["pretty_name", "license", "size_categories", "tags"],
        "additionalProperties": False,
        "properties": {
            "pretty_name": {"type": "string"},
            "license": {"type": "string", "pattern": "^[a-z0-9.-]+$"},
            "license_name": {"type": "string", "pattern": "^[a-z0-9.-]+$"},
            "license_link": {"type": "string", "pattern": "^https?://"},
            "size_categories": {"type": "array", "items": {"pattern": "^(n[<>]|[0-9]+[KMB]<n<)[0-9]+[KMB]$"}},
            "task_categories": NAMES,
            "tags": NAMES,
            "source_datasets": NAMES,
        },
    }
)
"""The keys that dataset cards on hubs have, and their form."""


def test_the_header_has_the_form_that_hubs_read(release, about):
    for said in (None, about):
        header = yaml.safe_load(data_card(release, said).split("---\n")[1])
        assert [error.message for error in HEADER.iter_errors(header)] == []
    assert header["license"] == "cc-by-4.0"
    assert header["size_categories"] == ["1K<n<10K"]
    assert header["task_categories"] == ["tabular-classification"]


@pytest.mark.parametrize(
    ("license_", "expected"),
    [
        ("CC0-1.0", {"license": "cc0-1.0"}),
        ("Our own terms", {"license": "other", "license_name": "our-own-terms"}),
        (
            "https://example.org/terms",
            {
                "license": "other",
                "license_name": "https-example.org-terms",
                "license_link": "https://example.org/terms",
            },
        ),
    ],
)
def test_a_license_that_hubs_do_not_know_has_a_name(release, about, license_, expected):
    header = card_header(release, about.model_copy(update={"license": license_}))
    assert {key: value for key, value in header.items() if key.startswith("license")} == expected


def test_the_text_says_all_and_cannot_write_html(release, about):
    text = data_card(release, about)
    for part in (
        "What it is good for",
        "What somebody could learn",
        "Columns",
        "Questions",
        "How it was made",
        "Citation",
    ):
        assert f"## {part}" in text
    assert "<b>" not in text.split("---\n", 2)[2]
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_a_seeded_release_says_that_it_is_not_private(schema):
    text = data_card(sfumato.release(make_table(200), schema, epsilon=1.0, ledger=None, types="declared", seed=1))
    assert "not private" in text
    assert "What somebody could learn" not in text
