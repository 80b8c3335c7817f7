"""What a release promises, spends and writes down is what was asked of it."""

import pandas as pd
import pytest

import sfumato
from sfumato.errors import DataError, RequestError
from sfumato.trusted import session
from sfumato.trusted.budget import Budget
from sfumato.trusted.curator import Curator
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.schema import Schema
from tests.conftest import make_table

SMALL = Schema.from_yaml("""
{sfumato: 1, name: small, target: b, columns: [{name: a, type: integer, bounds: [0, 3]}, {name: b, type: boolean}]}
""")
ROWS = pd.DataFrame({"a": [0, 1, 2, 3] * 5, "b": [True, False] * 10})


def by_person(records: int) -> Schema:
    return Schema.from_dict(SMALL.to_dict() | {"unit": {"column": "who", "records": records}})


def test_the_ledger_has_the_cost_before_a_row_is_read(tmp_path, monkeypatch):
    ledger, seen = Ledger(tmp_path / "l.sqlite"), []
    measure = Curator.measure

    def watching(self, *args):
        seen.append([entry.kind for entry in ledger.entries()])
        return measure(self, *args)

    monkeypatch.setattr(Curator, "measure", watching)
    sfumato.release(ROWS, SMALL, epsilon=1.0, ledger=ledger)
    assert seen
    assert all(kinds == ["reserve"] for kinds in seen)
    assert [entry.kind for entry in ledger.entries()] == ["reserve", "commit"]
    assert ledger.entries()[0].units == Budget(1.0, 1e-6).units


@pytest.mark.parametrize("seed", [None, 0, 7])
def test_a_seed_and_nothing_else_marks_a_release(seed):
    releases = [sfumato.release(ROWS, SMALL, epsilon=1.0, ledger=None, seed=seed) for _ in range(2)]
    assert [one.statement.seeded for one in releases] == [seed is not None] * 2
    same = (releases[0].measurements[0].values == releases[1].measurements[0].values).all()
    assert same == (seed is not None)


@pytest.mark.parametrize("records", [1, 3])
def test_what_all_measurements_cost_is_the_budget_and_not_more(records, monkeypatch):
    filters = []
    monkeypatch.setattr(
        session,
        "PrivacyFilter",
        lambda *words, real=session.PrivacyFilter: filters.append(real(*words)) or filters[-1],
    )
    rows = ROWS.assign(who=[f"p{row}" for row in range(20)])
    schema = by_person(records)
    release = sfumato.release(rows, schema, epsilon=1.0, ledger=None, types="declared")
    budget = Budget(1.0, 1e-6, records)
    assert (filters[0].units, filters[0].records) == (budget.units, records)
    assert 0.99 * budget.units <= filters[0].spent <= budget.units
    assert release.statement.units_spent == filters[0].spent


def test_types_are_inferred_unless_they_are_declared():
    dated = Schema.from_yaml(
        "{sfumato: 1, name: t, columns: [{name: d, type: date, bounds: [2020-01-01, 2020-12-31]}]}"
    )
    frame = pd.DataFrame({"d": pd.to_datetime(["2020-05-01"] * 9)})
    with pytest.raises(DataError, match="inferred"):
        sfumato.release(frame, dated, epsilon=1.0, ledger=None)
    assert sfumato.release(frame, dated, epsilon=1.0, ledger=None, types="declared").size >= 1
    with pytest.raises(RequestError, match='say "declared"'):
        sfumato.release(frame, dated, epsilon=1.0, ledger=None, types="guessed")


def test_features_are_let_out_only_where_the_schema_says_that_they_are_public(monkeypatch):
    allowed = []
    curator = Curator.__init__
    monkeypatch.setattr(Curator, "__init__", lambda self, *words: allowed.append(words[4]) or curator(self, *words))
    for public in (False, True):
        schema = Schema.from_dict(SMALL.to_dict() | {"public_features": public})
        sfumato.release(ROWS, schema, epsilon=1.0, ledger=None, adjacency="label")
    assert [tuple(names) for names in allowed] == [(), ("a",)]


def test_public_features_and_persons_do_not_go_together():
    schema = Schema.from_dict(by_person(2).to_dict() | {"public_features": True})
    rows = ROWS.assign(who=[f"p{row}" for row in range(20)])
    with pytest.raises(RequestError, match="remove one of the two from the schema"):
        sfumato.release(rows, schema, epsilon=1.0, ledger=None, adjacency="label", types="declared")


def test_nothing_is_entered_for_a_table_that_does_not_fit(tmp_path):
    ledger = Ledger(tmp_path / "l.sqlite")
    with pytest.raises(DataError):
        sfumato.release(make_table(5), SMALL, epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []
