"""A statistic of a share of the records: which of them are in, and how far one of them moves its sum."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.feature_maps.hashed_share import HashedShare
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Cells, PersonLevel, Sampled, statistic_from_dict
from tests.statistics.hunting import holds, move
from tests.statistics.test_gradient import CODES, GRIDS, batch_of, gradient, rows

LABEL = Grid.of_cells(np.arange(4))
HALF = 1 << 31


def share_of(limit: int = HALF, key: int = 0, **more: Grid) -> HashedShare:
    return HashedShare(key.to_bytes(16), limit, {**GRIDS, **more})


def records(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, size, count) for size in CODES.values()])


@given(rows, st.sampled_from([1, HALF // 3, HALF, (1 << 32) - 1]), st.integers(0, 5))
def test_it_is_the_sum_over_the_records_that_are_in(found, limit, key):
    statistic = Sampled(gradient(3), share_of(limit, key))
    inside = [row for row in found if len(statistic.of.places(batch_of(row[None])))]
    alone = np.array(inside, dtype=np.int64).reshape(-1, len(CODES))
    assert np.array_equal(statistic(batch_of(found)), statistic.statistic(batch_of(alone)))


@given(rows, st.lists(st.integers(0, 40), max_size=4), st.randoms())
def test_any_order_and_any_split_give_the_same_sum(found, cuts, random):
    statistic = Sampled(gradient(3), share_of())
    shuffled = found[random.sample(range(len(found)), len(found))]
    parts = np.split(shuffled, sorted(min(cut, len(found)) for cut in cuts))
    assert np.array_equal(sum(statistic(batch_of(part)) for part in parts), statistic(batch_of(found)))


def test_the_hash_is_an_exclusive_or_of_a_word_for_each_cell():
    one = share_of(HALF)
    batch = batch_of(records(500))
    slow = []
    for place in range(500):
        word = 0
        for name, grid in one.grids.items():
            word ^= int(one._words[name][grid.cell_of_code[batch.codes[name][place]]])
        slow.append(word < one.limit)
    assert np.array_equal(one.places(batch), np.flatnonzero(slow))


def test_any_two_records_that_differ_are_in_as_if_by_lot():
    """Over 4,000 keys: one is in by 1 in 4, two by 1 in 16, three by 1 in 64, however little they differ."""
    batch = batch_of(np.array([[0, 0, 0], [1, 0, 0], [0, 31, 0]]))
    inside = np.zeros((4_000, 3), dtype=bool)
    for key in range(len(inside)):
        inside[key, share_of(HALF // 2, key).places(batch)] = True
    for members, expected in (((0,), 1 / 4), ((1,), 1 / 4), ((0, 1), 1 / 16), ((1, 2), 1 / 16), ((0, 1, 2), 1 / 64)):
        sd = math.sqrt(expected * (1 - expected) / len(inside))
        assert abs(inside[:, members].all(axis=1).mean() - expected) < 4.5 * sd, members


def test_records_of_the_same_cells_are_in_together():
    same = batch_of(np.array([[2, code, label] for code in range(31) for label in range(4)]))
    for key in range(50):
        assert len(share_of(HALF, key).places(same)) in (0, same.rows)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("sees_label", [False, True])
@pytest.mark.parametrize("limit", [HALF, 3 * (HALF // 2)])
def test_no_neighbour_moves_the_sum_further_than_claimed_and_one_moves_it_so_far(adjacency, sees_label, limit):
    statistic = Sampled(gradient(2, steep=0.0), share_of(limit, **({"label": LABEL} if sees_label else {})))
    never_further, attained = holds(statistic, adjacency, CODES, "label")
    assert never_further
    assert attained


@pytest.mark.parametrize("sees_label", [False, True])
def test_a_table_without_the_label_moves_under_label_adjacency_only_if_the_hash_sees_it(sees_label):
    """Its own sensitivity is 0 then, and the claim must not be."""
    cells, seen = Cells((("a",),), {"a": GRIDS["a"]}, "label"), {"label": LABEL} if sees_label else {}
    asked = [Sampled(cells, share_of(HALF, key, **seen)) for key in range(10)]
    pair = {"a": 1, "b": 2, "label": 0}, {"a": 1, "b": 2, "label": 3}
    worst = max(move(statistic, Adjacency.LABEL, *pair) for statistic in asked)
    assert worst == (1.0 if sees_label else 0.0)
    assert worst <= asked[0].sensitivity(Adjacency.LABEL)


def test_a_share_by_place_is_caught():
    """The mutant that takes every other record: who is in would depend on the records before."""

    class EveryOther(HashedShare):
        def places(self, batch):
            return np.arange(0, batch.rows, 2)

    fair = share_of()
    statistic = Sampled(gradient(2), EveryOther(fair.key, fair.limit, fair.grids))
    found = records(9)
    halves = sum(statistic(batch_of(part)) for part in np.split(found, [3]))
    assert not np.array_equal(statistic(batch_of(found)), halves)


def test_records_of_a_person_keep_their_weight():
    batch = batch_of(records(50))
    heavy = Batch(batch.rows, batch.codes, 7)
    statistic = Sampled(gradient(2), share_of())
    assert np.array_equal(PersonLevel(statistic, "view")(heavy), 7 * statistic(batch))


def test_it_comes_back_as_it_was_written():
    statistic = Sampled(gradient(3), share_of(12_345, 6))
    again = statistic_from_dict(json.loads(json.dumps(statistic.to_dict())))
    batch = batch_of(records(3_000))
    assert again.to_dict() == statistic.to_dict()
    assert np.array_equal(again(batch), statistic(batch))
    assert "on 2.87e-06 of the records" in again.title


@pytest.mark.parametrize(
    "change",
    [{"key": "00"}, {"limit": 0}, {"limit": 1 << 32}, {"limit": 0.5}, {"limit": True}, {"grids": {}}],
    ids=str,
)
def test_a_share_that_is_none_is_refused(change):
    content = Sampled(gradient(2), share_of()).to_dict()
    with pytest.raises(ValueError, match="a share needs"):
        statistic_from_dict({**content, "hashed": {**content["hashed"], **change}})


def test_a_share_of_a_share_or_of_persons_is_refused():
    inner = Sampled(gradient(2), share_of())
    for nested in (inner, PersonLevel(gradient(2), "view")):
        content = {**inner.to_dict(), "statistic": nested.to_dict()}
        with pytest.raises(ValueError, match="of records, and once"):
            statistic_from_dict(content)


def test_it_follows_a_schema_if_hash_and_question_do():
    columns = [{"name": "a", "type": "category", "values": list("pqrs")}, {"name": "b", "type": "boolean"}]
    schema = Schema.from_dict({"sfumato": 1, "name": "t", "target": "b", "columns": columns})
    a, b = (Grid.of_cells(np.arange(codes_of(schema[name]).size)) for name in "ab")
    cells = Cells((("a", "b"),), {"a": a, "b": b}, "b")
    assert Sampled(cells, HashedShare(bytes(16), 5, {"a": a})).follows(schema)
    assert not Sampled(cells, HashedShare(bytes(16), 5, {"a": Grid.of_cells(np.arange(99))})).follows(schema)
    assert not Sampled(cells, HashedShare(bytes(16), 5, {"c": a})).follows(schema)
