"""A mixture some of whose columns are drawn from another, against its own joint distribution, written out in full."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import RequestError
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.fitting.models.table_mixture.ties import Tie, function_table, tie_columns
from sfumato.trusted.encoding import Batch, CategoricalCodec

SIZES = {"child": 3, "other": 4, "parent": 5, "sister": 3}
NAMES = list(SIZES)
LISTED = {name: CategoricalCodec(tuple(range(size)), False, 0, False) for name, size in SIZES.items()}


def pieces(rng: np.random.Generator, size: int, cuts: list[int], components: int) -> Pieces:
    starts, stops = np.array([0, *cuts]), np.array([*cuts, size])
    theta = rng.dirichlet(np.ones(len(starts)), components)
    groups = np.arange(len(starts)) // (2 if len(starts) > 2 else 1)
    return Pieces(starts, stops, groups, np.full(len(starts), 0.01), theta)


def make(seed: int = 0, functions: bool = False) -> TableMixture:
    """Three components, a piece of the parent with two codes, a child and a sister that are drawn from it."""
    rng = np.random.default_rng(seed)
    columns = {
        "child": pieces(rng, 3, [1, 2], 3),
        "other": pieces(rng, 4, [1, 3], 3),
        "parent": pieces(rng, 5, [1, 2, 4], 3),
        "sister": pieces(rng, 3, [2], 3),
    }
    tables = {
        name: function_table(rng.integers(0, width, 4), width) if functions else rng.dirichlet(np.full(width, 0.5), 4)
        for name, width in (("child", 3), ("sister", 2))
    }
    ties = {name: Tie("parent", table) for name, table in tables.items()}
    return TableMixture(np.array([0.5, 0.3, 0.2]), tie_columns(columns, ties), 1000.0, ties=ties)


def inside(part: Pieces, code: int) -> tuple[int, float] | None:
    for piece, (start, stop) in enumerate(zip(part.starts, part.stops, strict=True)):
        if start <= code < stop:
            return piece, 1 / (stop - start)
    return None


def joint(model: TableMixture) -> np.ndarray:
    """The probability of every combination of codes, by the definition."""
    table = np.zeros(tuple(SIZES.values()))
    for codes in itertools.product(*(range(size) for size in SIZES.values())):
        found = {name: inside(model.columns[name], code) for name, code in zip(NAMES, codes, strict=True)}
        if any(one is None for one in found.values()):
            continue
        for k, weight in enumerate(model.weights):
            p = weight
            for name, (piece, share) in found.items():
                tie = model.ties.get(name)
                row = model.columns[name].theta[k] if tie is None else tie.table[found[tie.parent][0]]
                p *= row[piece] * share
            table[codes] += p
    return table


def everything(names: list[str]) -> Batch:
    codes = np.array(list(itertools.product(*(range(SIZES[name]) for name in names))), dtype=np.int32)
    return Batch(len(codes), {name: codes[:, place] for place, name in enumerate(names)})


def summed(table: np.ndarray, names: list[str]) -> np.ndarray:
    away = tuple(place for place, name in enumerate(NAMES) if name not in names)
    return table.sum(axis=away).ravel()


SOME = [list(names) for count in (1, 2, 3, 4) for names in itertools.combinations(NAMES, count)]
RUNS = {
    "child": [(0, 1), (2, 3)],
    "other": [(1, 2), (3, 4)],
    "parent": [(0, 1), (3, 5)],
    "sister": [(1, 3)],
}


@pytest.mark.parametrize("functions", [False, True])
@pytest.mark.parametrize("names", SOME, ids=" ".join)
def test_log_prob_sums_out_whatever_is_not_given(names, functions):
    model = make(functions=functions)
    table = joint(model)
    assert table.sum() == pytest.approx(1)
    assert np.allclose(np.exp(model.log_prob(everything(names))), summed(table, names))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("names", SOME, ids=" ".join)
def test_conditional_is_bayes_rule(name, names):
    """Of what is given the column itself counts for nothing."""
    model, given_names = make(1), [other for other in names if other != name]
    batch = everything(given_names) if given_names else Batch(1, {})
    told = model.conditional(Batch(batch.rows, {**batch.codes, name: np.zeros(batch.rows, dtype=np.int32)}), name)
    assert np.allclose(told.sum(axis=1), 1)
    order = sorted([*given_names, name], key=NAMES.index)
    table = summed(joint(model), order).reshape([SIZES[one] for one in order])
    table = np.moveaxis(table, order.index(name), -1).reshape(-1, SIZES[name])
    expected = table / table.sum(axis=1, keepdims=True)
    part = model.columns[name]
    for piece, (start, stop) in enumerate(zip(part.starts, part.stops, strict=True)):
        assert np.allclose(told[:, piece], expected[:, start:stop].sum(axis=1))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 5),
    functions=st.booleans(),
    order=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
    together=st.booleans(),
)
def test_conditions_are_exact_in_any_order(seed, functions, order, together):
    model = make(seed, functions)
    table = joint(model)
    kept = table.copy()
    for name in order:
        allowed = np.zeros(SIZES[name], dtype=bool)
        for start, stop in RUNS[name]:
            allowed[start:stop] = True
        kept = kept * allowed.reshape([-1 if one == name else 1 for one in NAMES])
    if kept.sum() <= 0:
        with pytest.raises(RequestError, match="no probability"):
            model.restrict([(name, RUNS[name]) for name in order])
        return
    restricted = model.restrict([(name, RUNS[name]) for name in order]) if together else model
    for name in () if together else order:
        restricted = restricted.restrict([(name, RUNS[name])])
    assert np.allclose(joint(restricted), kept / kept.sum())
    assert np.allclose(np.exp(restricted.log_prob(everything(NAMES))), (kept / kept.sum()).ravel())
    assert restricted.size == pytest.approx(1000 * kept.sum())
    for name in NAMES:
        assert np.allclose(np.exp(restricted.log_prob(everything([name]))), summed(kept / kept.sum(), [name]))


@pytest.mark.parametrize("given_runs", [[], ["child"], ["parent", "sister"]])
def test_a_sample_follows_the_joint(given_runs):
    model = make(3).restrict([(name, RUNS[name]) for name in given_runs])
    batch = model.sample(100_000, np.random.default_rng(0))
    assert list(batch.codes) == NAMES
    seen = np.zeros(tuple(SIZES.values()))
    np.add.at(seen, tuple(batch.codes.values()), 1)
    expected = 100_000 * joint(model)
    there = expected > 0
    assert not seen[~there].any()
    cells = there.sum()
    assert ((seen - expected)[there] ** 2 / expected[there]).sum() < cells + 5 * np.sqrt(2 * cells)


def test_a_function_is_never_broken():
    model = make(2, functions=True)
    for sampled in (model, model.restrict([("sister", RUNS["sister"])])):
        codes = sampled.sample(5_000, np.random.default_rng(1)).codes
        for name in ("child", "sister"):
            place, _ = sampled.columns["parent"].place(codes["parent"])
            drawn, _ = sampled.columns[name].place(codes[name])
            assert np.array_equal(drawn, sampled.ties[name].table.argmax(axis=1)[place])


@pytest.mark.parametrize("pair", list(itertools.permutations(NAMES, 2)), ids=" ".join)
def test_pairs_add_up(pair):
    model = make(4)
    order = sorted(pair, key=NAMES.index)
    full = summed(joint(model), order).reshape([SIZES[name] for name in order])
    full = full if order == list(pair) else full.T
    for axis, name in enumerate(pair):
        part = model.columns[name]
        group = np.repeat(part.groups, part.stops - part.starts)
        full = np.stack(
            [full.take(np.flatnonzero(group == one), axis).sum(axis=axis) for one in np.unique(group)], axis
        )
    assert np.allclose(model.pair(*pair), full)


def test_a_child_depends_on_its_parent_more_than_the_components_tell():
    model = make(2, functions=True)
    free = TableMixture(model.weights, model.columns, model.size)
    assert model.dependence("parent", "child") > free.dependence("parent", "child")
    assert model.dependence("child", "sister") >= free.dependence("child", "sister") - 1e-9


def test_models_with_other_ties_are_apart():
    model = make()
    assert model.distance(make()) == 0
    assert model.distance(TableMixture(model.weights, model.columns, model.size)) == 1
    table = model.ties["child"].table[:, ::-1].copy()
    other = {**model.ties, "child": Tie("parent", table)}
    moved = TableMixture(model.weights, tie_columns(model.columns, other), model.size, ties=other)
    assert model.distance(moved) > 0.01


@pytest.mark.parametrize("functions", [False, True])
def test_parts_go_out_and_come_back(functions):
    model = make(functions=functions)
    again = TableMixture.from_parts(*model.to_parts(), LISTED)
    assert np.array_equal(joint(again), joint(model))


def test_without_ties_nothing_of_them_is_written():
    model = make()
    free = TableMixture(model.weights, model.columns, model.size)
    assert "ties" not in free.to_parts()[0]


ROWS = make().ties["child"].table.tolist()
HOSTILE = {
    "of no column": {"nobody": {"parent": "parent", "table": ROWS}},
    "to no column": {"child": {"parent": "nobody", "table": ROWS}},
    "to itself": {"child": {"parent": "child", "table": np.eye(3).tolist()}},
    "to a child": {
        "child": {"parent": "parent", "table": ROWS},
        "sister": {"parent": "child", "table": [[1, 0], [1, 0], [1, 0]]},
    },
    "of another shape": {"child": {"parent": "parent", "table": ROWS[:-1]}},
    "not even": {"child": {"parent": "parent", "table": [ROWS[0][:-1], *ROWS[1:]]}},
    "no distribution": {"child": {"parent": "parent", "table": [[0.5, 0.5, 0.5], *ROWS[1:]]}},
    "below zero": {"child": {"parent": "parent", "table": [[-1.0, 1.0, 1.0], *ROWS[1:]]}},
    "no number": {"child": {"parent": "parent", "table": [[float("nan"), 1.0, 0.0], *ROWS[1:]]}},
    "another distribution": {"child": {"parent": "parent", "table": ROWS[::-1]}},
    "one more key": {"child": {"parent": "parent", "table": ROWS, "more": 1}},
    "nowhere": {"child": {"parent": "parent", "pieces": 3, "to": [0, 1, 2, 3]}},
    "no list": {"child": {"parent": "parent", "pieces": 3, "to": "0120"}},
    "empty": {"child": {"parent": "parent", "table": []}},
    "no tie": {"child": 3},
    "no ties": [1],
    "parent of no name": {"child": {"parent": ["parent"], "table": ROWS}},
}


@pytest.mark.parametrize("ties", HOSTILE.values(), ids=HOSTILE)
def test_unsound_ties_are_refused(ties):
    content, table = make().to_parts()
    with pytest.raises(ValueError, match=r"tie|column|array"):
        TableMixture.from_parts({**content, "ties": ties}, table, LISTED)


def test_functions_too_large_together_are_refused_before_they_are_tables(monkeypatch):
    """A small bundle may name many of them."""
    content, table = make(functions=True).to_parts()
    TableMixture.from_parts(content, table, LISTED)
    monkeypatch.setattr("sfumato.fitting.models.table_mixture.ties._MOST_OF_ALL", 19)
    with pytest.raises(ValueError, match="ties are too large"):
        TableMixture.from_parts(content, table, LISTED)
