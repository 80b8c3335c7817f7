import json
import math

import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.statement import PrivacyStatement
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.privacy_filter import units_of
from tests.conftest import MIXED, make_table


def released(**options) -> PrivacyStatement:
    return sfumato.release(
        make_table(30), sfumato.Schema.from_yaml(MIXED), epsilon=1.0, **{"ledger": None, "types": "declared", **options}
    ).statement


def test_json_goes_out_and_comes_back():
    statement = released()
    again = PrivacyStatement.from_dict(json.loads(json.dumps(statement.to_dict())))
    assert again == statement
    assert again.hash == statement.hash


def test_a_statement_without_a_unit_has_the_hash_that_older_ledgers_know():
    statement = released()
    assert "unit" not in statement.to_dict()
    assert PrivacyStatement.from_dict(statement.to_dict()).unit is None


@pytest.mark.parametrize(
    "change",
    [
        {"units_spent": math.nan},
        {"units_budget": 0},
        {"epsilon": "one"},
        {"delta": math.inf},
        {"extra": 1},
        {"items": 3},
    ],
    ids=str,
)
def test_content_that_is_no_statement_is_refused(change):
    with pytest.raises(ValueError, match="validation error"):
        PrivacyStatement.from_dict(released().to_dict() | change)


@pytest.mark.parametrize(
    ("adjacency", "promise", "open_things"),
    [
        (Adjacency.ADD_REMOVE, "Whether any one record was in the table or not", 5),
        (Adjacency.REPLACE, "Whatever values any one record had", 6),
        (Adjacency.LABEL, "Whatever target value any one record had", 6),
    ],
)
def test_each_adjacency_has_its_own_promise(adjacency, promise, open_things):
    statement = released(adjacency=adjacency)
    assert statement.promise.startswith(promise)
    assert f"{adjacency} adjacency" in statement.promise
    assert len(statement.not_protected) == open_things


def test_what_a_plan_does_not_spend_is_said():
    statement = released()
    half = statement.model_copy(update={"units_spent": statement.units_spent // 2})
    assert half.remainder == "50.0% of the budget is left: what was spent is epsilon 0.6889 at the same delta."
    assert "epsilon 0 " in statement.model_copy(update={"units_spent": 0}).remainder


def test_a_seeded_release_cannot_carry_the_promise():
    statement = released(seed=1)
    assert statement.seeded
    assert "NOT PRIVATE" in statement.promise
    assert "differential privacy" not in statement.promise
    assert statement.label == "seeded: not private"


def test_the_ledger_knows_the_statement_and_the_statement_the_ledger(tmp_path):
    ledger = sfumato.Ledger(tmp_path / "l.sqlite")
    statement = released(ledger=ledger)
    reserve, commit = ledger.entries()
    assert (reserve.kind, commit.kind) == ("reserve", "commit")
    assert statement.reservation == reserve.hash
    assert json.loads(commit.detail)["statement"] == statement.hash
    assert reserve.units == statement.units_budget >= statement.units_spent


def by_person(records: int) -> PrivacyStatement:
    """A statement of the same measurement for persons who have so many records."""
    schema = sfumato.Schema.from_yaml(f"""
    {{sfumato: 1, name: p, columns: [{{name: a, type: boolean}}], unit: {{column: who, records: {records}}}}}
    """)
    table = pa.table({"a": [True] * 30, "who": [f"p{row // 2}" for row in range(30)]})
    return sfumato.release(table, schema, epsilon=1.0, ledger=None, types="declared").statement


def test_an_item_is_for_all_records_of_a_person():
    """Sensitivity and mu are k times those of one record, the cost k squared; the noise is what it is."""
    one, three = (by_person(records).items[0] for records in (1, 3))
    assert three.sensitivity == pytest.approx(3 * one.sensitivity)
    assert three.sensitivity / three.mu == pytest.approx(three.sigma, rel=1e-9)
    assert three.units == 9 * units_of(three.mu / 3)
    assert three.units == pytest.approx(units_of(three.mu), abs=9)
    assert three.mu == pytest.approx(one.mu, rel=1e-5)


def test_what_was_spent_is_the_sum_of_the_items():
    for statement in (released(), by_person(3)):
        assert statement.units_spent == sum(item.units for item in statement.items) > 0


def test_a_promise_to_a_person_says_so():
    statement = by_person(3)
    assert statement.promise.startswith("Whether any one person was in the table or not, with all of their records")
    assert "3 records of each count at most" in statement.promise
    assert any("several ids" in line for line in statement.not_protected)
    assert any("several records" in line for line in released().not_protected)
