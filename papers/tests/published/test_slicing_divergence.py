"""f-divergences against slow versions, the ratio of densities against known ones, and what becomes of modes."""

import itertools
import math

import numpy as np
import pytest
import torch
from experiments.slicing import consistency
from sfumato_papers.baselines.networks import network, noise, seeded
from sfumato_papers.slicing import DIVERGENCES, LeastSquares, MomentMatching, Slicing, Training
from sfumato_papers.slicing.divergence import CORNER, divergence_called, estimate, loss
from sfumato_papers.slicing.ratio import kernel
from sfumato_papers.slicing.training import train

from sfumato.errors import RequestError

every_divergence = pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=lambda each: each.name)
both_estimators = pytest.mark.parametrize("estimator", [LeastSquares(), MomentMatching()], ids=["squares", "moments"])
RATIOS = torch.tensor([0.01, 0.2, 0.9, 1.0, 1.3, 4.0, 50.0], dtype=torch.float64)


def normal(seed: int, points: int, mean: float = 0.0, deviation: float = 1.0, slices: int = 2) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(mean, deviation, (slices, points)))


# formulas


def slow(name: str, p: float, q: float) -> float:
    """What one place adds to the divergence, as it is written in books; the total variation without its rounding."""
    half = (p + q) / 2
    return {
        "KL": p * math.log(p / q),
        "reverse KL": q * math.log(q / p),
        "Jensen-Shannon": (p * math.log(p / half) + q * math.log(q / half)) / 2,
        "chi-squared": (p - q) ** 2 / q,
        "total variation": abs(p - q) / 2,
    }[name]


@every_divergence
def test_the_divergence_of_two_small_distributions(divergence):
    p, q = (0.2, 0.5, 0.3), (0.4, 0.1, 0.5)
    written = sum(slow(divergence.name, *pair) for pair in zip(p, q, strict=True))
    found = float(torch.tensor(q) @ divergence.f(torch.tensor(p) / torch.tensor(q)))
    slack = CORNER / 2 if divergence.name == "total variation" else 1e-6
    assert written - slack <= found <= written + 1e-6


@every_divergence
def test_the_slope_is_the_slope(divergence):
    step = 1e-6 * RATIOS
    numerical = (divergence.f(RATIOS + step) - divergence.f(RATIOS - step)) / (2 * step)
    assert divergence.slope(RATIOS).numpy() == pytest.approx(numerical.numpy(), rel=1e-4, abs=1e-6)


@every_divergence
def test_the_variation_is_f_less_r_times_its_slope(divergence):
    expected = divergence.f(RATIOS) - RATIOS * divergence.slope(RATIOS)
    assert divergence.variation(RATIOS).numpy() == pytest.approx(expected.numpy(), rel=1e-9, abs=1e-12)


@every_divergence
def test_the_variation_is_how_the_divergence_moves_with_q(divergence):
    p, q = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64), torch.tensor([0.4, 0.1, 0.5], dtype=torch.float64)
    for place in range(3):
        step = 1e-6 * torch.eye(3, dtype=torch.float64)[place]
        up, down = ((q + s) @ divergence.f(p / (q + s)) for s in (step, -step))
        assert float(up - down) / 2e-6 == pytest.approx(float(divergence.variation(p / q)[place]), rel=1e-5)


@every_divergence
def test_f_is_convex_and_least_where_both_agree(divergence):
    one = torch.ones(1, dtype=torch.float64)
    assert float(divergence.f(one)) == float(divergence.slope(one)) == 0.0
    assert all(divergence.f(RATIOS) >= 0)
    assert all(divergence.slope(RATIOS).diff() > 0)


def test_an_unknown_divergence():
    with pytest.raises(RequestError, match="one of KL, reverse KL"):
        divergence_called("Hellinger")


# the ratio


@pytest.mark.parametrize("estimator", [LeastSquares((0.7,), 12), MomentMatching((1.0,))], ids=["squares", "moments"])
def test_a_known_ratio_of_two_gaussians(estimator):
    made, real = normal(0, 1_500, 0.0, 1.2), normal(1, 1_500, 0.4, 1.0)
    places = torch.linspace(-1.5, 2.0, 15, dtype=torch.float64).repeat(2, 1)
    log_p, log_q = -((places - 0.4) ** 2) / 2, -((places / 1.2) ** 2) / 2 - math.log(1.2)
    found = estimator.ratio(made, real, 1.0)(places)
    assert (found - (log_p - log_q).exp()).square().mean().sqrt() < 0.15


@both_estimators
def test_the_ratio_at_made_points_is_that_function_there(estimator):
    made, real = normal(0, 40), normal(1, 60, 0.5)
    function = estimator.ratio(made, real, 1.0)(made)
    assert estimator.at_made(made, real, 1.0).numpy() == pytest.approx(function.numpy(), abs=1e-8)


@both_estimators
def test_slices_do_not_meet(estimator):
    made, real = normal(0, 30, slices=3), normal(1, 30, 0.5, slices=3)
    alone = torch.cat([estimator.at_made(m[None], r[None], 0.8) for m, r in zip(made, real, strict=True)])
    assert estimator.at_made(made, real, 0.8).numpy() == pytest.approx(alone.numpy(), abs=1e-8)


@both_estimators
def test_units_do_not_matter(estimator):
    made, real = normal(0, 30), normal(1, 50, 0.5)
    larger = estimator.at_made(100 * made, 100 * real, 100.0)
    assert larger.numpy() == pytest.approx(estimator.at_made(made, real, 1.0).numpy(), abs=1e-8)


def test_moment_matching_by_loops():
    made, real = normal(0, 6, slices=1), normal(1, 9, slices=1)
    estimator = MomentMatching(widths=(0.5, 1.0), ridge=0.7)

    def k(x: float, y: float) -> float:
        return sum(math.exp(-((x - y) ** 2) / (2 * h * h)) for h in (0.5, 1.0))

    points, others = made[0].tolist(), real[0].tolist()
    K = np.array([[k(x, y) for y in points] for x in points])
    wanted = np.array([sum(k(x, y) for y in others) for x in points]) * 6 / 9
    expected = np.linalg.solve(K + 0.7 * np.eye(6), wanted)
    assert kernel(made, made, (0.5, 1.0))[0].numpy() == pytest.approx(K)
    assert estimator.at_made(made, real, 1.0)[0].numpy() == pytest.approx(expected)


def test_least_squares_have_the_least_squares():
    """Any other weights have a larger mean of r^2 under q, less twice that of r under p, with the ridge."""
    made, real = normal(0, 40, slices=1), normal(1, 50, 0.3, slices=1)
    estimator = LeastSquares(widths=(0.4,), atoms=5, ridge=0.01)
    best = estimator.ratio(made, real, 1.0)

    def cost(weights: torch.Tensor) -> float:
        r = type(best)(best.centres, best.widths, weights)
        return float((r(made) ** 2).mean() - 2 * r(real).mean() + 0.01 * (weights**2).sum())

    moves = itertools.product(range(5), (-0.01, 0.01))
    assert all(cost(best.weights + size * torch.eye(5)[[place]]) > cost(best.weights) for place, size in moves)


# the estimate


@both_estimators
@every_divergence
def test_the_estimate_is_small_for_equals_and_larger_for_others(estimator, divergence):
    made = normal(0, 300)
    same, other = (estimate(divergence, estimator, made, normal(1, 300, mean), 1.0) for mean in (0.0, 1.0))
    assert 0 <= float(same) < 0.5 * float(other)


@both_estimators
@every_divergence
def test_the_first_variation_moves_points_towards_the_records(estimator, divergence):
    made = normal(0, 200).requires_grad_()
    loss(divergence, estimator, "first variation", made, normal(1, 200, 0.7), 1.0).backward()
    assert float(made.grad.mean()) < 0


@pytest.mark.parametrize("estimator", [LeastSquares((0.7,), 6), MomentMatching((1.0,))], ids=["squares", "moments"])
@every_divergence
def test_the_literal_gradient_is_that_of_the_estimate(estimator, divergence):
    made, real = normal(0, 30, slices=1).requires_grad_(), normal(1, 30, 0.3, slices=1)
    loss(divergence, estimator, "literal", made, real, 1.0).backward()
    step = 1e-5 * torch.eye(30, dtype=torch.float64)[[4]]
    up, down = (float(estimate(divergence, estimator, made.detach() + s, real, 1.0)) for s in (step, -step))
    assert float(made.grad[0, 4]) == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-8)


def test_the_truth_of_the_consistency_plot():
    """Against the closed form for two Gaussians on a line."""
    before = consistency.REAL
    one = consistency.Mixture(np.ones(1), np.array([[0.5, 0, 0, 0, 0]]), 0.4)
    p, q = math.hypot(0.4, consistency.SIGMA), math.hypot(consistency.MADE.spread, consistency.SIGMA)
    expected = math.log(q / p) + (p * p + 0.25) / (2 * q * q) - 0.5
    try:
        consistency.REAL = one
        assert consistency.truth(DIVERGENCES["KL"], np.eye(5)[:, :1]) == pytest.approx(expected, rel=1e-6)
    finally:
        consistency.REAL = before


def test_the_error_falls_with_the_number_of_points():
    found = consistency.errors((100, 10_000), 5)
    assert all(points[1].y < points[0].y / 3 for points in found.values())
    assert "slope -1/2" in str(consistency.picture(found))


# modes

CENTRES = 0.8 * np.array([(math.cos(k * math.pi / 4), math.sin(k * math.pi / 4)) for k in range(8)])


def modes(estimator, gradient: str, batch: int, seed: int = 0) -> tuple[int, float]:
    """Of eight, those that get a share of at least 2 %, after training without privacy; and the share of them all."""
    rng = np.random.default_rng(seed)
    rows = CENTRES[rng.integers(8, size=10_000)] + rng.normal(0, 0.05, (10_000, 2))
    release = Slicing()(rng, rows, 0.0)

    def objective(made, real, scale):
        return loss(DIVERGENCES["Jensen-Shannon"], estimator, gradient, made, real, scale)

    with seeded(rng):
        generator = network((4, 96, 96, 2))

        def make(count):
            return torch.tanh(generator(noise(count, 4)))

        train(rng, release, make, list(generator.parameters()), objective, Training(250, batch, smoothing=0.03))
        with torch.no_grad():
            made = make(4_000).cpu().numpy()
    away = np.linalg.norm(made[:, None] - CENTRES, axis=2)
    near = away.min(axis=1) < 0.2
    shares = np.bincount(away.argmin(axis=1)[near], minlength=8) / len(made)
    return int((shares > 0.02).sum()), float(near.mean())


def test_the_first_variation_keeps_all_eight_modes():
    kept, share = modes(LeastSquares(), "first variation", 256)
    assert kept == 8
    assert share > 0.35  # a Gaussian of the same covariance has 0.18


@pytest.mark.slow
def test_the_literal_gradient_of_moment_matching_loses_modes():
    kept, _ = modes(MomentMatching(), "literal", 100)
    assert kept <= 4
