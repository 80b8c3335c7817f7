"""The audit of `measure` in mu: tight where the claim holds, loud where it does not."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.gdp import Echo, answers, mu_lower_bound
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget, mu_of
from sfumato.trusted.curator import Curator
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.noise import SecureNoise
from sfumato.trusted.privacy_filter import PrivacyFilter
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Cells, Stacked
from tests.parameters import mostly_slow

SCHEMA = Schema.from_yaml("""
{sfumato: 1, name: two, columns: [{name: a, type: category, values: [x, y]}, {name: b, type: boolean}], target: b}
""")
GRIDS = {name: Grid.of_cells(np.arange(2)) for name in ("a", "b")}
ONE = Cells((("a", "b"),), GRIDS, "b")
STACK = Stacked((Cells((("a",),), GRIDS, "b"), Cells((("b",),), GRIDS, "b")), (1.0, 0.5))
NEIGHBOURS = {
    Adjacency.ADD_REMOVE: ([("x", True)], [("x", True), ("y", False)]),
    Adjacency.REPLACE: ([("x", True)], [("y", False)]),
    Adjacency.LABEL: ([("x", True)], [("x", False)]),
}


class Thinned(SecureNoise):
    """Noise of which a part is missing."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def rounded_gaussian(self, sigma, size):
        return super().rounded_gaussian(self.factor * sigma, size)


def audit(statistic, adjacency, mu, draws, factor=1.0) -> float:
    """The lower bound on mu as a share of the claim, by answers that went through the curator."""
    sides = []
    for rows in NEIGHBOURS[adjacency]:
        table = pa.table({"a": [row[0] for row in rows], "b": [row[1] for row in rows]})
        curator = Curator(
            open_source(table, SCHEMA, declared=True),
            adjacency,
            PrivacyFilter(Budget(20.0, 1e-2).units),
            Thinned(factor),
        )
        sides.append(answers(curator.measure(Echo(statistic, draws), mu)))
    return mu_lower_bound(*sides) / mu


@pytest.mark.parametrize("epsilon", mostly_slow([1.0, 4.0], 4.0))
def test_the_bound_is_tight_and_below_the_claim(epsilon):
    assert 0.90 <= audit(ONE, Adjacency.ADD_REMOVE, mu_of(epsilon, 1e-5), 2_000_000) <= 1.0


@pytest.mark.parametrize("adjacency", Adjacency)
def test_every_adjacency_and_a_stack(adjacency):
    statistic = STACK if adjacency != Adjacency.LABEL else ONE
    assert 0.90 <= audit(statistic, adjacency, mu_of(2.0, 1e-5), 1_000_000) <= 1.0


@pytest.mark.parametrize("factor", mostly_slow([0.9, 0.95], 0.95))
def test_missing_noise_is_flagged(factor):
    assert audit(ONE, Adjacency.ADD_REMOVE, mu_of(4.0, 1e-5), 2_000_000, factor) > 1.0


def test_a_bound_from_equal_tables_is_next_to_nothing():
    rng = np.random.default_rng(0)
    assert mu_lower_bound(rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, 1))) < 0.05


def test_tables_that_never_look_alike_give_a_large_bound():
    rng = np.random.default_rng(0)
    assert mu_lower_bound(rng.normal(size=(2_000, 1)), 100 + rng.normal(size=(2_000, 1))) > 4


def test_an_echo_cannot_be_published():
    with pytest.raises(NotImplementedError):
        Echo(ONE, 3).to_dict()
    curator = Curator(
        open_source(pa.table({"a": ["x"], "b": [True]}), SCHEMA, declared=True),
        Adjacency.REPLACE,
        PrivacyFilter(Budget(1, 1e-6).units),
        SecureNoise(),
    )
    with pytest.raises(TypeError, match="echo"):
        answers(curator.measure(ONE, 0.1))
    assert "audit" in Echo(ONE, 3).title
