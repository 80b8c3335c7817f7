"""What only three columns tell together is found without a target, and paid for where it is there."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.check import Outcome
from sfumato.artefact.verify import verify
from sfumato.fitting.mechanisms.counts.pairs import TripleTable
from sfumato.fitting.mechanisms.tables.triple_evidence import TripleEvidence
from sfumato.trusted.statistics import Cells, Parities


def table(columns, rows=8_000, *, parity=True, seed=0):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (rows, columns))
    if parity:
        bits[:, 2] = (bits[:, 0] + bits[:, 1]) % 2
    return {f"x{place}": [str(bit) for bit in bits[:, place]] for place in range(columns)}


def released(values, **settings):

    columns = [{"name": name, "type": "category", "values": ["0", "1"]} for name in values]
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "bits", "columns": columns})
    return sfumato.release(pa.table(values), schema, epsilon=1.0, ledger=None, types="declared", **settings)


def broken(release):
    sample = {name: np.array(column).astype(int) for name, column in release.sample(4_000, seed=0).to_pydict().items()}
    return float(np.mean((sample["x0"] + sample["x1"] + sample["x2"]) % 2))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_parity_among_others_is_found_and_kept(adjacency):
    release = released(table(7), seed=1, adjacency=adjacency)
    *_, screen, more = (item.statistic for item in release.measurements)
    assert isinstance(screen, Parities)
    assert isinstance(more, Cells)
    assert more.tables[0] == ("x0", "x1", "x2")
    assert broken(release) < 0.05


def test_without_structure_the_rest_goes_to_the_pairs():
    release = released(table(7, parity=False), seed=1)
    *_, pairs, screen, more = (item.statistic for item in release.measurements)
    assert isinstance(screen, Parities)
    assert more.tables == pairs.tables
    assert broken(release) == pytest.approx(0.5, abs=0.05)


def test_a_fit_anew_is_the_same_and_verifies():
    for parity in (True, False):
        release = released(table(6, parity=parity), seed=1)
        assert release.refit().fitted.distance(release.fitted) < 1e-6
        assert [check.what for check in verify(release) if check.outcome == Outcome.FAILS] == [
            "noise from a cryptographic source"
        ]


def test_two_columns_have_no_threes():
    assert not any(isinstance(item.statistic, Parities) for item in released(table(2, parity=False)).measurements)


def test_the_gradient_agrees_with_differences():
    rng = np.random.default_rng(0)
    coarse = {"a": np.array([0, 0, 1]), "b": np.array([0, 1]), "c": np.array([0, 1, 2, 2])}
    triple = TripleTable(("a", "b", "c"), coarse, rng.normal(30, 10, (2, 2, 3)), 3.0)
    groups = {"a": slice(0, 3), "b": slice(3, 5), "c": slice(5, 9)}
    seen = TripleEvidence.of(triple, groups, 400.0)
    theta, pi = rng.random((4, 9)), rng.dirichlet(np.ones(4))

    def error(theta, pi):
        return seen.add_error(theta, pi, np.zeros_like(theta), np.zeros_like(pi))

    by_theta, by_pi = np.zeros_like(theta), np.zeros_like(pi)
    seen.add_error(theta, pi, by_theta, by_pi)
    for gradient, at in ((by_theta, theta), (by_pi, pi)):
        for place in np.ndindex(at.shape):
            moved = at.copy()
            moved[place] += 1e-6
            higher = error(moved, pi) if at is theta else error(theta, moved)
            assert gradient[place] == pytest.approx((higher - error(theta, pi)) / 1e-6, rel=1e-3, abs=1e-2)


def test_the_error_is_the_obvious_sum():
    rng = np.random.default_rng(1)
    coarse = {name: np.arange(2) for name in "abc"}
    triple = TripleTable(("a", "b", "c"), coarse, rng.normal(50, 5, (2, 2, 2)), 4.0)
    seen = TripleEvidence.of(triple, {"a": slice(0, 2), "b": slice(2, 4), "c": slice(4, 6)}, 400.0)
    theta, pi = rng.random((3, 6)), rng.dirichlet(np.ones(3))
    expected = 0.0
    for i, j, k in np.ndindex(2, 2, 2):
        p = sum(pi[h] * theta[h, i] * theta[h, 2 + j] * theta[h, 4 + k] for h in range(3))
        expected += 0.5 * ((400 * p - triple.table[i, j, k]) / 4.0) ** 2
    assert seen.add_error(theta, pi, np.zeros((3, 6)), np.zeros(3)) == pytest.approx(expected, rel=1e-4)
