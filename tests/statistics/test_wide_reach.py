"""No neighbour of a million moves a sum of wide records further than claimed, and some move it as far."""

import numpy as np
import pytest

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.feature_maps.clipping import clip_to_ball
from sfumato.trusted.statistics import ClippedSums, Scatter
from tests.statistics.reaching_wide import Hunt, farthest
from tests.statistics.test_wide import CHANGES, PLACES, SEES_THE_LABEL, STATISTICS

CLIPPED = [change for change in CHANGES if isinstance(STATISTICS[change.values[0]], ClippedSums | Scatter)]


def hunt_of(name: str) -> Hunt:
    return Hunt(STATISTICS[name], PLACES, "label", 3)


@pytest.mark.parametrize(("name", "adjacency"), CHANGES)
def test_no_neighbour_reaches_further_than_claimed_and_some_reach_it(name, adjacency):
    found = farthest(hunt_of(name), adjacency, 8_000)
    assert 0.999 < found / STATISTICS[name].sensitivity(adjacency) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "adjacency"), CHANGES)
def test_no_neighbour_of_a_million_reaches_further_than_claimed(name, adjacency):
    claim = STATISTICS[name].sensitivity(adjacency)
    found = max(farthest(hunt_of(name), adjacency, 50_000, seed) for seed in range(20))
    print(f"\n{name}, {adjacency}: {found / claim:.7f}")
    assert 0.99 * claim <= found <= claim


@pytest.mark.parametrize("name", [name for name in STATISTICS if name not in SEES_THE_LABEL])
def test_a_label_that_nothing_sees_moves_nothing(name):
    assert farthest(hunt_of(name), Adjacency.LABEL, 2_000) == 0


@pytest.mark.parametrize(("name", "adjacency"), CLIPPED)
def test_the_search_sees_a_thousandth_too_much(name, adjacency, monkeypatch):
    for module in (
        "sfumato.trusted.statistics.clipped_sums",
        "sfumato.trusted.statistics.scatter",
        "tests.statistics.reaching_wide",
    ):
        monkeypatch.setattr(f"{module}.clip_to_ball", lambda *args: np.trunc(1.001 * clip_to_ball(*args)))
    assert farthest(hunt_of(name), adjacency, 8_000) > STATISTICS[name].sensitivity(adjacency)
