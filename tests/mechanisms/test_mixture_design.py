"""The public design: its risks against drawn records, its table against a fresh search."""

import numpy as np
import pytest

from sfumato.fitting.mechanisms.mixture.design import (
    LEVELS,
    best_weights,
    build_design,
    chi2_nodes,
    fit_radial_weight,
    hampel_risk,
    level_of,
    lift_risk,
    residual,
    x_of,
)
from sfumato.fitting.mechanisms.mixture.symmetric import svec
from sfumato.trusted.feature_maps import Whitening

DRAWS = 200_000


def told(z: np.ndarray) -> np.ndarray:
    """What each record adds to its class's own log count, mean and covariance (draws x parameters)."""
    second = svec(z[:, :, None] * z[:, None, :] - np.eye(z.shape[1]))
    return np.hstack([np.zeros((len(z), 1)), z, second])


def errors(z: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A linear estimate from scores: what each record gets wrong by chance, and what unit noise does to it."""
    own = told(z)
    score = np.hstack([np.ones((len(z), 1)), z, own[:, 1 + z.shape[1] :] / 2])  # d log(n p) / d parameters
    inverse = np.linalg.pinv(scores.T @ score / len(z))
    return (scores - scores.mean(axis=0)) @ inverse.T - own, inverse


def risk_of(z: np.ndarray, scores: np.ndarray, x: float) -> float:
    """n times the expected KL divergence to second order, count included."""
    d = z.shape[1]
    price = np.concatenate([np.full(1 + d, 0.5), np.full(d * (d + 1) // 2, 0.25)])
    wrong, inverse = errors(z, scores)
    return float(price @ (wrong**2).mean(axis=0) + price @ (inverse**2).sum(axis=1) / x)


def drawn(d: int) -> np.ndarray:
    """Standard normal records whose |z|^2 are the nodes: these leave out the far tail, about 1 in 800."""
    z = np.random.default_rng(d).standard_normal((DRAWS, d))
    return z * np.sqrt(np.resize(chi2_nodes(d), DRAWS) / (z * z).sum(axis=1))[:, None]


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("x", [1.0, 300.0, 30_000.0])
def test_the_risk_of_a_lift_is_that_of_drawn_records(d, x):
    h, reach = 1.2, 3.0 * d
    z = drawn(d)
    t = (z * z).sum(axis=1)
    k = np.minimum(1 / reach, 1 / (h * h + t))[:, None]
    scores = k * np.hstack([np.full((DRAWS, 1), h * h), np.sqrt(2) * h * z, svec(z[:, :, None] * z[:, None, :])])
    assert lift_risk(h, reach, d, x) == pytest.approx(risk_of(z, scores, x), rel=0.03)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("x", [1.0, 300.0, 30_000.0])
def test_the_risk_of_hampel_scores_is_that_of_drawn_records(d, x):
    w, a, b, e, c = weights = (0.4, 0.4 / np.sqrt(d), 0.5 / d, 0.6 / d, 1.3)
    z = drawn(d)
    t = (z * z).sum(axis=1)
    second = svec(z[:, :, None] * z[:, None, :] - (t / d)[:, None, None] * np.eye(d))
    level = (t - c * d) / np.sqrt(d)
    long = np.sqrt(a * a * t + b * b * (second**2).sum(axis=1) + (e * level) ** 2)
    k = np.minimum(1, np.sqrt(1 - w * w) / long)[:, None]
    scores = np.hstack([np.full((DRAWS, 1), w), k * a * z, k * b * second, k * e * level[:, None]])
    assert hampel_risk(weights, d, x) == pytest.approx(risk_of(z, scores, x), rel=0.03)


@pytest.mark.parametrize("kind", ["hampel", "lift"])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("strength", [30.0, 20_000.0])
def test_what_the_damping_leaves_to_chance_is_that_of_drawn_records(kind, d, strength):
    one = build_design(kind, Whitening.of(100 * np.eye(d), np.full(d, 0.5)), strength, 1.0)
    z = np.random.default_rng(d).normal(size=(400_000, d))
    places = np.rint(2.0**21 * (0.5 + z.T / 100))
    wrong, _ = errors(z, one(places).values.T)
    mean, shape, trace = residual(one)
    near = 0.05 if strength < 1_000 else 0.25  # there a few records of the tail decide
    along = svec(np.eye(d)) / np.sqrt(d)
    of_trace = wrong[:, 1 + d :] @ along
    seen = (wrong[:, 1 + d :] - of_trace[:, None] * along).var(axis=0).sum() / max(len(along) - 1, 1)
    assert mean == pytest.approx(wrong[:, 1 : 1 + d].var(axis=0).mean(), rel=near)
    assert trace == pytest.approx(of_trace.var(), rel=near)
    if d > 1:
        assert shape == pytest.approx(seen, rel=near)


@pytest.mark.parametrize("kind", ["hampel", "lift"])
@pytest.mark.parametrize(("d", "level"), [(1, 0), (2, 8), (5, 14), (32, 20)])
def test_the_table_is_what_a_search_finds(kind, d, level):
    one = build_design(kind, Whitening.of(np.eye(d), np.full(d, 0.5)), x_of(level), 1.0)
    found = best_weights(kind, d, level)
    assert [float(f"{weight:.6g}") for weight in found[:1]] == [one.w if kind == "hampel" else one.h]
    used = [one.w, one.a, one.b, one.e, one.c] if kind == "hampel" else [one.h, found[1]]
    risk = hampel_risk if kind == "hampel" else lambda both, *more: lift_risk(*both, *more)
    assert risk(tuple(used), d, x_of(level)) == pytest.approx(risk(tuple(found), d, x_of(level)), rel=1e-4)


@pytest.mark.parametrize("kind", ["hampel", "lift"])
def test_other_weights_are_no_better(kind):
    found = np.array(best_weights(kind, 3, 9))

    def risk(one: np.ndarray) -> float:
        return hampel_risk(tuple(one), 3, x_of(9)) if kind == "hampel" else lift_risk(*one, 3, x_of(9))

    for place in range(len(found)):
        for factor in (0.9, 1.1):
            moved = found.copy()
            moved[place] *= factor
            assert risk(moved) >= risk(found) * (1 - 1e-4)


@pytest.mark.parametrize("kind", ["hampel", "lift"])
@pytest.mark.parametrize("d", [1, 2, 8, 32])
def test_the_damping_stays_below_what_keeps_the_norm(kind, d):
    for level in (0, 10, LEVELS - 1):
        one = build_design(kind, Whitening.of(np.eye(d), np.full(d, 0.5)), x_of(level), 1.0)
        t = np.concatenate([np.linspace(0, 12 * d, 3_000), np.geomspace(12 * d, 3_000 * d, 500)])
        kappa = np.exp(-np.outer(t, one.damping.rates)) @ np.array(one.damping.coefficients)
        room = np.sqrt(1 - one.w**2) if kind == "hampel" else 1.0
        assert (kappa * one.norm(t)).max() <= room * (1 + 1e-3)
        assert one.damping == fit_radial_weight(kind, d, used_weights(kind, d, level), 24)


def used_weights(kind: str, d: int, level: int) -> tuple[float, ...]:
    return tuple(float(f"{weight:.6g}") for weight in best_weights(kind, d, level))


@pytest.mark.parametrize("level", range(LEVELS))
def test_levels_and_their_x_agree(level):
    assert level_of(x_of(level)) == level


def test_an_x_beyond_the_grid_has_the_nearest_level():
    assert [level_of(x) for x in (0.0, 1e-30, 1e30)] == [0, 0, LEVELS - 1]


@pytest.mark.parametrize("d", [1, 5, 32])
def test_nodes_have_the_moments_of_chi_squared(d):
    t = chi2_nodes(d)
    assert t.mean() == pytest.approx(d, rel=0.01)
    assert t.var() == pytest.approx(2 * d, rel=0.05)
