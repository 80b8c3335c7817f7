"""Which epsilon: the one that is found reaches the target when planned again, and a little less does not."""

import pytest

import sfumato
from sfumato.errors import RequestError
from sfumato.planning.inverse import MOST


def plan(schema, **more):
    return sfumato.plan(schema, **{"rows": 100_000, **more})


@pytest.mark.parametrize("target", [{"target_gap": 0.03}, {"smallest_group": 50}])
def test_the_least_epsilon_reaches_a_target_and_less_does_not(schema, target):
    def missed_by(planned: sfumato.Plan) -> float:
        quality = planned.expected
        gap = quality.prediction_gap - target.get("target_gap", 1)
        return max(gap, quality.smallest_group - target.get("smallest_group", 1e9))

    chosen = plan(schema, **target)
    assert "middle of the forecast" in chosen.notes[0]
    epsilon = chosen.epsilon
    assert missed_by(plan(schema, epsilon=epsilon)) <= 0
    assert missed_by(plan(schema, epsilon=epsilon * 0.98)) > 0


def test_the_largest_epsilon_keeps_a_risk_and_more_does_not(schema):
    found = plan(schema, max_advantage=0.1)
    assert found.risk.advantage <= 0.1 < plan(schema, epsilon=found.epsilon * 1.02).risk.advantage


def test_a_risk_that_allows_much_is_still_bounded(schema):
    assert plan(schema, max_advantage=0.99).epsilon == MOST


def test_quality_and_risk_together(schema):
    both = plan(schema, smallest_group=100, max_advantage=0.3)
    assert both.epsilon == plan(schema, smallest_group=100).epsilon
    assert both.risk.advantage <= 0.3
    with pytest.raises(RequestError, match=r"needs epsilon .* and the risk allows"):
        plan(schema, smallest_group=20, max_advantage=0.05)


def test_what_no_epsilon_reaches_is_said_with_the_best_there_is(schema):
    with pytest.raises(
        RequestError, match=r"no epsilon up to 10 reaches groups of 1 records \(there .* is the smallest\)"
    ):
        plan(schema, smallest_group=1)
    with pytest.raises(RequestError, match="a gap of 1e-05"):
        plan(schema, target_gap=1e-5)
    with pytest.raises(RequestError, match="allow more"):
        plan(schema, max_advantage=1e-7)


def test_an_easy_target_needs_next_to_nothing(schema):
    assert plan(schema, smallest_group=10**9).epsilon == 0.01


def test_a_gap_needs_a_target(schema):
    untargeted = sfumato.Schema.from_dict({**schema.to_dict(), "target": None})
    with pytest.raises(RequestError, match="no target"):
        plan(untargeted, target_gap=0.1)


@pytest.mark.parametrize("target", [{"target_gap": "x"}, {"smallest_group": True}, {"max_advantage": "0.1"}])
def test_targets_that_are_no_numbers_are_refused(target):
    with pytest.raises(RequestError, match="it must"):
        sfumato.plan({"sfumato": 1, "name": "a", "columns": [{"name": "x", "type": "boolean"}]}, rows=100, **target)
