"""The mixture of a step against its law, written out: conditionals, pairs, histories, draws, storage."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given as drawn_from
from hypothesis import settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato.fitting.families.step_mixture import Factor, Shape, StepMixture
from sfumato.fitting.models.table_mixture.model import Pieces
from sfumato.trusted.encoding import Batch, codes_of
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.schema import Schema
from tests.families.mixtures import CELLS, given, law_of_cells, law_of_codes, random_mixture, share_in_cell

SEEDS = st.integers(0, 10**6)


def fits(drawn: np.ndarray, law: np.ndarray) -> bool:
    """Whether draws may be of this law: not refused at one in a million."""
    counts, there = np.bincount(drawn, minlength=len(law)), law > 0
    assert counts[~there].sum() == 0
    if there.sum() == 1:  # there is no other
        return True
    return chisquare(counts[there], counts.sum() * law[there] / law[there].sum()).pvalue > 1e-6


def codes_in_cells(name: str, p: np.ndarray) -> np.ndarray:
    return np.bincount(CELLS[name], weights=p)


def test_the_law_sums_to_one():
    model = random_mixture()
    assert law_of_codes(model).sum() == pytest.approx(1)
    assert sum(part.sum() for part in law_of_cells(model).values()) == pytest.approx(1)


@drawn_from(SEEDS)
@settings(max_examples=15)
def test_marginals_and_pairs_are_those_of_the_law(seed):
    model = random_mixture(seed)
    law = law_of_codes(model)
    for name in CELLS:
        assert model.marginal(name) == pytest.approx(codes_in_cells(name, given(law, {}, name)), abs=1e-6)
    for first, second in itertools.permutations(CELLS, 2):
        slow = np.zeros((max(CELLS[first]) + 1, max(CELLS[second]) + 1))
        both = law.sum(axis=tuple(place for place, name in enumerate(CELLS) if name not in (first, second)))
        both = both if list(CELLS).index(first) < list(CELLS).index(second) else both.T
        np.add.at(slow, np.ix_(CELLS[first], CELLS[second]), both)
        assert model.pair(first, second) == pytest.approx(slow, abs=1e-6)


@drawn_from(SEEDS, st.sets(st.sampled_from(list(CELLS))), st.sampled_from(list(CELLS)))
def test_conditionals_are_those_of_the_law(seed, known, name):
    """Whatever else is known of a record; a column that is not known is summed out."""
    model, rng = random_mixture(seed), np.random.default_rng(seed)
    record = {one: int(rng.integers(len(CELLS[one]))) for one in CELLS if one in known and one != name}
    batch = Batch(2, {one: np.array([code, code], dtype=np.int32) for one, code in record.items()})
    told = model.conditional(batch, name)
    assert told.shape == (2, max(CELLS[name]) + 1)
    assert told[1] == pytest.approx(codes_in_cells(name, given(law_of_codes(model), record, name)), abs=1e-5)


def test_the_value_of_the_column_itself_is_not_looked_at():
    model = random_mixture()
    known = {name: np.zeros(3, dtype=np.int32) for name in CELLS}
    without = {name: codes for name, codes in known.items() if name != "x"}
    assert np.array_equal(model.conditional(Batch(3, known), "x"), model.conditional(Batch(3, without), "x"))


@pytest.mark.parametrize("seed", range(3))
def test_draws_follow_the_law_given_what_is_known(seed):
    model, rng = random_mixture(seed), np.random.default_rng(seed)
    law, record = law_of_codes(model), {"s": 3, "previous x": 2}
    known = {name: np.full(20_000, code, dtype=np.int32) for name, code in record.items()}
    codes, component = model.draw(known, ("x", "y"), rng, None)
    joint = law[record["s"], record["previous x"]]
    assert fits(codes["x"] * joint.shape[1] + codes["y"], (joint / joint.sum()).ravel())
    weights = sum(part for (s, old, *_), part in law_of_cells(model).items() if (s, old) == (2, 1))
    assert fits(component, weights / weights.sum())


def test_a_check_of_draws_can_fail():
    law = given(law_of_codes(random_mixture()), {}, "x")
    assert fits(np.random.default_rng(0).choice(len(law), 20_000, p=law), law)
    assert not fits(np.random.default_rng(0).choice(len(law), 20_000, p=(law + 0.02) / (1 + 0.02 * len(law))), law)


def test_whole_records_follow_the_law():
    model = random_mixture(1)
    batch = model.pool(40_000, np.random.default_rng(1))
    law = law_of_codes(model)
    place = np.ravel_multi_index([batch.codes[name] for name in CELLS], law.shape)
    likely = law.ravel() * 40_000 > 5
    counts = np.bincount(place, minlength=law.size)
    folded = np.searchsorted(np.flatnonzero(likely), place)
    folded = np.where(likely[place], folded, likely.sum())  # what is unlikely counts together
    assert counts[likely].sum() == (folded < likely.sum()).sum()
    assert fits(folded, np.append(law.ravel()[likely], law.ravel()[~likely].sum()))


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_no_draw_is_beyond_its_limit_and_below_it_the_law_holds(most):
    model, rng, record = random_mixture(2), np.random.default_rng(most), {"s": 1, "previous x": 0}
    known = {name: np.full(10_000, code, dtype=np.int32) for name, code in record.items()}
    codes, _ = model.draw(known, ("x", "y"), rng, None, {"x": np.full(10_000, most, dtype=np.int32)})
    joint = law_of_codes(model)[record["s"], record["previous x"], : most + 1]
    assert codes["x"].max() <= most
    assert fits(codes["x"] * joint.shape[1] + codes["y"], (joint / joint.sum()).ravel())


def test_memory_moves_the_components():
    model, record = random_mixture(3), {"s": np.zeros(20_000, dtype=np.int32)}
    memory = np.tile(np.array([0.0, 2.0, -1.0], dtype=np.float32), (20_000, 1))
    _, component = model.draw(record, ("y",), np.random.default_rng(0), memory)
    weights = sum(part for (s, *_), part in law_of_cells(model).items() if s == 0) * np.exp([0.0, 2.0, -1.0])
    assert fits(component, weights / weights.sum())


def test_histories_are_what_a_step_told_beyond_its_own_row():
    model = random_mixture(4)
    rng = np.random.default_rng(0)
    old, new = (rng.integers(4, size=9).astype(np.int32) for _ in range(2))
    theta = next(factor.theta for factor in model.factors if len(factor.names) == 2)
    for row, told in enumerate(model.history({"previous x": old}, {"x": new})):
        step = theta[:, CELLS["previous x"][old[row]], CELLS["x"][new[row]]]
        alone = theta[:, CELLS["previous x"][new[row]]].sum(axis=1)
        assert told == pytest.approx(np.log(step / alone), abs=1e-5)


@pytest.mark.parametrize("name", CELLS)
def test_codes_of_a_cell_follow_its_shape(name):
    model = random_mixture(5)
    shape, share = model.shapes[name], share_in_cell(model, name)
    for cell in range(shape.grid.size):
        drawn = shape.draw(np.full(8_000, cell), np.random.default_rng(cell))
        assert fits(drawn, np.where(np.array(CELLS[name]) == cell, share, 0.0))
    limits = np.arange(len(CELLS[name]), dtype=np.int32)
    inside = np.array(CELLS[name])[:, None] == np.arange(shape.grid.size)
    slow = [(share[: code + 1, None] * inside[: code + 1]).sum(axis=0) for code in limits]
    assert shape.shares_up_to(limits) == pytest.approx(np.array(slow))


def test_a_column_by_itself_keeps_cells_and_shapes():
    model = random_mixture(6)
    for name in CELLS:
        alone = model.column_model(name)
        assert alone.marginal(name) == pytest.approx(given(law_of_codes(model), {}, name), abs=1e-6)


COLUMNS = Schema.from_dict(
    {
        "sfumato": 1,
        "name": "t",
        "columns": [{"name": name, "type": "integer", "bounds": [0, len(cells) - 1]} for name, cells in CELLS.items()],
    }
).by_name
CODES = {name: codes_of(column) for name, column in COLUMNS.items()}


def test_a_model_comes_back_as_it_was():
    model = random_mixture(7)
    again = StepMixture.from_parts(*model.to_parts(), CODES)
    assert model.distance(again) < 1e-12  # the same numbers in another order in memory: a product's last bit
    assert model.distance(random_mixture(8)) > 0.01
    one, two = (each.pool(50, np.random.default_rng(0)).codes for each in (model, again))
    assert all(np.array_equal(one[name], two[name]) for name in CELLS)


WRONG = {
    "weights": lambda content, table: ({**content, "weights": [0.5, 0.4, 0.3]}, table),
    "a key more": lambda content, table: ({**content, "more": 1}, table),
    "a factor less": lambda content, table: ({**content, "factors": content["factors"][1:]}, table),
    "a factor twice": lambda content, table: ({**content, "factors": [["s"], ["s"], ["previous x", "x"]]}, table),
    "no size": lambda content, table: ({**content, "size": 0.0}, table),
    "no rows": lambda content, table: (content, table.slice(0, 0)),
    "another type": lambda content, table: (content, pa.table({"factor": table.column(0), "theta": table.column(0)})),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_content_that_is_no_model_is_refused(change):
    with pytest.raises((ValueError, KeyError)):
        StepMixture.from_parts(*change(*random_mixture().to_parts()), CODES)


def test_what_is_no_distribution_is_refused():
    for theta in ([[0.5, 0.4]], [[1.5, -0.5]], [[np.nan, 1.0]], [[1.0, 0.0]]):
        with pytest.raises(ValueError, match="a distribution in every component"):
            Factor(("x",), np.array(theta))
    one = np.arange(2)
    pieces = Pieces(one * 2, one * 2 + 2, one, np.zeros(2), np.array([[0.5, 0.5]]))
    with pytest.raises(ValueError, match="do not lie in the cells"):
        Shape.of(Grid.of_cells(np.array([0, 1, 1, 1])), pieces)
