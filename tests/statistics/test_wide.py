"""Sums, distances and second moments of wide records: bounded, exact, and the same in any company."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import ByTarget, CentredProjection, ScaledColumns, Together
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.clipping import clip_to_ball
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import AtBounds, ClippedSums, DistanceHistogram, Scatter, size_of, statistic_from_dict
from sfumato.trusted.statistics import scatter as scatters
from tests.statistics.hunting import holds, hunt
from tests.statistics.splitting import same_for_any_split

NAMES = ("x_0", "x_1", "x_2", "x_3", "x_4", "n")
SCHEMA = Schema.from_yaml("""
{sfumato: 1, name: t, target: label, columns: [
  {name: "x_{0..4}", type: number, bounds: [0, 1]}, {name: n, type: integer, bounds: [0, 255]},
  {name: label, type: category, values: [p, q, r]}]}
""")
CODES = {**dict.fromkeys(NAMES[:-1], 2**20 + 2), "n": 256, "label": 3}
PLACES = ScaledColumns.of(SCHEMA.by_name, NAMES)
CENTRES = np.random.default_rng(0).uniform(0.3, 0.7, (3, 6))
DIRECTIONS = np.random.default_rng(1).normal(size=(4, 6)) * np.array([[30.0], [3.0], [1.0], [0.1]])
BY_LABEL = CentredProjection.of(PLACES, ByTarget("label", 3), CENTRES)
TURNED = CentredProjection.of(PLACES, ByTarget("label", 3), CENTRES, DIRECTIONS)
ALL = CentredProjection.of(PLACES, Together(), np.full(6, 0.5))
ENDS = tuple(np.linspace(0.1, 1.2, 12))
STATISTICS = {
    "pilot": ClippedSums(CentredProjection.of(PLACES, ByTarget("label", 3), np.full(6, 0.5)), math.sqrt(6) / 2, 1.0),
    "sums": ClippedSums(BY_LABEL, 0.3),
    "sums along directions": ClippedSums(TURNED, 2.0),
    "light counts": ClippedSums(BY_LABEL, 0.3, 0.25),
    "sums of all": ClippedSums(ALL, 0.3, 1.0),
    "at bounds of all": AtBounds(PLACES),
    "distances": DistanceHistogram(BY_LABEL, ENDS),
    "distances along directions": DistanceHistogram(TURNED, ENDS),
    "scatter": Scatter(BY_LABEL, 0.3, apart=False),
    "scatter of classes": Scatter(TURNED, 1.5, apart=True),
    "scatter of all": Scatter(ALL, 0.4, apart=False),
}
SEES_THE_LABEL = [name for name in STATISTICS if not name.endswith("of all")]


def batch_of(rows: np.ndarray) -> Batch:
    return Batch(len(rows), {name: rows[:, place].astype(np.int32) for place, name in enumerate(CODES)})


def random_rows(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, count) for size in CODES.values()])
    for column, size in enumerate(list(CODES.values())[:-1]):
        codes[::2, column] = np.clip(size * rng.normal(0.5, 0.02, len(codes[::2])), 0, size - 1)
    return codes


def slow(rows: np.ndarray, view: CentredProjection) -> tuple[np.ndarray, np.ndarray]:
    """z of each record by plain arithmetic on values from 0 to 1, and its class."""
    x = np.column_stack([PLACES(batch_of(rows))[j] / 2**21 for j in range(6)])
    classes = rows[:, -1] if view.parting.target else np.zeros(len(rows), dtype=int)
    return (x - view.exact_centres[classes]) @ view.exact_directions.T, classes


CHANGES = [
    pytest.param(name, adjacency, id=f"{name}, {adjacency}")
    for name in STATISTICS
    for adjacency in Adjacency
    if adjacency != Adjacency.LABEL or name in SEES_THE_LABEL
]


@pytest.mark.parametrize(("name", "adjacency"), CHANGES)
def test_no_neighbour_moves_a_sum_further_than_claimed(name, adjacency):
    statistic = STATISTICS[name]
    assert hunt(statistic, adjacency, CODES, "label", tries=400) <= statistic.sensitivity(adjacency)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "adjacency"), CHANGES)
def test_the_hunter_finds_a_claim_cut_to_two_thirds(name, adjacency):
    statistic = STATISTICS[name]

    class Cut(type(statistic)):
        def sensitivity(self, adjacency):
            return super().sensitivity(adjacency) * 2 / 3

    cut = Cut(*(getattr(statistic, field.name) for field in dataclasses.fields(statistic)))
    assert hunt(cut, adjacency, CODES, "label", tries=150) > cut.sensitivity(adjacency)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("name", ["sums", "distances", "scatter of classes"])
def test_the_claim_is_reached(name, adjacency):
    assert holds(STATISTICS[name], adjacency, CODES, "label") == (True, True)


def test_the_claims():
    pilot, scatter = STATISTICS["pilot"], STATISTICS["scatter"]
    assert [pilot.sensitivity(one) / UNIT for one in Adjacency] == pytest.approx([math.sqrt(2), 2, 2])
    assert [STATISTICS["sums"].sensitivity(one) / UNIT for one in Adjacency] == pytest.approx([1, 2, math.sqrt(2)])
    assert [scatter.sensitivity(one) / scatters.UNIT for one in Adjacency] == pytest.approx([1] + [math.sqrt(2)] * 2)
    assert scatter.blocks[1].weight ** 2 <= 2


@pytest.mark.parametrize("name", ["sums", "sums along directions", "sums of all"])
def test_sums_are_those_of_clipped_records(name):
    statistic, rows = STATISTICS[name], random_rows(400)
    z, classes = slow(rows, statistic.view)
    v = z / np.maximum(statistic.radius, np.linalg.norm(z, axis=1, keepdims=True))
    counts, sums = statistic.split(statistic(batch_of(rows)))
    for k in range(statistic.view.parting.size):
        assert np.allclose(sums[k], v[classes == k].sum(axis=0), atol=1e-4)
    assert len(counts) == (statistic.view.parting.size if statistic.count_weight else 0)
    if len(counts):
        assert counts.tolist() == np.bincount(classes, minlength=len(counts)).tolist()


@pytest.mark.parametrize("name", ["scatter", "scatter of classes", "scatter of all"])
def test_scatter_is_that_of_clipped_records(name):
    statistic, rows = STATISTICS[name], random_rows(400)
    z, classes = slow(rows, statistic.view)
    v = z / np.maximum(statistic.radius, np.linalg.norm(z, axis=1, keepdims=True))
    found = statistic.matrices(statistic(batch_of(rows)))
    for k in range(statistic.groups):
        mine = v[classes == k] if statistic.apart else v
        assert np.allclose(found[k], mine.T @ mine, atol=400 * 2.0**-14)
        assert np.array_equal(found[k], found[k].T)


@pytest.mark.parametrize("name", ["distances", "distances along directions"])
def test_distances_are_counted_in_their_cells(name):
    statistic, rows = STATISTICS[name], random_rows(400)
    z, _ = slow(rows, statistic.view)
    counted = np.bincount(np.searchsorted(ENDS, np.linalg.norm(z, axis=1)), minlength=len(ENDS) + 1)
    assert statistic(batch_of(rows)).tolist() == counted.tolist()


def test_values_on_a_bound_are_counted():
    low = [2**20, 2**20, 5, 2**20 + 1, 7, 0, 1]  # the code of an atom comes after the steps: low, then high
    rows = np.array([low, [5, 5, 5, 5, 5, 255, 0], [5, 5, 5, 5, 5, 100, 2]])
    assert AtBounds(PLACES)(batch_of(rows)).tolist() == [5]


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
    batch, order = batch_of(random_rows(20_000)), np.random.default_rng(0).permutation(20_000)
    whole = STATISTICS[name](batch)
    monkeypatch.setattr("sfumato.trusted.feature_maps.centred_projection._NUMBERS_AT_ONCE", 7_000)
    assert np.array_equal(STATISTICS[name](batch), whole)
    assert same_for_any_split(STATISTICS[name], batch, [1, 2, 17, 4_000, 19_999], order)


@pytest.mark.parametrize("columns", [784, 300])
def test_wide_records_add_the_same_alone_and_in_company(columns):
    """A product of floats would round a record by where it stands; of whole numbers it does not."""
    schema = Schema.from_yaml(f"""
    {{sfumato: 1, name: w, columns: [{{name: "p_{{0..{columns - 1}}}", type: number, bounds: [0, 1]}}]}}
    """)
    rng = np.random.default_rng(0)
    names = tuple(schema.by_name)
    batch = Batch(203, {name: rng.integers(0, 2**20, 203).astype(np.int32) for name in names})
    places = ScaledColumns.of(schema.by_name, names)
    view = CentredProjection.of(places, Together(), np.full(columns, 0.5), rng.normal(size=(67, columns)))
    alone = [Batch(1, {name: codes[n : n + 1] for name, codes in batch.codes.items()}) for n in range(203)]
    for statistic in (
        ClippedSums(view, 5.0),
        Scatter(view, 5.0, apart=False),
        DistanceHistogram(view, (5.0, 10.0, 20.0)),
    ):
        assert np.array_equal(sum(statistic(one) for one in alone), statistic(batch))


@pytest.mark.parametrize("name", STATISTICS)
def test_no_records_give_zeros(name):
    empty = STATISTICS[name](batch_of(np.empty((0, len(CODES)), dtype=np.int64)))
    assert empty.dtype == np.int64
    assert empty.tolist() == [0] * size_of(STATISTICS[name])


@pytest.mark.parametrize("radius", [0.0, 1e-12, 1e300])
def test_any_radius_keeps_the_bound(radius):
    rows = random_rows(300)
    rows[0] = [2**19, 2**19, 2**19, 2**19, 2**19, 128, 0]
    for statistic in (ClippedSums(ALL, radius), Scatter(ALL, radius, apart=False)):
        for row in rows[:60]:
            single = statistic(batch_of(row[None]))
            weights = np.repeat([one.weight for one in statistic.blocks], [one.size for one in statistic.blocks])
            assert np.linalg.norm(weights * single) <= statistic.sensitivity(Adjacency.ADD_REMOVE)


@pytest.mark.parametrize("name", STATISTICS)
def test_they_survive_json(name):
    statistic = STATISTICS[name]
    again = statistic_from_dict(json.loads(json.dumps(statistic.to_dict())))
    assert again.to_dict() == statistic.to_dict()
    assert (again.columns, again.blocks, again.title) == (statistic.columns, statistic.blocks, statistic.title)
    batch = batch_of(random_rows(300))
    assert np.array_equal(again(batch), statistic(batch))


def test_a_view_is_as_near_as_its_bits():
    assert np.allclose(TURNED.exact_directions, DIRECTIONS, rtol=1e-5, atol=1e-7)
    assert np.allclose(TURNED.exact_centres, CENTRES, atol=2.0**-21)
    assert np.array_equal(ALL.exact_directions, np.eye(6))


@pytest.mark.parametrize(
    "change",
    [
        {"centres": np.zeros((2, 6), dtype=np.int32)},
        {"centres": np.full((3, 6), 2**22, dtype=np.int32)},
        {"directions": np.ones((4, 5), dtype=np.int32)},
        {"directions": np.full((4, 6), 2**30, dtype=np.int32)},
        {"shift": -1},
    ],
)
def test_a_view_that_could_not_be_exact_is_refused(change):
    with pytest.raises(ValueError, match="view"):
        dataclasses.replace(TURNED, **change)


def test_bounds_that_are_none_are_refused():
    with pytest.raises(ValueError, match="radius"):
        ClippedSums(ALL, -1.0)
    with pytest.raises(ValueError, match="radius"):
        Scatter(ALL, math.inf, apart=False)
    with pytest.raises(ValueError, match="rise"):
        DistanceHistogram(ALL, (1.0, 1.0))


def test_titles_say_what_is_measured():
    assert STATISTICS["pilot"].title.startswith("counts and sums of records in 6 directions by label")
    assert "in 4 directions by label" in STATISTICS["scatter of classes"].title
    assert "label" not in STATISTICS["scatter of all"].title
    assert STATISTICS["distances"].title == "distances of records in 6 directions, in 13 cells"
    assert STATISTICS["sums of all"].columns == NAMES


def test_a_vector_that_rounding_made_too_long_counts_for_nothing(monkeypatch):
    monkeypatch.setattr("sfumato.trusted.feature_maps.clipping.A_HAIR_LESS", 1.01)
    z = np.array([[3.0, 0.1], [4.0, 0.2]])
    assert np.array_equal(clip_to_ball(z, 1.0, 1_000) == 0, [[True, False], [True, False]])
