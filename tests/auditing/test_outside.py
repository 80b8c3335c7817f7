"""Somebody else's auditor at the door: JAX Privacy's bounds on answers of the curator, where it is installed."""

from contextlib import nullcontext

import numpy as np
import pytest

from sfumato.auditing.door import draw_answers, pairs_to_try
from sfumato.auditing.faults import FAULTS
from sfumato.auditing.table_setting import TableSetting as Setting
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import epsilon_of
from tests.auditing.test_audit import TINY

auditing = pytest.importorskip("jax_privacy.auditing", reason="JAX Privacy is not installed: sfumato[audit-outside]")


def outside(fault: str | None = None, draws: int = 50_000) -> tuple[float, float]:
    """The claimed epsilon of a group, and the lower bound that the outside auditor gives it."""
    setting = Setting(TINY, 1.0, 1e-6, Adjacency.ADD_REMOVE, "tables")
    questions, pairs = pairs_to_try(setting, 60, np.random.default_rng(0))
    with FAULTS[fault].inject() if fault else nullcontext():
        found = draw_answers(setting, questions, pairs[0], draws)
    loud, quiet = (side[:, :-1].sum(axis=1) for side in (found.loud, found.quiet))  # the last one is noise alone
    scores = auditing.CanaryScoreAuditor(loud, quiet)
    claim = epsilon_of(found.group * found.claim, 1e-6)
    return claim, scores.epsilon_from_gdp(significance=1e-3, delta=1e-6)


def test_the_library_passes():
    claim, bound = outside()
    print(f"\nclaim {claim:.3f}, JAX Privacy's lower bound {bound:.3f}")
    assert 0.75 * claim < bound <= claim


@pytest.mark.parametrize("fault", ["noise at 70 % of its scale", "no noise", "every record counted twice"])
def test_faults_are_caught(fault):
    claim, bound = outside(fault)
    print(f"\nclaim {claim:.3f}, with {fault} {bound:.3f}")
    assert bound > claim
