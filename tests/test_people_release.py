"""Releases that protect a person with all of their records: what they promise, what they spend, what they add."""

import io
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.auditing.transcript import mu_between
from sfumato.errors import BudgetError, RequestError
from sfumato.reports.public import public_report
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.curator import Curator
from sfumato.trusted.noise import SecureNoise
from sfumato.trusted.privacy_filter import PrivacyFilter, units_of
from sfumato.trusted.sources import open_source
from tests.mechanisms.every import ID, every_case

CASES = every_case()
BY_PERSON = [name for name, case in CASES.items() if not case.schema.public_features]


@pytest.mark.parametrize("name", BY_PERSON)
def test_every_mechanism_keeps_the_claim_to_persons(name):
    case = CASES[name].by_person()
    release = case.release(seed=None)
    checks = verify(release)
    assert all(check.holds for check in checks), checks
    assert release.statement.units_spent <= Budget(4.0, 1e-5).units == release.statement.units_budget
    file = io.BytesIO()
    release.write(file)
    assert "for one person, all of their records" in release.statement.promise


def test_the_statement_says_whom_it_protects(tmp_path):
    release = CASES["tables"].by_person(3).release(seed=None)
    assert release.statement.promise.startswith("Whether any one person was in the table or not, with all of their rec")
    assert "Column person tells persons apart; 3 records of each count at most." in release.statement.promise
    assert any("several ids" in line for line in release.statement.not_protected)
    assert not any("several records" in line for line in release.statement.not_protected)
    release.save(tmp_path / "b.sfumato")
    again = sfumato.open(tmp_path / "b.sfumato")
    assert again.statement == release.statement
    page = public_report(again)
    assert "one person, all of their records" in page
    assert "effects of one person" in page
    one = CASES["tables"].by_person(1).release(seed=None).statement
    assert "1 record of each counts at most." in one.promise


@pytest.mark.parametrize(
    ("adjacency", "beginning"),
    [
        ("replace", "Whatever records any one person had"),
        ("label", "Whatever target values the records of any one pers"),
    ],
)
def test_each_adjacency_promises_its_own_to_persons(adjacency, beginning):
    statement = CASES[f"tables, {adjacency}"].by_person().release(seed=None).statement
    assert statement.promise.startswith(beginning)


def test_a_person_costs_as_much_as_all_of_their_records():
    """Three records of each: three times the noise, for the same promise to all three together."""
    records, persons = CASES["mixture"].release(), CASES["mixture"].by_person(3).release()
    one, three = records.statement.items[0], persons.statement.items[0]
    assert three.sensitivity == 3 * one.sensitivity
    assert three.mu == pytest.approx(one.mu, rel=1e-6)
    assert three.sigma == pytest.approx(3 * one.sigma, rel=1e-6)
    assert three.units == pytest.approx(one.units, rel=1e-6)


def test_public_features_are_of_records():
    with pytest.raises(RequestError, match="remove one of the two from the schema"):
        CASES["mixture, public features"].by_person().release()


def test_one_record_each_is_the_release_of_records():
    case = CASES["mixture"]
    table = case.table.set_column(case.table.column_names.index(ID), ID, pa.array(range(len(case.table))))
    records, persons = case.release(table), case.by_person(1).release(table)
    for one, other in zip(records.measurements, persons.measurements, strict=True):
        assert np.array_equal(one.values, other.values)


def person(case, rows: int, **values) -> pa.Table:
    """One person with so many like records."""
    record = case.table.slice(0, 1).to_pylist()[0] | values | {ID: -1}
    return pa.Table.from_pylist([record] * rows, schema=case.table.schema)


WORST = {
    "tables": ("add-remove", {"ill": "yes", "age": 3}, None),
    "tables, replace": ("replace", {"ill": "yes", "age": 3}, {"ill": "no", "age": 98, "job": "nurse", "wage": 100.0}),
    "tables, label": ("label", {"ill": "yes", "age": 3}, {"ill": "no", "age": 3}),
    "mixture": ("add-remove", {"x": 0.0, "y": 100.0}, None),
    "subspace": ("add-remove", {f"p_{j}": 255 * (j % 2) for j in range(64)}, None),
}


@pytest.mark.parametrize("name", WORST)
def test_the_answers_spend_nearly_the_claim_on_a_person_and_never_more(name):
    adjacency, before, after = WORST[name]
    case = CASES[name].by_person(2)
    here = pa.concat_tables([case.table, person(case, 50, **before)])
    there = case.table if after is None else pa.concat_tables([case.table, person(case, 50, **after)])
    release, claim = case.release(here, seed=None, adjacency=adjacency), Budget(4.0, 1e-5)
    key = b"any"
    with (
        closing(open_source(here, case.schema, key, declared=True)) as one,
        closing(open_source(there, case.schema, key, declared=True)) as other,
    ):
        spent = mu_between(release.measurements, one, other)
    assert spent <= claim.mu
    assert spent >= (0.5 if name in ("mixture", "subspace") else 0.85) * claim.mu


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_replacing_moves_a_sum_no_less_than_adding(name):
    """So that a person whose records are replaced may have fewer or more of them afterwards."""
    for item in CASES[name].release().measurements:
        add, replace = (item.statistic.sensitivity(one) for one in (Adjacency.ADD_REMOVE, Adjacency.REPLACE))
        assert add <= replace


def test_the_door_counts_persons_as_its_source_does():
    case = CASES["tables"].by_person(3)
    with closing(open_source(case.table, case.schema, declared=True)) as source:
        with pytest.raises(RequestError, match="count different persons"):
            Curator(source, Adjacency.ADD_REMOVE, PrivacyFilter(10**12), SecureNoise())
        Curator(source, Adjacency.ADD_REMOVE, PrivacyFilter(10**12, 3), SecureNoise())
    with closing(open_source(case.table, CASES["tables"].schema, declared=True)) as source, pytest.raises(RequestError):
        Curator(source, Adjacency.ADD_REMOVE, PrivacyFilter(10**12, 3), SecureNoise())


@pytest.mark.parametrize("records", [1, 2, 7, 1000])
def test_shares_for_one_record_cost_no_more_than_the_budget_for_all(records):
    budget, privacy_filter = Budget(1.0, 1e-6, records), PrivacyFilter(Budget(1.0, 1e-6).units, records)
    mus = budget.split((0.2, 0.5, 0.3))
    for mu in mus:
        privacy_filter.spend(mu)
    assert privacy_filter.spent <= budget.units == Budget(1.0, 1e-6).units
    assert records**2 * units_of(budget.mu) <= budget.units
    assert budget.mu == pytest.approx(Budget(1.0, 1e-6).mu / records, rel=1e-3)


def test_more_records_than_the_budget_has_units_are_refused():
    with pytest.raises(BudgetError, match="buys nothing"):
        Budget(1.0, 1e-6, 10**6)


def test_the_ledger_writes_down_persons(tmp_path):
    book = sfumato.Ledger(tmp_path / "l.sqlite")
    CASES["tables"].by_person().release(ledger=book)
    (account,) = book.accounts()
    assert str(account.currency) == "add-remove by person"


def test_another_release_draws_other_records():
    """The key is fresh: two releases of one table do not count the same records."""
    case = CASES["tables"].by_person(1)
    statistic = case.release().measurements[0].statistic
    sums = []
    for _ in range(2):
        with closing(open_source(case.table, case.schema, declared=True)) as source:
            sums.append(source.sum(statistic))
    assert not np.array_equal(*sums)
