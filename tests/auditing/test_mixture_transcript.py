"""A mixture's whole release under audit: what all its rounds together spend on one record."""

import dataclasses
import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato.artefact.verify import verify
from sfumato.auditing.gdp import Echo, answers, mu_lower_bound
from sfumato.auditing.transcript import mu_between
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget, noise_scale
from sfumato.trusted.curator import Curator
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.feature_maps import FourierFeatures, Hampel, Leaves, Lift, Shells
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.noise import SecureNoise
from sfumato.trusted.privacy_filter import PrivacyFilter
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Stacked
from tests.auditing.mixtures import DELTA, LABELLED, PUBLIC_FEATURES, clouds, released, table, unlabelled
from tests.parameters import mostly_slow
from tests.statistics.splitting import same_for_any_split

pytestmark = pytest.mark.slow

GRID = list(itertools.product(np.linspace(0, 10, 15), np.linspace(-5, 5, 15), ["no", "yes"]))
LABELLED_CANDIDATES = pa.table({name: [record[place] for record in GRID] for place, name in enumerate("aby")})
PLAIN_CANDIDATES = pa.table(dict(zip(("x0", "x1"), np.mgrid[0:1:15j, 0:1:15j].reshape(2, -1), strict=True)))


@dataclasses.dataclass(frozen=True)
class Hunter:
    """Looks, among candidates for one more record, for the neighbours that answers tell apart best."""

    schema: Schema
    candidates: pa.Table
    rows: pa.Table

    def looks(self, measurement) -> np.ndarray:
        """What each candidate would add to an answer, in units of its noise (candidates x coordinates)."""
        batch = Encoder(self.schema).encode(self.candidates.to_batches()[0])
        statistic, sigma = measurement.statistic, measurement.sigma
        return np.array([statistic(record) / sigma for record in batch.parts(1, statistic.columns)])

    def neighbours(self, vectors: np.ndarray, adjacency: Adjacency) -> tuple[pa.Table, pa.Table]:
        """Two tables that differ by one change: the candidates whose vectors are farthest apart."""
        squares = (vectors**2).sum(axis=1)
        if adjacency == Adjacency.ADD_REMOVE:
            return self.with_one(squares.argmax()), self.rows
        apart = squares[:, None] + squares - 2 * vectors @ vectors.T
        if adjacency == Adjacency.LABEL:
            record = np.arange(len(squares)) // 2
            apart[record[:, None] != record] = 0
        here, there = np.unravel_index(apart.argmax(), apart.shape)
        return self.with_one(here), self.with_one(there)

    def with_one(self, candidate: np.integer) -> pa.Table:
        return pa.concat_tables([self.rows, self.candidates.slice(int(candidate), 1)])

    def spent(self, measurements, adjacency: Adjacency, vectors: np.ndarray | None = None) -> float:
        """The exact mu between the worst neighbours."""
        vectors = np.hstack([self.looks(item) for item in measurements]) if vectors is None else vectors
        here, there = (open_source(rows, self.schema, declared=True) for rows in self.neighbours(vectors, adjacency))
        return mu_between(measurements, here, there)

    def shares(self, release, adjacency: Adjacency) -> tuple[float, list[float]]:
        """The exact mu of the worst neighbours over the claim: of the whole release, and of each round."""
        measurements = release.measurements
        vectors = [self.looks(item) for item in measurements]
        whole = self.spent(measurements, adjacency, np.hstack(vectors)) / release.statement.mu
        rounds = [self.spent([item], adjacency, one) / item.mu for item, one in zip(measurements, vectors, strict=True)]
        print(f"\n{adjacency}: {whole:.4f} of the claim; rounds", *(f"{share:.4f}" for share in rounds))
        return whole, rounds


HUNTER = Hunter(LABELLED, LABELLED_CANDIDATES, table())


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("epsilon", mostly_slow([0.3, 1.0, 4.0, 16.0], 1.0))
def test_the_answers_spend_nearly_the_claim_and_never_more(adjacency, epsilon):
    release = released(epsilon, adjacency, table(2 if epsilon == 16.0 else 100))
    whole, rounds = HUNTER.shares(release, adjacency)
    assert release.statement.mu <= Budget(epsilon, DELTA).mu
    assert 0.90 <= whole <= 1.0
    assert min(rounds) >= 0.90
    assert max(rounds) <= 1.0
    kinds = [{type(one) for one in item.statistic.maps} for item in release.measurements]
    assert kinds[:4] == [{FourierFeatures}] * 2 + [{Lift if adjacency == Adjacency.REPLACE else Hampel}] * 2
    assert epsilon < 16 or kinds[4:] == [{Shells}] * 3


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE])
def test_without_labels_the_answers_spend_nearly_the_claim_and_never_more(adjacency):
    schema, rows = unlabelled(2), clouds(2)
    whole, rounds = Hunter(schema, PLAIN_CANDIDATES, rows).shares(released(4.0, adjacency, rows, schema), adjacency)
    assert 0.90 <= whole <= 1.0
    assert min(rounds) >= 0.90
    assert max(rounds) <= 1.0


def test_with_public_features_a_label_spends_the_claim():
    release = released(1.0, Adjacency.LABEL, table(rows=600), PUBLIC_FEATURES)
    assert {type(one) for item in release.measurements for one in item.statistic.maps} == {Leaves}
    whole, _ = Hunter(PUBLIC_FEATURES, LABELLED_CANDIDATES, table()).shares(release, Adjacency.LABEL)
    assert 0.999 <= whole <= 1.0


@pytest.mark.slow
def test_an_attacker_at_the_door_comes_within_a_tenth_of_the_claim():
    """All questions of a release as one, each with its own noise, asked 60,000 times over, in three attempts."""
    release = released(16.0)
    here, there = HUNTER.neighbours(np.hstack([HUNTER.looks(item) for item in release.measurements]), "add-remove")
    parts = tuple(item.statistic for item in release.measurements)
    echo = Echo(Stacked(parts, tuple(1 / item.sigma for item in release.measurements)), 60_000)
    mu, sides = release.statement.mu, []
    for rows in (there, here):
        privacy_filter = PrivacyFilter(Budget(20.0, 1e-3).units)
        curator = Curator(
            open_source(rows, LABELLED, declared=True), Adjacency.ADD_REMOVE, privacy_filter, SecureNoise()
        )
        sides.append(np.split(answers(curator.measure(echo, mu)), 3))
    best = max(mu_lower_bound(*attempt) for attempt in zip(*sides, strict=True)) / mu
    print(f"\nan attacker measures {best:.4f} of the claim")
    assert 0.90 <= best <= 1.0


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_round_left_unpaid_is_caught(adjacency):
    """A round is asked a second time, and nobody pays."""
    release = released(1.0, adjacency)
    vectors = [HUNTER.looks(item) for item in release.measurements]
    for again, one in zip(release.measurements, vectors, strict=True):
        answered = (*release.measurements, again)
        assert HUNTER.spent(answered, adjacency, np.hstack([*vectors, one])) > release.statement.mu
    twice = dataclasses.replace(release, measurements=answered)
    assert "costs add up and stay in the budget" in [check.what for check in verify(twice) if not check.holds]


def priced(measurement, claim: float):
    """The same question with the noise of another claim."""
    return dataclasses.replace(measurement, sigma=noise_scale(claim, measurement.mu))


def test_scores_and_light_waves_priced_for_two_classes_are_caught_under_replace():
    """What add-remove asks for, replaced in one class at a price of sqrt(2)."""
    asked = [item for item in released(1.0).measurements if not isinstance(item.statistic.maps[0], Shells)]
    assert len(asked) >= 4
    for item in asked:
        assert HUNTER.spent([priced(item, math.sqrt(2) * UNIT)], Adjacency.REPLACE) > 1.05 * item.mu
        assert HUNTER.spent([priced(item, item.statistic.sensitivity(Adjacency.REPLACE))], Adjacency.REPLACE) <= item.mu


def test_a_label_priced_as_one_record_is_caught():
    for item in released(1.0, Adjacency.LABEL).measurements:
        assert HUNTER.spent([priced(item, UNIT)], Adjacency.LABEL) > 1.3 * item.mu


@pytest.mark.parametrize("module", ["scores", "shells"])
def test_sums_of_floats_are_caught(module, monkeypatch):
    """The mutant that sums vectors as they are, not cut to whole numbers: the sum depends on order and split."""
    asked = released(16.0, rows=table(tails=2)).measurements[2 if module == "scores" else -1].statistic
    batch = Encoder(LABELLED).encode(table().to_batches()[0])
    order = np.random.default_rng(0).permutation(batch.rows)
    assert same_for_any_split(asked, batch, [7, 1_000], order)
    monkeypatch.setattr(f"sfumato.trusted.feature_maps.{module}.whole", lambda values: values)
    assert not same_for_any_split(asked, batch, [7, 1_000], order)
