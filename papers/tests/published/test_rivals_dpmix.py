"""The sensitivity and the noise of DPMix."""

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy.stats import kstest, norm
from sfumato_papers.baselines import Layout
from sfumato_papers.baselines.dpmix import multiplier, random_means, sensitivity

from tests.published.rival_tables import mixed


@pytest.mark.parametrize("kinds", [(0, 3, 0, 2), (0, 0), (4, 2, 2)])
def test_no_replaced_record_moves_a_mean_further(kinds):
    """Among random pairs of records, and among pairs of corners."""
    layout, rng = Layout(kinds, 3), np.random.default_rng(0)
    table = mixed(1, 2_000, kinds)
    corners = layout.encode(table)
    corners[:, layout.numbers] = np.rint(corners[:, layout.numbers])
    worst = 0.0
    for rows in (layout.encode(table), corners):
        others = rows[rng.integers(2_000, size=(7, 2_000))]  # who is in the mean besides
        here, there = rows, rows[rng.permutation(2_000)]
        moved = (others.sum(axis=0) + here) / 8 - (others.sum(axis=0) + there) / 8
        worst = max(worst, np.linalg.norm(moved, axis=1).max())
    claimed = sensitivity(layout, 8)
    assert 0.99 * claimed <= worst <= claimed * (1 + 1e-12)


def test_the_multiplier_is_the_least_that_keeps_the_budget():
    def epsilon(scale: float) -> float:
        mean = dp_accounting.SampledWithoutReplacementDpEvent(500, 10, dp_accounting.GaussianDpEvent(scale))
        accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
        return accountant.compose(mean, 200).get_epsilon(1e-4)

    found = multiplier(500, 10, 200, 2.0, 1e-4)
    assert epsilon(found) <= 2.0 < epsilon(found - 0.003)


def test_a_mean_has_every_record_once_at_most():
    rng = np.random.default_rng(0)
    means = random_means(rng, np.eye(30), 6, 400)
    assert set(np.unique(np.rint(6 * means))) == {0, 1}
    assert np.allclose(means.sum(axis=1), 1)
    assert kstest((means > 0).sum(axis=0), norm(80, 8).cdf).pvalue > 1e-3  # each is in 400 / 5 of them
