"""Threat 9: overspending by a race or a crash."""

import pytest

from sfumato.privacy.adjacency import Adjacency
from tests.privacy.crashing import Outcome, show, trials


def check(outcome: Outcome, kills: int, releases: int) -> None:
    assert outcome.kills >= kills
    assert outcome.releases >= releases  # a test in which nobody releases proves nothing
    assert (outcome.overspent, outcome.unrecorded, outcome.corrupt) == (0, 0, 0)


def test_killed_writers_neither_overspend_nor_release_unrecorded():
    check(trials(3), kills=40, releases=60)


@pytest.mark.slow
def test_500_kills():
    outcome = trials(25)
    check(outcome, kills=500, releases=500)
    assert outcome.trials_at_the_limit >= 0.8 * 25
    print(outcome)


def spends_after(ledger, seen, units):
    show(seen, units)
    ledger.reserve("clinic", Adjacency.ADD_REMOVE, units, {})


def test_a_spend_after_the_release_is_seen():
    with pytest.raises(AssertionError):
        check(trials(4, spends_after), kills=1, releases=1)
