"""The formulas behind the claims, against slow and obvious versions."""

import math

import numpy as np
import pytest
from experiments.liu import (
    claim_clustering,
    claim_covariances,
    claim_objective,
    claim_one_mean,
    claim_proven,
    claim_tuned_noise,
    claim_two_classes,
    claim_weights,
)
from experiments.liu.changes import (
    Change,
    algorithm,
    all_changes,
    relabelled,
    some_changes,
)
from experiments.liu.data import standardised, synthetic
from experiments.mixture_data import Records
from sfumato_papers.liu import fit
from sfumato_papers.liu.attack import attack

from sfumato.trusted.budget import delta_of


@pytest.fixture(scope="module")
def records() -> Records:
    return synthetic(0, rows=120, classes=3, columns=2)


def refitted(records: Records):
    return fit(records.numbers, records.label, records.classes)


def test_changes_are_all_the_neighbours_of_the_paper(records):
    every = all_changes(records)
    assert len(set(every)) == 120 * 2
    for change in every[::37]:
        label = relabelled(records, change).label
        assert np.flatnonzero(label != records.label).tolist() == [change.record]
        assert label[change.record] == change.label
    some = some_changes(records, 25)
    assert len(set(some)) == 25
    assert set(some) <= set(every)
    assert some == some_changes(records, 25)


def test_standardised_columns(records):
    found = standardised(records)
    assert np.allclose(found.numbers.mean(axis=0), 0)
    assert np.allclose(found.numbers.var(axis=0), 1)
    assert ((found.low <= found.numbers) & (found.numbers <= found.high)).all()


def test_covariances_change_as_a_new_fit_says(records):
    fitted = refitted(records)
    for change in all_changes(records)[::11]:
        own, record = int(records.label[change.record]), records.numbers[change.record]
        after = refitted(relabelled(records, change)).covariances - fitted.covariances
        assert np.allclose(after[own], claim_covariances.leaving(fitted, own, record))
        assert np.allclose(after[change.label], claim_covariances.entering(fitted, change.label, record))


def test_means_move_as_a_new_fit_says(records):
    here = algorithm(records, 1.0, "leave")
    left, entered = claim_two_classes.moves(records, here)
    for place, change in list(enumerate(all_changes(records)))[::11]:
        moved = refitted(relabelled(records, change)).means - here.fitted.means
        squares = np.einsum("ki,kij,kj->k", moved, np.linalg.inv(here.plan.mean_covariances), moved)
        assert left[place] == pytest.approx(squares[records.label[change.record]])
        assert entered[place] == pytest.approx(squares[change.label])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_lemma_2_by_formula_and_by_drawing(epsilon):
    noise = claim_covariances.wisharts(np.random.default_rng(1), 20_000, 3, 2 * 1_000 * epsilon / 3)
    drawn = claim_covariances.impossible_by_draws(noise, np.diag([0, 1 / 1_000, 0]))
    assert drawn == pytest.approx(claim_covariances.impossible_by_formula(epsilon), abs=0.012)


def test_the_probability_of_a_proof_is_what_releases_show(records):
    here = algorithm(records, 1.0, "both")
    every = claim_covariances.changed_by_each_label("small", records, here, 4_000, 1)
    for place in (0, 101, 222):
        there = algorithm(relabelled(records, all_changes(records)[place]), 1.0, "both")
        seen = attack(np.random.default_rng(2), here, there, 4_000)["covariances"].only_here
        assert every[place].impossible == pytest.approx(seen, abs=0.05)


@pytest.mark.parametrize("classes", [2, 3, 5, 6, 10])
def test_impossible_weights_by_formula_and_by_count(classes):
    entries = classes**2 - classes + 1
    assert claim_weights.impossible_by_count(classes) / entries == pytest.approx(
        claim_weights.impossible_by_formula(classes)
    )
    assert claim_weights.impossible_if_mended(classes, 0.0) == pytest.approx(
        claim_weights.impossible_by_formula(classes)
    )


def test_impossible_weights_of_two_plans(records):
    here, there = (algorithm(one, 1.0, "leave") for one in (records, relabelled(records, all_changes(records)[5])))
    assert claim_weights.impossible_by_plan(here, there) == pytest.approx(3 / 7)
    assert claim_weights.impossible_by_plan(here, here) == 0


def test_lemma_1_moves_a_mean_by_this_much():
    """The noise of lemma 1 is epsilon^2 / (2 ln(2 / delta)) for the squared move."""
    assert claim_one_mean.largest_move(2.0, 2 / math.e**2) == pytest.approx(1.0)
    holds = claim_one_mean.measure(quick=True)["holds up to"]
    for epsilon, within in ((0.99 * holds, True), (1.01 * holds, False)):
        assert (delta_of(epsilon, claim_one_mean.largest_move(epsilon, 1e-5)) <= 1e-5) == within


def test_two_classes_hold_up_to_where_the_curve_crosses():
    holds = claim_two_classes.measure(quick=True)["holds up to"]
    for epsilon, within in ((0.99 * holds, True), (1.01 * holds, False)):
        move = math.sqrt(2) * claim_one_mean.largest_move(epsilon, 1e-5)
        assert (delta_of(epsilon, move) <= 1e-5) == within


@pytest.mark.parametrize("reading", ["leave", "both"])
def test_tuned_noise_tells_what_drawn_means_tell(records, reading):
    change = Change(0, (int(records.label[0]) + 1) % 3)
    here, there = (algorithm(one, 1.0, reading) for one in (records, relabelled(records, change)))
    pair = claim_tuned_noise.pair(here, there, (int(records.label[0]), change.label))
    drawn = attack(np.random.default_rng(3), here, there, 40_000)["means"]
    for epsilon in (0.0, 0.5, 2.0):
        assert pair.delta(epsilon) == pytest.approx(drawn.delta(epsilon), abs=0.015)


def test_the_formula_of_the_paper_is_the_truth_without_the_covariance():
    """(30) has -ln|W| for -ln|I + W|: for huge noise both agree."""
    noise = claim_covariances.wisharts(np.random.default_rng(4), 50_000, 3, 4.0)
    mistaken = (np.trace(noise, axis1=1, axis2=2) - np.linalg.slogdet(noise)[1]).mean() / 2
    assert claim_objective.by_the_paper(4.0, 3) == pytest.approx(mistaken, rel=0.01)
    truth = claim_objective.true_divergence(1e-4, 3, 50_000)
    assert claim_objective.by_the_paper(1e-4, 3) == pytest.approx(truth, rel=0.01)


def test_the_truth_falls_where_the_formula_grows():
    gammas = (4.0, 16.0, 64.0)
    assert np.all(np.diff([claim_objective.by_the_paper(gamma, 3) for gamma in gammas]) > 0)
    assert np.all(np.diff([claim_objective.true_divergence(gamma, 3, 5_000) for gamma in gammas]) < 0)


def test_clusters_are_named_so_that_few_change():
    before = np.array([0, 0, 0, 1, 1, 2])
    assert claim_clustering.others_changed(before, np.array([2, 2, 2, 0, 0, 1]), 0, 3) == 0
    assert claim_clustering.others_changed(before, np.array([2, 2, 0, 0, 0, 1]), 0, 3) == 1
    assert claim_clustering.others_changed(before, np.array([2, 2, 0, 0, 0, 1]), 2, 3) == 0


def test_the_best_test_between_two_gaussians():
    rng = np.random.default_rng(5)
    right = (rng.normal(0.4, 1, 200_000) > 0.2).mean() - (rng.normal(0, 1, 200_000) > 0.2).mean()
    assert claim_proven.best_advantage(0.4) == pytest.approx(right, abs=0.01)
    assert claim_proven.best_advantage(0.4) == pytest.approx(delta_of(0.0, 0.4))
