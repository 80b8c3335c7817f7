"""An entry of the registry keeps the registry's fields."""

import copy

import pytest
import yaml
from jsonschema import Draft7Validator

import sfumato
from sfumato.errors import RequestError
from sfumato.exports.registry import registry_entry, write_registry_entry
from tests.conftest import make_table
from tests.exports.registry_fields import ENTRY

CHECKER = Draft7Validator(ENTRY, format_checker=Draft7Validator.FORMAT_CHECKER)


def test_an_entry_passes_and_says_what_the_statement_says(release, about):
    entry = yaml.safe_load(write_registry_entry(release, about))
    assert [error.message for error in CHECKER.iter_errors(entry)] == []
    loss = entry["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert loss["privacy_unit"] == "Record-level"
    assert loss["number_of_privacy_units"] == release.size
    assert entry["deployment"]["basic"]["publication_date"] == "2026-01-31"
    assert entry["url_slug"] == "mixed-example-hospital-b-2026"
    assert "integers" in entry["deployment"]["implementation"]["mechanisms"]


def test_an_entry_of_persons_is_of_persons(about):
    schema = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: p, unit: {column: who, records: 2}, columns: [{name: member, type: boolean}]}"
    )
    table = make_table(300).append_column("who", [[k // 2 for k in range(300)]])
    release = sfumato.release(table, schema, epsilon=1.0, ledger=None, types="declared")
    entry = registry_entry(release, about)
    assert list(CHECKER.iter_errors(entry)) == []
    assert entry["deployment"]["privacy_loss"]["privacy_unit"] == "User-level"
    assert "number_of_privacy_units" not in entry["deployment"]["privacy_loss"]


def test_the_checker_can_fail(release, about):
    entry = registry_entry(release, about)
    for path, value in (
        (("basic", "data_product_type"), "Bundle"),
        (("basic", "publication_date"), "1/1/2026"),
        (("basic", "surprise"), "x"),
        (("administrative", "registry_authors"), []),
    ):
        wrong = copy.deepcopy(entry)
        wrong["deployment"][path[0]][path[1]] = value
        assert list(CHECKER.iter_errors(wrong)), path


def test_what_the_registry_needs_is_named(release, about):
    with pytest.raises(RequestError, match=r"the registry needs region, author; add them to about\.yaml"):
        registry_entry(release, about.model_copy(update={"region": None, "author": None}))


def test_a_seeded_release_is_refused(schema, about):
    release = sfumato.release(make_table(200), schema, epsilon=1.0, ledger=None, types="declared", seed=1)
    with pytest.raises(RequestError, match="a seeded release is not private and has no place in a registry"):
        registry_entry(release, about)
