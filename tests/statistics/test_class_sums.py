"""Sums over classes: nothing moves them further than claimed, and neither order nor split nor company matters."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import BundleError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import ByRule, ByTarget, ScaledColumns
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import ClassSums, size_of, statistic_from_dict
from tests.statistics.hunting import holds, hunt
from tests.statistics.making import DIMENSIONS, KINDS, a_map, a_whitening
from tests.statistics.reaching import draw
from tests.statistics.splitting import same_for_any_split

SCHEMA = Schema.from_yaml("""
{sfumato: 1, name: t, target: label, columns: [
  {name: a, type: number, bounds: [0, 1]}, {name: b, type: integer, bounds: [1, 40000]},
  {name: label, type: category, values: [p, q, r, s, t, u, v, w]}]}
""")
STEPS = {"a": 2**20 + 2, "b": 40_000}
CODES = {**STEPS, "label": 8}
PLACES = ScaledColumns.of(SCHEMA.by_name, ["a", "b"])
EVERY_KIND = tuple(a_map(kind, 2, seed=seed) for seed, kind in enumerate(KINDS))
NEAR_KINDS = ("even waves", "lift", "shells", "radii", "boxes", "leaves")
NEVER_FAR = tuple(a_map(kind, 2, seed=seed) for seed, kind in enumerate(NEAR_KINDS))
RULE = ByRule((a_whitening(2, 1), a_whitening(2, 2), a_whitening(2, 3)), (0.0, 7.5, -2.0))
STATISTICS = {
    "every kind": ClassSums(PLACES, ByTarget("label", 8), EVERY_KIND),
    "never far": ClassSums(PLACES, ByTarget("label", 8), (*NEVER_FAR, *NEVER_FAR[:2])),
    "by a rule": ClassSums(PLACES, RULE, NEVER_FAR[:3]),
    "waves and scores by a rule": ClassSums(PLACES, RULE, (EVERY_KIND[0], EVERY_KIND[2], EVERY_KIND[2])),
    "one class": ClassSums(PLACES, ByRule((a_whitening(2),), (0.0,)), (a_map("shells", 2),)),
}


def batch_of(rows: np.ndarray) -> Batch:
    return Batch(len(rows), {name: rows[:, place].astype(np.int32) for place, name in enumerate(CODES)})


def random_rows(count: int, seed: int = 0) -> np.ndarray:
    """Records: half anywhere, half near the middle."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, count) for size in CODES.values()])
    for column, size in enumerate(STEPS.values()):
        codes[::2, column] = np.clip(size * rng.normal(0.5, 0.02, len(codes[::2])), 0, size - 1)
    return codes


CHANGES = [
    pytest.param(name, adjacency, id=f"{name}, {adjacency}")
    for name, statistic in STATISTICS.items()
    for adjacency in Adjacency
    if adjacency != Adjacency.LABEL or statistic.parting.target is not None
]


@pytest.mark.parametrize(("name", "adjacency"), CHANGES)
def test_no_neighbour_moves_the_sums_further_than_claimed(name, adjacency):
    statistic = STATISTICS[name]
    worst, claim = hunt(statistic, adjacency, CODES, "label", tries=500), statistic.sensitivity(adjacency)
    assert worst <= claim


@pytest.mark.parametrize(("name", "adjacency"), CHANGES)
def test_the_hunter_finds_a_halved_claim(name, adjacency):
    class Halved(ClassSums):
        def sensitivity(self, adjacency):
            return super().sensitivity(adjacency) / 2

    halved = Halved(*(getattr(STATISTICS[name], field.name) for field in dataclasses.fields(ClassSums)))
    assert hunt(halved, adjacency, CODES, "label", tries=100) > halved.sensitivity(adjacency)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_claim_is_reached(adjacency):
    never_further, attained = holds(STATISTICS["never far"], adjacency, CODES, "label")
    assert never_further
    assert attained


def test_a_number_as_label_is_replaced():
    """Where no category parts the records, the target is one of the columns."""
    statistic = STATISTICS["waves and scores by a rule"]
    claim = statistic.sensitivity(Adjacency.LABEL)
    assert math.sqrt(2) * UNIT < hunt(statistic, Adjacency.LABEL, CODES, "a", tries=500) <= claim


def test_the_claims():
    every = STATISTICS["every kind"]
    assert every.sensitivity(Adjacency.ADD_REMOVE) == UNIT
    assert every.sensitivity(Adjacency.LABEL) == math.sqrt(2) * UNIT
    assert every.sensitivity(Adjacency.REPLACE) == max(one.replace for one in every.maps) > 1.7 * UNIT
    assert STATISTICS["never far"].sensitivity(Adjacency.REPLACE) == pytest.approx(math.sqrt(2) * UNIT, rel=1e-15)


@pytest.mark.parametrize("kind", ["hampel", "waves"])
def test_scores_and_light_waves_of_one_class_need_more_than_two_classes_do(kind):
    """Two records of one class: a claim of sqrt(2) for all maps alike would be caught."""
    statistic = ClassSums(ScaledColumns.of(SCHEMA.by_name, ["a"]), ByTarget("label", 8), (a_map(kind, 1, 0.5),) * 8)
    codes = {"a": STEPS["a"], "label": 1}
    assert hunt(statistic, Adjacency.REPLACE, codes, "label", tries=1_000) > 1.05 * math.sqrt(2) * UNIT


records = st.lists(st.tuples(*(st.integers(0, size - 1) for size in CODES.values())), max_size=40).map(
    lambda rows: np.array(rows, dtype=np.int64).reshape(-1, len(CODES))
)


@settings(max_examples=40)
@given(records, st.lists(st.integers(0, 40), max_size=4), st.randoms(), st.sampled_from(list(STATISTICS)))
def test_any_order_and_any_split_give_the_same_sum(records, cuts, random, name):
    batch = batch_of(records)
    assert same_for_any_split(STATISTICS[name], batch, cuts, random.sample(range(batch.rows), batch.rows))
    assert STATISTICS[name](batch).dtype == np.int64


@pytest.mark.parametrize("name", STATISTICS)
def test_more_records_than_fit_at_once_are_summed_exactly(name, monkeypatch):
    batch, order = batch_of(random_rows(30_000)), np.random.default_rng(0).permutation(30_000)
    whole = STATISTICS[name](batch)
    monkeypatch.setattr("sfumato.trusted.statistics.class_sums._NUMBERS_AT_ONCE", 5_000)
    assert np.array_equal(STATISTICS[name](batch), whole)
    assert same_for_any_split(STATISTICS[name], batch, [1, 2, 17, 4_000, 29_999], order)


@pytest.mark.parametrize("name", STATISTICS)
def test_the_sum_is_that_of_the_single_records(name):
    rows = random_rows(300)
    singles = sum(STATISTICS[name](batch_of(row[None])) for row in rows)
    assert np.array_equal(STATISTICS[name](batch_of(rows)), singles)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_vector_does_not_depend_on_the_company_of_its_record(kind, d):
    one, rng = a_map(kind, d), np.random.default_rng(0)
    places = draw(one, rng, 1_003)
    values, block = one(places)
    order = rng.permutation(places.shape[1])
    company = {
        "shuffled": (places[:, order], order),
        "cut": (places[:, 5:-7], np.arange(5, places.shape[1] - 7)),
        "alone": (places[:, 501:502], [501]),
        "behind others": (np.hstack([draw(one, rng, 13), places])[:, 13:], np.arange(places.shape[1])),
        "every third": (places[:, ::3], np.arange(0, places.shape[1], 3)),
        "in another layout": (np.asfortranarray(places), np.arange(places.shape[1])),
    }
    assert np.array_equal(values, np.trunc(values))
    for records, where in company.values():
        again, other = one(records)
        assert np.array_equal(again, values[:, where])
        assert np.array_equal(other, block[where])
    prepended, other = one(np.hstack([draw(one, rng, 13), places]))
    assert np.array_equal(prepended[:, 13:], values)
    assert np.array_equal(other[13:], block)


@pytest.mark.parametrize("name", STATISTICS)
def test_no_records_give_zeros(name):
    empty = STATISTICS[name](batch_of(np.empty((0, len(CODES)), dtype=np.int64)))
    assert empty.dtype == np.int64
    assert empty.tolist() == [0] * size_of(STATISTICS[name])


def test_a_class_without_records_is_zero_and_the_others_keep_their_sums():
    rows = random_rows(200)
    rows[:, 2] = 4
    classes = STATISTICS["every kind"].split(STATISTICS["every kind"](batch_of(rows)))
    assert [part.any() for part in classes] == [place == 4 for place in range(8)]
    assert [part.shape for part in classes] == [(one.blocks, one.width) for one in EVERY_KIND]


def test_a_rule_sums_what_a_target_of_the_same_classes_sums():
    rows = random_rows(500)
    by_rule = STATISTICS["by a rule"]
    batch = batch_of(rows)
    rows[:, 2] = RULE(batch, PLACES(batch))
    assert set(rows[:, 2]) == {0, 1, 2}
    by_target = ClassSums(PLACES, ByTarget("label", 3), by_rule.maps)
    assert np.array_equal(by_target(batch_of(rows)), by_rule(batch))


@pytest.mark.parametrize("name", STATISTICS)
def test_class_sums_survive_json(name):
    statistic = STATISTICS[name]
    again = statistic_from_dict(json.loads(json.dumps(statistic.to_dict())))
    assert again.to_dict() == statistic.to_dict()
    assert (again.columns, again.blocks, again.title) == (statistic.columns, statistic.blocks, statistic.title)
    batch = batch_of(random_rows(500))
    assert np.array_equal(again(batch), statistic(batch))
    for adjacency in Adjacency:
        assert again.sensitivity(adjacency) == statistic.sensitivity(adjacency)


def test_what_is_not_known_is_refused():
    content = STATISTICS["by a rule"].to_dict()
    with pytest.raises(BundleError, match="map of kind 'magic'"):
        statistic_from_dict({**content, "maps": [{"kind": "magic"}] * 3})
    with pytest.raises(BundleError, match="parting of kind 'magic'"):
        statistic_from_dict({**content, "parting": {"kind": "magic"}})
    with pytest.raises(ValueError, match="every class"):
        dataclasses.replace(STATISTICS["by a rule"], maps=NEVER_FAR)


def test_a_title_says_what_is_measured():
    every = STATISTICS["every kind"]
    assert all(one.name in every.title for one in every.maps)
    assert "of 2 columns by label" in every.title
    assert " by " not in STATISTICS["by a rule"].title.removeprefix("moments by shells")
    assert STATISTICS["by a rule"].columns == ("a", "b")
    assert every.columns == ("a", "b", "label")
