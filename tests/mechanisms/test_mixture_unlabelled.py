"""Components that nobody labelled: found in boxes, measured behind cuts, and the cuts undone."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import multivariate_normal, norm

import sfumato
from sfumato.artefact.verify import verify
from sfumato.fitting.mechanisms.mixture.components import (
    Component,
    Filled,
    Tuning,
    find_components,
    fit_components,
    log_fit,
)
from sfumato.fitting.mechanisms.mixture.rules import chosen_by, rule_of, rule_of_boxes
from sfumato.fitting.mechanisms.mixture.truncation import uncut
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.models.gaussian_mixture.model import ACTIONS, Draws, GaussianMixture
from sfumato.fitting.public_rng import public_rng
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.feature_maps import Boxes, Whitening
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from tests.auditing.mixtures import unlabelled

BOXES = Boxes(Whitening.of(np.eye(2), np.full(2, 0.5)), 2, 24, 3.0)
SIDE = 6.0 / 24
MIDDLES = np.array([[-1.5, -1.0], [0.0, 1.5], [1.5, -1.0]])
SHARES = np.array([0.5, 0.3, 0.2])


def counts_of(records: float, noise: float, shares=SHARES, middles=MIDDLES, sd: float = 0.35) -> np.ndarray:
    """What round clouds put into every box."""
    edges = np.linspace(-3, 3, 25)
    edges[0], edges[-1] = -np.inf, np.inf
    total = np.zeros((24, 24))
    for share, (x, y) in zip(shares, middles, strict=True):
        total += records * share * np.outer(np.diff(norm.cdf(edges, x, sd)), np.diff(norm.cdf(edges, y, sd)))
    return total.ravel() + noise * np.random.default_rng(0).standard_normal(24 * 24)


def free(count: float) -> float:
    return 0.0


def found_in(counts: np.ndarray, noise: float, most: int | None, risk=free) -> list[Component]:
    return find_components(BOXES.centres, counts, noise, SIDE, most, risk, public_rng(0))


@pytest.mark.parametrize("most", [3, 7, None])
@pytest.mark.parametrize("noise", [1.0, 10.0])
def test_clouds_are_found_in_boxes(most, noise):
    found = sorted(found_in(counts_of(10_000, noise), noise, most), key=lambda one: one.mean[0])
    assert len(found) == 3
    assert np.allclose([one.weight for one in found], SHARES, atol=0.05)
    assert np.allclose([one.mean for one in found], MIDDLES, atol=0.1)
    assert np.allclose([np.sqrt(np.diag(one.cov)) for one in found], 0.35, atol=0.12)


@pytest.mark.parametrize("clouds", [1, 2, 3])
def test_as_many_are_found_as_the_counts_bear_out(clouds):
    counts = counts_of(8_000, 5.0, np.full(clouds, 1 / clouds), MIDDLES[:clouds])
    assert len(found_in(counts, 5.0, None)) == clouds


@pytest.mark.parametrize("most", [6, None])
def test_clouds_lost_in_noise_are_one(most):
    assert len(found_in(counts_of(100, 50.0), 50.0, most)) == 1


def test_a_number_is_the_most_that_there_may_be():
    counts = counts_of(10_000, 5.0)
    assert [len(found_in(counts, 5.0, most)) for most in (1, 2, 3, 4)] == [1, 2, 3, 3]


def test_components_that_cost_more_than_they_explain_are_merged():
    """Three clouds explain about one nat a record, 10,000 in all, more than one Gaussian does."""
    counts = counts_of(10_000, 5.0)
    numbers = [len(found_in(counts, 5.0, None, lambda _, price=price: price)) for price in (0.0, 100.0, 1e3, 1e5)]
    assert numbers[:2] == [3, 3]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] == 1


def test_a_component_costs_by_its_records():
    """Only the smallest cloud is beyond measuring."""
    counts = counts_of(10_000, 5.0, np.array([0.5, 0.45, 0.05]))
    assert len(found_in(counts, 5.0, None)) == 3
    assert len(found_in(counts, 5.0, None, lambda count: 1e5 if count < 2_000 else 0.0)) == 2


@pytest.mark.parametrize("number", [1, 5, 50, None])
@pytest.mark.parametrize("counts", [np.zeros(64), -np.ones(64), np.eye(1, 64)[0]], ids=["none", "negative", "one"])
def test_boxes_without_records_have_components_too(counts, number):
    centres = Boxes(BOXES.whitening, 2, 8, 3.0).centres
    found = find_components(centres, counts, 3.0, 6.0 / 8, number, free, public_rng(0))
    assert 1 <= len(found) <= (number or Tuning.most_components)
    for weight, mean, cov in found:
        assert weight > 0
        assert np.isfinite(mean).all()
        assert np.linalg.eigvalsh(cov).min() > 0


def test_the_fit_is_the_log_of_weight_times_density():
    components = [
        Component(0.3, np.array([0.1, 0.2]), np.array([[1.0, 0.3], [0.3, 0.5]])),
        Component(0.7, np.ones(2), np.eye(2)),
    ]
    points = np.random.default_rng(0).standard_normal((20, 2))
    expected = [np.log(w) + multivariate_normal(m, c).logpdf(points) for w, m, c in components]
    assert np.allclose(log_fit(points, components), np.transpose(expected))


def test_weighted_records_are_fitted_by_their_moments():
    rng = np.random.default_rng(0)
    centres, mass = rng.standard_normal((200, 2)), rng.uniform(0.5, 2, 200)
    _, (only,) = fit_components(Filled(centres, mass, 0.01), 1, public_rng(0))
    assert np.allclose(only.mean, np.average(centres, axis=0, weights=mass))
    assert np.allclose(only.cov, np.cov(centres.T, aweights=mass, ddof=0) + 0.01 * np.eye(2))


def three() -> Gaussians:
    covs = np.array([[[4, 1], [1, 2]], [[1, 0], [0, 1]], [[2, -1], [-1, 3]]]) * 2e-3
    return Gaussians(np.arange(3), SHARES, np.array([[0.4, 0.4], [0.5, 0.55], [0.6, 0.4]]), covs)


def test_a_record_belongs_to_the_likeliest_component():
    gaussians, points = three(), np.random.default_rng(0).random((4_000, 2))
    likeliest = gaussians.log_joint(points, np.arange(2)).argmax(axis=1)
    rule = rule_of(gaussians)
    assert (chosen_by(rule, points) == likeliest).mean() > 0.999
    places = np.rint(points.T * 2.0**PLACE_BITS)
    assert (rule(Batch(len(points), {}), places) == likeliest).mean() > 0.999


def test_components_in_boxes_part_records_along_their_axes_alone():
    turn = Whitening.of(np.diag([20.0, 10.0, 5.0]), np.array([0.5, 0.4, 0.6]))
    boxes = Boxes(turn, 2, 8, 3.0)
    components = [
        Component(0.5, np.array([-1.0, 0.0]), 0.2 * np.eye(2)),
        Component(0.5, np.array([1.0, 0.0]), 0.2 * np.eye(2)),
    ]
    rule = rule_of_boxes(components, boxes)
    points = np.random.default_rng(0).random((1_000, 3))
    assert np.array_equal(chosen_by(rule, points), (points[:, 0] > 0.5).astype(int))


def a_model(gaussians: Gaussians) -> GaussianMixture:
    scales = {name: codes_of(column) for name, column in unlabelled(2).by_name.items()}
    draws = Draws(
        np.tile(1e4 * gaussians.weights, (3, 1)),
        np.tile(gaussians.means, (3, 1, 1)),
        np.tile(gaussians.covs, (3, 1, 1, 1)),
    )
    return GaussianMixture(scales, None, len(gaussians.weights), 1e4, dict.fromkeys(ACTIONS, gaussians), draws)


def test_cuts_are_undone():
    """Components that overlap, cut by the rule of the truth: their parts are too narrow and too far apart."""
    truth = three()
    rule = rule_of(truth)
    points, _ = truth.sample(200_000, np.random.default_rng(1))
    part = chosen_by(rule, points)
    cut = Gaussians(
        np.arange(3),
        np.bincount(part) / len(part),
        np.array([points[part == k].mean(axis=0) for k in range(3)]),
        np.array([np.cov(points[part == k].T) for k in range(3)]),
    )
    found = uncut(a_model(cut), rule)
    before, after = (one.kl(truth, np.random.default_rng(0)) for one in (cut, found.actions["mixture"]))
    assert before > 0.01
    assert after < before / 5
    for name in ACTIONS:
        assert np.allclose(found.actions[name].means, found.actions["mixture"].means)
    assert np.allclose(found.draws.means, found.actions["mixture"].means)
    assert np.allclose(found.draws.covs, found.actions["mixture"].covs)


def test_one_component_has_no_cut():
    one = Gaussians(np.zeros(1, dtype=int), np.ones(1), np.full((1, 2), 0.5), 0.01 * np.eye(2)[None])
    model = a_model(one)
    assert uncut(model, rule_of(one)) is model


def test_a_component_that_gets_no_draws_stays_where_it_was():
    weights = np.array([1 - 1e-7, 1e-7])
    gaussians = Gaussians(
        np.arange(2), weights, np.array([[0.3, 0.3], [0.9, 0.9]]), np.tile(1e-3 * np.eye(2), (2, 1, 1))
    )
    found = uncut(a_model(gaussians), rule_of(gaussians)).actions["mixture"]
    assert np.allclose(found.means[1], [0.9, 0.9])


CENTRES = np.array([[0.25, 0.3], [0.5, 0.75], [0.8, 0.35]])


def clear_clouds(rows: int) -> pa.Table:
    rng = np.random.default_rng(3)
    x = CENTRES[rng.choice(3, rows, p=SHARES)] + rng.normal(0, 0.04, (rows, 2))
    return pa.table({"x0": x[:, 0], "x1": x[:, 1]})


@pytest.mark.parametrize(("components", "adjacency"), [(3, "add-remove"), (3, "replace"), (None, "add-remove")])
def test_a_release_finds_three_clear_clouds(components, adjacency):
    """Where their number is not given, boxes that are full by chance may add components of next to no weight."""
    release = sfumato.release(
        clear_clouds(4_000), unlabelled(2), epsilon=8.0, mechanism="mixture", adjacency=adjacency,
        components=components, ledger=None, seed=1,
    types="declared")  # fmt: skip
    found = release.fitted.actions["mixture"]
    heavy = np.argsort(-found.weights)[:3]  # by their shares: one half, three tenths, one fifth
    assert found.weights[heavy].sum() > 0.99
    assert np.allclose(found.means[heavy], CENTRES, atol=0.01)
    assert np.allclose(found.weights[heavy], SHARES, atol=0.03)
    assert np.allclose(found.sds[heavy], 0.04, rtol=0.2)
    assert release.fitted.settings == {"components": components}
    assert {check.what: check.holds for check in verify(release)}["model follows from the measurements"]


def test_one_component_is_the_gaussian_of_all_records():
    table = clear_clouds(4_000)
    release = sfumato.release(
        table, unlabelled(2), epsilon=8.0, mechanism="mixture", components=1, ledger=None, seed=1,
    types="declared")  # fmt: skip
    only = release.fitted.actions["mixture"]
    x = np.column_stack([table["x0"], table["x1"]])
    assert np.allclose(only.means[0], x.mean(axis=0), atol=0.02)
    assert np.allclose(only.covs[0], np.cov(x.T), atol=0.01)


def heavy_tails(rows: int, columns: int) -> pa.Table:
    """Of one centre: nine records of ten within a twentieth of the range, the others four times as far."""
    rng = np.random.default_rng(5)
    sd = np.where(rng.random(rows) < 0.9, 0.02, 0.08)
    x = 0.5 + sd[:, None] * rng.standard_normal((rows, columns))
    return pa.table({f"x{j}": x[:, j] for j in range(columns)})


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_number_that_the_budget_cannot_measure_does_not_harm(adjacency):
    """Six components of six columns in a thousand records: one is measured, with its tails, and says more than one."""
    private, fresh = heavy_tails(1_000, 6), heavy_tails(5_000, 6)
    release = sfumato.release(
        private, unlabelled(6), epsilon=2.0, mechanism="mixture", components=6, adjacency=adjacency, ledger=None,
        seed=1, types="declared")  # fmt: skip
    assert len(release.fitted.actions["mixture"].weights) == 1
    assert release.fitted.action == "detailed"
    x = np.column_stack([fresh[name] for name in fresh.column_names])
    y = np.column_stack([private[name] for name in private.column_names])
    one_gaussian = multivariate_normal(y.mean(axis=0), np.cov(y.T)).logpdf(x).mean()
    assert release.log_prob(fresh).mean() > one_gaussian
    assert {check.what: check.holds for check in verify(release)}["model follows from the measurements"]
