"""How well a learner does that never saw a real row.

Real data; the full figures come from `python -m experiments.tables`.
"""

import pytest

from experiments.tables import adult, score


@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 0.890), (0.2, 0.845)])
def test_adult_trains_a_useful_classifier(data_folder, epsilon, least):
    assert score(adult(data_folder), epsilon, seed=0)["auc"] >= least
