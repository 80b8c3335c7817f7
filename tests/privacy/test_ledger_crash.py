"""Threat 9: overspending by a race or a crash."""

import pytest

from sfumato.trusted.adjacency import Adjacency
from tests.privacy.crashing import Outcome, show, trials, trials_until


def check(outcome: Outcome, kills: int, releases: int) -> None:
    assert outcome.kills >= kills
    assert outcome.releases >= releases  # a test in which nobody releases proves nothing
    assert (outcome.overspent, outcome.unrecorded, outcome.corrupt) == (0, 0, 0)


def test_killed_writers_neither_overspend_nor_release_unrecorded():
    check(trials_until(15, 25), kills=15, releases=25)


@pytest.mark.slow
def test_500_kills():
    outcome = trials_until(500, 500)
    check(outcome, kills=500, releases=500)
    assert outcome.trials_at_the_limit >= outcome.trials / 2
    print(outcome)


def spends_after(ledger, seen, units):
    show(seen, units)
    ledger.reserve("clinic", Adjacency.ADD_REMOVE, units, {})


def test_a_spend_after_the_release_is_seen():
    with pytest.raises(AssertionError):
        check(trials(2, spends_after), kills=1, releases=1)
