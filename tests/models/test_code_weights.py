"""Weights inside pieces: what is drawn, told and conditioned on is one distribution."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.fitting.models.table_mixture import alike_codes
from sfumato.fitting.models.table_mixture.code_weights import CodeWeights
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.trusted.encoding import Batch, codes_of
from sfumato.trusted.encoding.kinds import kinds_of
from sfumato.trusted.schema import Schema

SCHEMA = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: integer, bounds: [0, 199], missing: true}]}")
CODES = codes_of(SCHEMA["x"])
KINDS = kinds_of(CODES)


def weights() -> CodeWeights:
    rng = np.random.default_rng(0)
    return CodeWeights(CODES, np.array([0, 90]), rng.random((2, KINDS.size)) + 0.01)


def model() -> TableMixture:
    starts = np.array([0, 1, 40, 77, 199, 200])
    theta = np.array([[0.1, 0.3, 0.2, 0.2, 0.1, 0.1], [0.0, 0.1, 0.5, 0.2, 0.1, 0.1]])
    pieces = Pieces(starts, np.append(starts[1:], CODES.size), np.arange(6), np.full(6, 0.01), theta, weights())
    return TableMixture(np.array([0.3, 0.7]), {"x": pieces}, 100.0)


def slow_probabilities(made: TableMixture) -> np.ndarray:
    """Of every code, one by one."""
    pieces, share, given = made.columns["x"], made.marginal("x"), weights()
    found = np.zeros(CODES.size)
    for start, stop, probability in zip(pieces.starts, pieces.stops, share, strict=True):
        each = [given.rates[int(code >= 90), KINDS.of_code[code]] for code in range(start, stop)]
        found[start:stop] = probability * np.array(each) / sum(each)
    return found


def test_log_prob_is_that_of_every_code():
    made = model()
    told = np.exp(made.log_prob(Batch(CODES.size, {"x": np.arange(CODES.size, dtype=np.int32)})))
    assert np.allclose(told, slow_probabilities(made))
    assert told.sum() == pytest.approx(1)


def test_samples_follow_them():
    made = model()
    drawn = made.sample(200_000, np.random.default_rng(1)).codes["x"]
    counted = np.bincount(drawn, minlength=CODES.size) / 200_000
    assert np.abs(counted - slow_probabilities(made)).max() < 0.005


@pytest.mark.parametrize("limit", ["_MOST_PIECES", "_MOST_KEYS"])
def test_pieces_too_many_for_a_table_are_drawn_one_by_one(limit, monkeypatch):
    monkeypatch.setattr(alike_codes, limit, 5)
    made, piece = model().columns["x"], np.repeat(np.arange(6), 6_000)
    drawn = [draw(piece, np.random.default_rng(2)) for draw in (made.draw, made.draw_one_by_one)]
    assert np.array_equal(*drawn)


def test_few_draws_and_many_are_of_one_distribution():
    made = model().columns["x"]
    piece = np.repeat(np.arange(6), 60_000)
    many, few = made.draw(piece, np.random.default_rng(2)), made.draw_one_by_one(piece, np.random.default_rng(3))
    each = np.array([np.bincount(drawn, minlength=CODES.size) / 60_000 for drawn in (many, few)])
    expected = slow_probabilities(model()) / model().marginal("x")[made.place(np.arange(CODES.size))[0]]
    assert np.abs(each - expected).max() < 5 * np.sqrt(0.25 / 60_000)
    assert ((made.starts[piece] <= many) & (many < made.stops[piece])).all()


def test_many_draws_of_weights_very_far_apart():
    rates = np.full((1, KINDS.size), 1.0)
    rates[0, KINDS.of_code[7]] = 1e14
    pieces = Pieces(
        np.array([0, 100]),
        np.array([100, CODES.size]),
        np.arange(2),
        np.zeros(2),
        np.full((1, 2), 0.5),
        CodeWeights(CODES, np.array([0]), rates),
    )
    drawn = pieces.draw(np.repeat([0, 1], 20_000), np.random.default_rng(4))
    heavy = np.flatnonzero(KINDS.of_code == KINDS.of_code[7])
    assert set(drawn.tolist()) == set(heavy.tolist())
    assert (drawn[:20_000] < 100).all()
    assert (drawn[20_000:] >= 100).all()


def test_conditions_cdf_quantiles_and_means_agree_with_them():
    made, probability = model(), slow_probabilities(model())
    within = made.restrict([("x", [(30, 60)])])
    assert within.size == pytest.approx(100 * probability[30:60].sum())
    told = np.exp(within.log_prob(Batch(30, {"x": np.arange(30, 60, dtype=np.int32)})))
    assert np.allclose(told, probability[30:60] / probability[30:60].sum())
    known = probability[:200] / probability[:200].sum()
    assert np.allclose(
        made.cdf("x", np.array([-1.0, 0.0, 41.5, 120.0, 500.0]), CODES),
        [0, known[0], known[:42].sum(), known[:121].sum(), 1],
    )
    assert made.quantile("x", np.array([known[:121].sum()]), CODES)[0] == 120
    mean, _, _ = made.condition([]).estimate_mean("x", CODES, [], [count_of_everything()])
    assert mean == pytest.approx(known @ np.arange(200))


def count_of_everything():
    from sfumato.trusted.feature_maps import Grid
    from sfumato.trusted.measurement import Measurement
    from sfumato.trusted.statistics import Cells

    grid = Grid.of_cells(np.arange(CODES.size))
    return Measurement(Cells((("x",),), {"x": grid}, None), 1.0, 1.0, np.zeros(CODES.size, dtype=np.int64))


def test_they_are_stored_with_the_model():
    content, table = model().to_parts()
    again = TableMixture.from_parts(content, table, {"x": CODES})
    assert np.array_equal(again.columns["x"].weights.rates, weights().rates)
    assert again.distance(model()) == 0
    content["code_weights"]["x"]["rates"][0][0] *= 2
    assert TableMixture.from_parts(content, table, {"x": CODES}).distance(model()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"starts": [1, 90]},
        {"starts": [0, 500]},
        {"starts": [0]},
        {"rates": [[0.0] * KINDS.size] * 2},
        {"rates": [[1.0]] * 2},
        {"rates": [[1e300] * KINDS.size] * 2},
        {"rates": [[1.0] * (KINDS.size - 1) + [1e20]] * 2},
        {"rates": [[float("nan")] * KINDS.size] * 2},
        {"more": 1},
    ],
)
def test_weights_that_are_none_are_refused(change):
    with pytest.raises(ValueError, match=r"region|weights"):
        CodeWeights.from_dict(weights().to_dict() | change, CODES)


def test_a_list_has_none():
    listed = codes_of(Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: boolean}]}")["x"])
    with pytest.raises(ValueError, match="scale"):
        CodeWeights.from_dict({"starts": [0], "rates": [[1.0]]}, listed)


def test_a_release_keeps_them(tmp_path):
    rng = np.random.default_rng(0)
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [0, 1000]}]}")
    made = sfumato.release(
        pa.table({"x": np.rint(rng.normal(500, 90, 9_000))}), schema, epsilon=3.0, ledger=None, types="declared"
    )
    made.save(tmp_path / "b.sfumato")
    opened = sfumato.open(tmp_path / "b.sfumato")
    drawn = opened.sample(2_000, seed=1).column("x").to_numpy()
    assert np.mean(drawn == np.rint(drawn)) > 0.999
    assert opened.sample(50, seed=1).equals(made.sample(50, seed=1))


def test_groups_and_pieces_with_the_missing_value_end_where_the_others_do():
    """No fit makes one; a bundle may hold it."""
    column = Schema.from_dict(
        {"sfumato": 1, "name": "t", "columns": [{"name": "x", "type": "integer", "bounds": [3, 9], "missing": True}]}
    )["x"]
    codes = codes_of(column)
    for starts in (np.arange(codes.size), np.array([0])):
        stops = np.append(starts[1:], codes.size)
        theta = np.full((1, len(starts)), 1 / len(starts))
        pieces = Pieces(starts, stops, 0 * starts, 0.0 * starts, theta)
        told = TableMixture(np.ones(1), {"x": pieces}, 10.0).describe("x", codes)
        assert (told["first"].to_pylist(), told["last"].to_pylist()) == ([3], [9])
