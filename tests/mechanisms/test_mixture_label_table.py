"""Public features, private labels: leaves cut from the features, counts of labels in them, guesses that agree."""

import dataclasses
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.errors import BundleError, RequestError
from sfumato.fitting.mechanisms.mixture import label_table
from sfumato.fitting.mechanisms.mixture.label_table import explain_row
from sfumato.fitting.mechanisms.mixture.public_tree import grown_leaves, rule_of_records
from sfumato.fitting.models.gaussian_mixture.gaussians import gaussian_kl
from sfumato.fitting.public_rng import public_rng
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.curator import Curator
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from sfumato.trusted.noise import SeededNoise
from sfumato.trusted.privacy_filter import PrivacyFilter
from sfumato.trusted.sources import open_source
from tests.auditing.mixtures import LABELLED, PUBLIC_FEATURES, table

ROWS = table(rows=900)
FOLLOWS = "model follows from the measurements"


def release_of(rows=ROWS, epsilon=1.0, schema=PUBLIC_FEATURES) -> sfumato.Release:
    return sfumato.release(
        rows, schema, epsilon=epsilon, mechanism="mixture", adjacency="label", ledger=None, seed=1,
    types="declared")  # fmt: skip


@pytest.fixture(scope="module")
def release():
    return release_of()


def outcome(release, features=None) -> str:
    return {check.what: check.outcome for check in verify(release, features)}[FOLLOWS]


def overlapping(seed: int, distance: float, rows: int = 1_200) -> pa.Table:
    """Two classes whose means are so many deviations apart."""
    rng = np.random.default_rng(seed)
    yes = rng.random(rows) < 0.4
    a = 5 + 0.4 * rng.standard_normal(rows) + 0.4 * distance * (yes - 0.5)
    b = 0.5 * (a - 5) + 0.5 * rng.standard_normal(rows)
    return pa.table({"a": a, "b": b, "y": np.where(yes, "yes", "no")})


def released_with(adjacency: str, rows: pa.Table, seed: int) -> sfumato.Release:
    return sfumato.release(
        rows, PUBLIC_FEATURES, epsilon=1.0, mechanism="mixture", adjacency=adjacency, ledger=None, seed=seed,
    types="declared")  # fmt: skip


def apart_from_fit(release: sfumato.Release, rows: pa.Table) -> float:
    """KL(released || fit) of the classes, by their released weights."""
    found, frame = release.fitted.actions["mixture"], rows.to_pandas()
    low, width = np.array([0.0, -5.0]), np.array([10.0, 10.0])
    total = 0.0
    for k, kind in enumerate(("no", "yes")):
        mine = (frame[frame["y"] == kind][["a", "b"]].to_numpy() - low) / width
        total += found.weights[k] * gaussian_kl(found.means[k], found.covs[k], mine.mean(axis=0), np.cov(mine.T))
        total += found.weights[k] * np.log(found.weights[k] * len(frame) / len(mine))
    return total


def kind_of(measurement) -> str:
    return type(measurement.statistic.maps[0]).__name__


class TestARelease:
    def test_predicts_about_as_well_as_the_labels_allow(self, release):
        truth = np.array(ROWS["y"].to_pylist())
        without = release_of(schema=LABELLED)
        assert (release.predict(ROWS) == truth).mean() > 0.88
        assert (release.predict(ROWS) == truth).mean() > (without.predict(ROWS) == truth).mean() - 0.02

    def test_has_the_moments_of_the_classes(self, release):
        frame = ROWS.to_pandas()
        for kind in ("no", "yes"):
            mine = frame[frame["y"] == kind]
            assert release.mean("a", given={"y": kind}).mean == pytest.approx(mine["a"].mean(), abs=0.25)
            assert release.mean("b", given={"y": kind}).mean == pytest.approx(mine["b"].mean(), abs=0.25)
        share = release.fitted.actions["mixture"].weights
        assert share[1] == pytest.approx((frame["y"] == "yes").mean(), abs=0.05)

    def test_asks_three_questions_and_spends_all_on_them(self, release):
        items = release.statement.items
        assert len(items) == 3
        assert items[0].what.startswith("counts in leaves of 2 columns by y")
        assert sum(item.units for item in items) == release.statement.units_spent
        assert release.statement.units_budget - release.statement.units_spent <= 3

    def test_asks_for_scores_where_classes_overlap_and_for_the_counts_again_where_they_lie_apart(self, release):
        assert [kind_of(one) for one in release.measurements] == ["Leaves", "Hampel", "Hampel"]
        apart = release_of(overlapping(0, distance=12.0), epsilon=4.0)
        assert [kind_of(one) for one in apart.measurements] == ["Leaves", "Leaves", "Leaves"]
        assert outcome(apart, overlapping(0, distance=12.0)) == "holds"

    @pytest.mark.parametrize("distance", [2.0, *(pytest.param(far, marks=pytest.mark.slow) for far in (1.0, 4.0))])
    def test_loses_less_than_a_release_that_hides_whole_records(self, distance):
        """Adjacency replace implies adjacency label, so that there must be something to gain."""
        rows = overlapping(1, distance)
        label, replace = (
            np.median([apart_from_fit(released_with(adjacency, rows, seed), rows) for seed in range(5)])
            for adjacency in ("label", "replace")
        )
        assert label < replace

    def test_is_fitted_anew_with_the_features_alone(self, release):
        assert outcome(release) == "not checked"
        assert outcome(release, ROWS) == outcome(release, ROWS.drop(["y"])) == "holds"
        assert outcome(release, table(rows=800)) == "fails"
        with pytest.raises(BundleError, match="fitted with the public features; give them"):
            release.refit()

    def test_makes_its_leaves_as_large_as_the_noise_asks_for(self, release):
        few, many = (release_of(epsilon=epsilon).measurements[0].statistic.maps[0].blocks for epsilon in (0.05, 8.0))
        assert few < release.measurements[0].statistic.maps[0].blocks < many

    @pytest.mark.parametrize("rows", [0, 1, 2, 30])
    def test_few_rows_are_no_error(self, rows):
        release = release_of(ROWS.slice(0, rows))
        assert np.isfinite(release.log_prob(ROWS.slice(0, 5))).all()
        assert len(release.sample(20)) == 20

    def test_a_class_that_nobody_has_is_a_class(self):
        release = release_of(pa.table({"a": ROWS["a"], "b": ROWS["b"], "y": ["no"] * 900}), epsilon=8.0)
        weights = release.fitted.actions["mixture"].weights
        assert weights.min() > 0
        assert weights[1] < 0.05

    @pytest.mark.parametrize("value", [5.0, np.nan])
    def test_features_that_are_all_alike_are_no_error(self, value):
        release = release_of(pa.table({"a": [value] * 200, "b": [0.0] * 200, "y": ["no", "yes"] * 100}))
        assert np.linalg.eigvalsh(release.fitted.actions["mixture"].covs).min() > 0

    def test_some_of_many_records_stand_for_all(self, monkeypatch):
        monkeypatch.setattr(label_table.Tuning, "most_records", 500)
        release = release_of()
        assert release.size == pytest.approx(900, rel=0.1)
        assert (release.predict(ROWS) == np.array(ROWS["y"].to_pylist())).mean() > 0.85
        assert outcome(release, ROWS) == "holds"


def curator(adjacency: Adjacency, public: tuple[str, ...]) -> Curator:
    return Curator(
        open_source(ROWS, PUBLIC_FEATURES, declared=True), adjacency, PrivacyFilter(0), SeededNoise(0), public
    )


def test_the_door_lets_out_public_columns_under_label_adjacency_alone():
    assert curator(Adjacency.LABEL, ("a", "b")).features(("a",)).rows == 900
    for adjacency, public, asked in (
        (Adjacency.LABEL, ("a", "b"), ("a", "y")),
        (Adjacency.LABEL, (), ("a",)),
        (Adjacency.ADD_REMOVE, ("a", "b"), ("a",)),
        (Adjacency.REPLACE, ("a", "b"), ("a",)),
    ):
        with pytest.raises(RequestError, match="are private"):
            curator(adjacency, public).features(asked)


@pytest.mark.parametrize("seed", range(6))
def test_a_leaf_is_explained_by_the_labels_that_cost_least(seed):
    """Against all subsets of labels."""
    rng = np.random.default_rng(seed)
    noise, price, row = 4.0, 2.0, rng.normal([40, 15, 0, 0, 0], 12)
    total = 55.0
    costs = {}
    for size in range(1, 6):
        for on in map(list, combinations(range(5), size)):
            counts = np.zeros(5)
            counts[on] = row[on] + (total - row[on].sum()) / size
            if counts.min() >= 0:
                costs[tuple(on)] = ((row - counts) ** 2).sum() / (2 * noise**2) + price * size
    found = explain_row(row, total, noise, price)
    assert found.sum() == pytest.approx(total)
    assert tuple(np.flatnonzero(found)) == min(costs, key=costs.get)


def test_an_empty_leaf_holds_no_labels():
    assert (explain_row(np.array([0.4, -1.0]), 0.0, 1.0, 2.0) == 0).all()


def places_of(records: np.ndarray) -> np.ndarray:
    return np.rint(records.T * 2.0**PLACE_BITS)


def grown(records: np.ndarray, smallest: float, classes: int = 2):
    rule = rule_of_records(records, classes, public_rng(0))
    places = places_of(records)
    return grown_leaves(places, rule, rule(Batch(len(records), {}), places), smallest), places


@pytest.mark.parametrize("smallest", [5.0, 40.0, 1e9])
def test_leaves_are_as_small_as_allowed_and_no_smaller(smallest):
    records = np.random.default_rng(0).normal(0.5, 0.1, (1_000, 3))
    leaves, places = grown(records, smallest)
    held_by = np.bincount(leaves.leaf(places), minlength=leaves.blocks)
    assert held_by.sum() == 1_000
    if smallest == 1e9:
        assert leaves.blocks == leaves.rule.size
    else:
        assert held_by.max() <= 2 * smallest
        assert (held_by >= min(smallest, 20) * 0.99).sum() >= 0.9 * leaves.blocks


def test_records_that_are_all_alike_are_one_leaf_of_each_part():
    leaves, places = grown(np.full((300, 2), 0.25), 5.0)
    assert leaves.blocks == leaves.rule.size
    assert len(set(leaves.leaf(places))) == 1


def test_groups_that_lie_apart_share_no_leaf():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 900)
    records = np.array([[0.2, 0.2], [0.5, 0.8], [0.8, 0.3]])[group] + rng.normal(0, 0.02, (900, 2))
    leaves, places = grown(records, 30.0, classes=3)
    leaf = leaves.leaf(places)
    assert all(len(set(group[leaf == one])) == 1 for one in set(leaf))


def test_leaves_depend_on_features_alone():
    shuffled = ROWS.set_column(2, "y", pa.array(ROWS["y"].to_pylist()[::-1]))
    asked = [release_of(rows).measurements[0].statistic.maps[0] for rows in (ROWS, shuffled)]
    for field in dataclasses.fields(asked[0])[1:]:
        assert np.array_equal(getattr(asked[0], field.name), getattr(asked[1], field.name))


def test_every_record_draws_one_label_as_often_as_its_guess_says():
    shares = np.repeat([[0.7, 0.3, 0.0], [0.0, 0.0, 1.0]], 20_000, axis=0)
    drawn = label_table.draw_labels(shares, public_rng(0))
    assert ((drawn == 0) | (drawn == 1)).all()
    assert (drawn.sum(axis=1) == 1).all()
    assert drawn[:20_000].mean(axis=0) == pytest.approx([0.7, 0.3, 0.0], abs=0.02)
    assert (drawn[20_000:] == [0, 0, 1]).all()


@pytest.mark.parametrize("distance", [2.0, *(pytest.param(far, marks=pytest.mark.slow) for far in (1.0, 4.0))])
def test_intervals_hold_the_moments_of_the_classes(distance):
    """Nine of ten should; guesses that were taken for the labels themselves gave from three to eight."""
    held = []
    for seed in range(6):
        rows = overlapping(seed, distance)
        frame = rows.to_pandas()
        for one in released_with("label", rows, seed).parameters(level=0.9).to_pylist():
            mine = frame[frame["y"] == one["class"]][["a", "b"]]
            match one["parameter"]:
                case "weight":
                    truth = len(mine) / len(frame)
                case "mean":
                    truth = mine[one["column"]].mean()
                case _:
                    truth = mine.cov().loc[one["column"], one["with"]]
            held.append(one["low"] <= truth <= one["high"])
    assert np.mean(held) > 0.78
