"""The active set against slow and obvious methods, and against its own certificate."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sfumato_papers.liu.design import optimal_design
from sfumato_papers.liu.dual import Ellipsoid, holding_weights


def metric(rng: np.random.Generator, dimensions: int) -> np.ndarray:
    rows = rng.standard_normal((dimensions + 2, dimensions))
    return rows.T @ rows


def farthest(shifts: np.ndarray, covariance: np.ndarray) -> float:
    return float(np.einsum("ni,in->n", shifts, np.linalg.solve(covariance, shifts.T)).max())


def by_slsqp(shifts: np.ndarray, A: np.ndarray) -> float:
    """min tr(A P), with P^-1 = C C' for a lower triangle C: the constraints are |C'v|^2 <= 1."""
    rows, columns = places = np.tril_indices(shifts.shape[1])

    def triangle(entries: np.ndarray) -> np.ndarray:
        C = np.zeros_like(A)
        C[places] = entries
        return C

    def cost(entries: np.ndarray) -> tuple[float, np.ndarray]:
        half = np.linalg.inv(triangle(entries))
        spread = half @ A @ half.T / unit
        return np.trace(spread), -2 * (spread @ half).T[places]

    def room(entries: np.ndarray) -> np.ndarray:
        return 1 - ((shifts @ triangle(entries)) ** 2).sum(axis=1)

    def room_slope(entries: np.ndarray) -> np.ndarray:
        return -2 * shifts[:, rows] * (shifts @ triangle(entries))[:, columns]

    unit = np.trace(A) * (shifts**2).sum(axis=1).max()
    inside = {"type": "ineq", "fun": room, "jac": room_slope}
    start = np.eye(len(A))[places] / np.linalg.norm(shifts, axis=1).max()
    found = minimize(cost, start, jac=True, method="SLSQP", constraints=[inside], options={"ftol": 1e-12})
    assert found.success
    assert room(found.x).min() > -1e-9
    return float(unit * found.fun)


def by_multiplication(shifts: np.ndarray, A: np.ndarray, rounds: int = 3_000) -> tuple[float, float]:
    """Bounds on the least tr(A P) from  weight <- weight distance^2, which never makes the dual value smaller."""
    points = shifts @ np.linalg.cholesky(A)
    weights = np.full(len(points), 1 / len(points))
    for _ in range(rounds):
        squares, axes = np.linalg.eigh((points.T * weights) @ points)
        distances = np.einsum("ni,ij,nj->n", points, axes / np.sqrt(squares) @ axes.T, points)
        trace = np.sqrt(squares).sum()
        weights = weights * distances**2
        weights /= weights.sum()
    return trace**2, trace * distances.max()


@pytest.mark.parametrize(("seed", "count", "dimensions"), [(0, 4, 1), (1, 6, 2), (2, 12, 2), (3, 9, 3), (4, 15, 3)])
def test_it_is_what_slsqp_finds(seed, count, dimensions):
    rng = np.random.default_rng(seed)
    shifts, A = rng.standard_normal((count, dimensions)), metric(rng, dimensions)
    design = optimal_design(shifts, A)
    assert np.trace(A @ design.covariance) == pytest.approx(by_slsqp(shifts, A), rel=1e-6)


@pytest.mark.parametrize(("seed", "count", "dimensions"), [(5, 60, 4), (6, 200, 3)])
def test_it_lies_between_the_bounds_of_the_multiplicative_method(seed, count, dimensions):
    rng = np.random.default_rng(seed)
    shifts, A = rng.standard_normal((count, dimensions)), metric(rng, dimensions)
    lower, upper = by_multiplication(shifts, A)
    assert upper / lower - 1 < 1e-3
    assert lower * (1 - 1e-9) <= np.trace(A @ optimal_design(shifts, A).covariance) <= upper * (1 + 1e-9)


def test_in_one_dimension_the_longest_shift_decides():
    shifts = np.array([[0.5], [-3.0], [2.0]])
    assert optimal_design(shifts, np.array([[7.0]])).covariance == pytest.approx(np.array([[9.0]]))


def test_orthogonal_shifts_are_the_semi_axes():
    lengths = np.array([1.0, 2.0, 5.0])
    covariance = optimal_design(np.diag(lengths), np.eye(3)).covariance
    assert np.allclose(covariance, np.diag(lengths**2))


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 300), st.sampled_from(["normal", "heavy", "twice"]))
def test_it_is_certified_and_feasible(seed, dimensions, more, kind):
    rng = np.random.default_rng(seed)
    shifts = rng.standard_normal((dimensions + more, dimensions))
    if kind == "heavy":
        shifts = rng.standard_t(1.2, shifts.shape)
    if kind == "twice":
        shifts = np.concatenate((shifts, shifts))
    design = optimal_design(shifts, metric(rng, dimensions))
    assert design.gap <= 1e-9
    assert farthest(shifts, design.covariance) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize(("limit", "value"), [("design._PASSES", 1), ("dual._NEWTON_STEPS", 2)])
def test_it_is_feasible_wherever_the_search_stops(monkeypatch, limit, value):
    rng = np.random.default_rng(12)
    shifts, A = rng.standard_t(3, (500, 4)), metric(rng, 4)
    least = np.trace(A @ optimal_design(shifts, A).covariance)
    monkeypatch.setattr(f"sfumato_papers.liu.{limit}", value)
    early = optimal_design(shifts, A)
    assert early.gap > 1e-3
    assert farthest(shifts, early.covariance) == pytest.approx(1, rel=1e-9)
    assert least < np.trace(A @ early.covariance) <= (1 + early.gap) * least * (1 + 1e-9)


def test_another_metric_is_another_coordinate_system():
    rng = np.random.default_rng(7)
    shifts, turn = rng.standard_normal((50, 3)), rng.standard_normal((3, 3))
    A = turn @ turn.T
    plain = optimal_design(shifts @ turn, np.eye(3)).covariance
    back = np.linalg.inv(turn)
    assert np.allclose(optimal_design(shifts, A).covariance, back.T @ plain @ back, rtol=1e-4)


def test_distances_and_curvature_are_the_derivatives():
    rng = np.random.default_rng(8)
    points, weights = rng.standard_normal((7, 3)), rng.uniform(0.5, 2, 7)
    here, step = Ellipsoid.of(points, weights), 1e-5
    hessian = -here.curvature(points) @ here.curvature(points).T
    for i, change in enumerate(step * np.eye(7)):
        up, down = (Ellipsoid.of(points, weights + sign * change) for sign in (1, -1))
        assert (up.trace - down.trace) / step == pytest.approx(here.distances(points)[i], rel=1e-6)
        slope = (up.distances(points) - down.distances(points)) / (2 * step)
        assert np.allclose(slope, hessian[i], rtol=1e-5, atol=1e-7)


def test_weight_is_on_the_boundary_alone():
    rng = np.random.default_rng(9)
    points = rng.standard_normal((40, 3))
    weights = holding_weights(points, 1e-10)
    distances = Ellipsoid.of(points, weights).distances(points)
    held = weights > 1e-6 * weights.max()
    assert np.allclose(distances[held], 1, atol=1e-6)
    assert held.sum() <= 3 * 4 / 2
    assert (distances <= 1 + 1e-8).all()


def test_few_of_many_points_are_enough():
    """Four far points among thousands: what the rest looks like does not matter."""
    rng = np.random.default_rng(10)
    far = 100 * np.array([[1.0, 1], [1, -1], [3, 0.5], [0.1, 4]])
    near = rng.uniform(-10, 10, (5_000, 2))
    alone, together = (optimal_design(shifts, np.eye(2)).covariance for shifts in (far, np.concatenate((near, far))))
    assert np.allclose(alone, together, rtol=1e-6)


def test_a_smaller_set_never_needs_more():
    rng = np.random.default_rng(11)
    shifts, A = rng.standard_normal((60, 4)), metric(rng, 4)
    costs = [np.trace(A @ optimal_design(shifts[:count], A).covariance) for count in (5, 20, 60)]
    assert all(less <= more * (1 + 1e-9) for less, more in itertools.pairwise(costs))


def test_points_that_hold_a_short_axis_are_not_lost():
    """Half the shifts are ten thousand times longer than the rest, so that the weights of the rest are tiny."""
    rng = np.random.default_rng(0)
    shifts = rng.standard_normal((1_000, 5))
    shifts[:500, 0] *= 1e4
    assert optimal_design(shifts, np.eye(5)).gap <= 1e-9
