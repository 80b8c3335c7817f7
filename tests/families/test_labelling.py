"""What labellers of a view start from: counts by class, classes of pieces, questions and their budget."""

import numpy as np
import pytest

from sfumato.fitting.families.labelling import ClassedTable, LabelPlan, TargetCounts
from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from tests.families.test_step_fit import column_of


def tables_of(pair: tuple[str, str], table: np.ndarray) -> tuple[OneWays, PairTables]:
    """Two columns with a cell for each code, and their table."""
    sizes = dict(zip(pair, table.shape, strict=True))
    grids = {name: Grid.of_cells(np.arange(size)) for name, size in sizes.items()}
    sums = {pair[0]: table.sum(axis=1), pair[1]: table.sum(axis=0)}
    columns = {name: column_of(grids[name], sums[name]) for name in pair}
    everything = Classes(np.zeros(1, dtype=np.int64), np.ones(1))
    one_way = OneWays(columns, everything, np.array([table.sum()]), 1.0)
    coarse = {name: np.arange(size) for name, size in sizes.items()}
    return one_way, PairTables(coarse, grids, {pair: table[None]}, {pair: 2.0})


@pytest.mark.parametrize("pair", [("a", "target"), ("target", "a")])
@pytest.mark.parametrize("absent", [False, True])
def test_counts_by_class_are_read_off_the_pair_tables(pair, absent):
    table = np.array([[5.0, 60, 7], [30, 2, 90]])  # a by target
    one_way, pairs = tables_of(pair, table if pair[0] == "a" else table.T)
    found = TargetCounts.of(one_way, pairs, "target", absent=absent)
    assert found.features == ("a",)
    kept = table[:, : 3 - absent]
    assert np.array_equal(found.one_way.columns["a"].counts, kept)
    assert found.one_way.columns["a"].sigma == 2.0
    assert np.array_equal(found.one_way.totals, kept.sum(axis=0))
    assert not found.is_constant


def test_a_target_of_one_class_has_no_labeller():
    one_way, pairs = tables_of(("a", "target"), np.array([[5.0, 7], [3.0, 9]]))
    assert TargetCounts.of(one_way, pairs, "target", absent=True).is_constant


def test_classes_are_sums_of_pieces_without_those_of_absent_rows():
    rng, codes = np.random.default_rng(0), np.arange(4)
    columns = {
        name: Pieces(codes, codes + 1, codes, np.zeros(4), rng.dirichlet(np.ones(4), 2)) for name in ("a", "target")
    }
    mixture = TableMixture(np.array([0.4, 0.6]), columns, 50.0)
    batch = Batch(3, {"a": np.array([0, 1, 3], dtype=np.int32), "target": np.zeros(3, dtype=np.int32)})
    told = ClassedTable(mixture, np.array([0, 1, 0, -1])).class_probabilities(batch, "target")
    for row, a in enumerate(batch.codes["a"]):
        weights = mixture.weights * columns["a"].theta[:, a]
        p = weights @ columns["target"].theta
        assert told[row] == pytest.approx(np.array([p[0] + p[2], p[1]]) / p[:3].sum(), abs=1e-6)


def test_a_plan_of_labels_divides_its_questions():
    plan = LabelPlan.of("t", Grid.of_cells(np.arange(2)), ["a"], [1, 2, 3, 4, 5])
    assert (plan.mu_steps, plan.mu_leaves, plan.mu_rest) == ((1, 2), 3, (4, 5))
