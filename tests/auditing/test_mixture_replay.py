"""`verify` asks a mixture's questions again: one that looked at the rows is found, last digits are forgiven."""

import dataclasses

import numpy as np
import pytest

from sfumato.artefact.verify import verify
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.curator import Curator
from sfumato.trusted.feature_maps import ByRule, FourierFeatures, Hampel, Leaves, RadialWeight, Whitening
from sfumato.trusted.feature_maps.bounded_map import BoundedMap
from sfumato.trusted.statistics import ClassSums
from tests.auditing.mixtures import PUBLIC_FEATURES, clouds, released, table, unlabelled
from tests.parameters import mostly_slow

FOUND = ["model follows from the measurements"]
FEW = table(rows=600)


def failed(release, features=None) -> list[str]:
    return [check.what for check in verify(release, features) if not check.holds]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_release_as_it_was_made_holds(adjacency):
    assert failed(released(1.0, adjacency)) == []


@pytest.mark.parametrize("columns", mostly_slow([1, 2, 5], 2))
def test_a_release_without_labels_holds(columns):
    assert failed(released(4.0, rows=clouds(columns), schema=unlabelled(columns))) == []


def test_a_release_with_public_features_holds():
    release = released(1.0, Adjacency.LABEL, FEW, PUBLIC_FEATURES)
    assert [check.what for check in verify(release) if check.outcome == "fails"] == []
    assert failed(release, FEW) == []


def raw_whitening(label: str) -> Whitening:
    """What nobody may compute: a whitening from the private rows."""
    rows = table()
    mine = rows["y"].to_numpy() == label
    x = np.stack([rows["a"].to_numpy()[mine] / 10, rows["b"].to_numpy()[mine] / 10 + 0.5])
    return Whitening.of(np.linalg.inv(np.linalg.cholesky(np.cov(x))), x.mean(axis=1))


class Peeping(Curator):
    """A door that looks at the rows, from round `first` on, to choose how to look at the rows."""

    first = 0

    def measure(self, statistic, mu):
        asked = self.turned(statistic) if len(self.measurements) >= self.first else statistic
        return super().measure(asked, mu)

    def turned(self, statistic: ClassSums) -> ClassSums:
        maps = (self.peek(one, label) for one, label in zip(statistic.maps, ("no", "yes"), strict=True))
        return dataclasses.replace(statistic, maps=tuple(maps))

    def peek(self, one: BoundedMap, label: str) -> BoundedMap:
        return one if isinstance(one, Leaves) else dataclasses.replace(one, whitening=raw_whitening(label))


@pytest.mark.parametrize("first", [2, 4, 6])
def test_a_whitening_taken_from_the_rows_is_found(first, monkeypatch):
    monkeypatch.setattr(Peeping, "first", first)
    monkeypatch.setattr("sfumato.trusted.session.Curator", Peeping)
    assert failed(released(4.0)) == FOUND


class Tuned(Peeping):
    """Turns the waves of the second round to what the rows show."""

    first = 1

    def peek(self, one, label):
        if not isinstance(one, FourierFeatures):
            return one
        return FourierFeatures.of(np.abs(np.diag(raw_whitening(label).exact_matrix))[:, None], one.weight)


def test_frequencies_taken_from_the_rows_are_found(monkeypatch):
    monkeypatch.setattr("sfumato.trusted.session.Curator", Tuned)
    assert failed(released(4.0)) == FOUND


class Shifted(Peeping):
    """Moves the borders between components by what the rows show."""

    def turned(self, statistic):
        if statistic.parting.size == 1:
            return statistic
        shown = 1 + clouds(2)["x0"].to_numpy().mean()
        offsets = tuple(offset + shown * place for place, offset in enumerate(statistic.parting.offsets))
        return dataclasses.replace(statistic, parting=ByRule(statistic.parting.whitenings, offsets))


def test_borders_taken_from_the_rows_are_found(monkeypatch):
    monkeypatch.setattr("sfumato.trusted.session.Curator", Shifted)
    assert failed(released(4.0, rows=clouds(2), schema=unlabelled(2))) == FOUND


class Told(Peeping):
    """Cuts leaves where the labels lie."""

    def turned(self, statistic):
        leaves = statistic.maps[0]
        if not isinstance(leaves, Leaves):
            return statistic
        thresholds = np.rint(leaves.directions @ raw_whitening("yes").centre.astype(np.float64))
        return dataclasses.replace(statistic, maps=(dataclasses.replace(leaves, thresholds=thresholds),) * 2)


def test_leaves_cut_by_the_labels_are_found(monkeypatch):
    monkeypatch.setattr("sfumato.trusted.session.Curator", Told)
    assert failed(released(1.0, Adjacency.LABEL, FEW, PUBLIC_FEATURES), FEW) == FOUND


def test_scores_through_a_whitening_of_the_labels_are_found(monkeypatch):
    monkeypatch.setattr(Peeping, "first", 1)
    monkeypatch.setattr("sfumato.trusted.session.Curator", Peeping)
    assert failed(released(1.0, Adjacency.LABEL, FEW, PUBLIC_FEATURES), FEW) == FOUND


class Elsewhere(Peeping):
    """The same questions as another processor computes them: the last digits differ."""

    def peek(self, one, label):
        if not isinstance(one, Hampel):
            return one
        rng, old = np.random.default_rng(0), one.damping
        coefficients = tuple(entry * (1 + 1e-10 * rng.normal()) for entry in old.coefficients)
        nodes = old.nodes + rng.integers(-1, 2, old.nodes.shape).astype(np.int32)
        matrix = one.whitening.matrix + rng.integers(-2, 3, one.whitening.matrix.shape).astype(np.int32)
        return dataclasses.replace(
            one,
            damping=RadialWeight(old.rates, coefficients, old.start, nodes),
            whitening=dataclasses.replace(one.whitening, matrix=matrix),
        )


def test_the_last_digits_of_another_processor_are_no_fault(monkeypatch):
    monkeypatch.setattr("sfumato.trusted.session.Curator", Elsewhere)
    assert failed(released(1.0)) == []
