"""How well a learner does that never saw a real row.

Real data; the full figures come from `python -m experiments.tables`.
"""

import pytest
from experiments.tables import measure
from experiments.tasks import adult


@pytest.mark.parametrize(
    ("epsilon", "least", "most"),
    [(1.0, 0.900, 0.045), pytest.param(0.2, 0.875, 0.085, marks=pytest.mark.slow)],
)
def test_adult_trains_a_useful_classifier(data_folder, monkeypatch, epsilon, least, most):
    monkeypatch.setenv("SFUMATO_DATA", str(data_folder))
    found = measure(adult(), epsilon, seed=0)
    assert found["score"] >= least
    assert found["weighted"] >= least
    assert found["direct"] >= least
    assert found["pairs apart"] <= most
