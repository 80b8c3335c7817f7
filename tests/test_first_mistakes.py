"""Mistakes that a newcomer makes, and what is said."""

import pytest

import sfumato
from sfumato.artefact.about import about_template, parse_about
from sfumato.artefact.verify import verify
from sfumato.errors import BundleError, LedgerError, RequestError
from tests.conftest import MIXED, make_table


@pytest.fixture(scope="module")
def release():
    schema = sfumato.Schema.from_yaml(MIXED)
    return sfumato.release(make_table(2_000), schema, epsilon=1.0, ledger=None, types="declared")


def test_a_condition_without_values_or_beyond_the_bounds(release):
    with pytest.raises(RequestError, match="no value of column 'job' is given"):
        release.condition({"job": []})
    with pytest.raises(RequestError, match="200 to 300 lies outside of the bounds of column 'age'"):
        release.condition({"age": (200, 300)})
    with pytest.raises(RequestError, match="the lower first"):
        release.condition({"age": (60, 40)})


def test_two_columns_at_once(release):
    with pytest.raises(RequestError, match="for two, ask for one under a condition on the other"):
        release.marginal(["age", "job"])


def test_a_template_that_was_not_filled_in():
    with pytest.raises(RequestError, match=r"about\.yaml, line 2, custodian: is still to be filled in"):
        parse_about(about_template(), "about.yaml")


def test_a_date_that_does_not_exist():
    with pytest.raises(RequestError, match="line 3, published: '2026-13-45' is no date"):
        parse_about("custodian: a\npurpose: b\npublished: 2026-13-45\n", "about.yaml")
    assert parse_about("custodian: a\npurpose: b\npublished: 2026-01-31\n", "about.yaml").published.day == 31


def test_a_ledger_that_is_not_there_accuses_nobody(release, tmp_path):
    with pytest.raises(LedgerError, match="does not exist, or has no entries"):
        verify(release, ledger=sfumato.Ledger(tmp_path / "nothere.sqlite"))


def test_a_table_is_no_bundle(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BundleError, match="not a sfumato bundle"):
        sfumato.open(tmp_path / "t.csv")


def test_more_rows_than_any_memory_holds(release):
    with pytest.raises(RequestError, match="do not fit into memory"):
        release.sample(10**15)
