"""The curator.

What it spends, what it draws, what it lets out (threats 7 and 8), and the faults that the checks must see.
"""

import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import BudgetExceededError, DataError, RequestError
from sfumato.trusted import curator as curator_module
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.curator import Curator
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.noise import SecureNoise
from sfumato.trusted.privacy_filter import PrivacyFilter, units_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Cells, Stacked, size_of

SCHEMA = Schema.from_yaml("""
{sfumato: 1, name: two, columns: [{name: a, type: category, values: [x, y]}, {name: b, type: boolean}], target: b}
""")
GRIDS = {name: Grid.of_cells(np.arange(2)) for name in ("a", "b")}
ONE = Cells((("a", "b"),), GRIDS, "b")
TWO = Stacked((ONE, Cells((("a",), ("b",)), GRIDS, "b")), (1.0, 0.5))


def table(rows: int) -> pa.Table:
    return pa.table({"a": ["x", "y"] * (rows // 2), "b": [True] * (2 * (rows // 2))})


class Witness:
    """Writes down, in order, what the door does."""

    unit, records = None, 1

    def __init__(self, rows: int = 10, factor: float = 1.0) -> None:
        self.events: list[tuple] = []
        self.budget = Budget(1.0, 1e-6)
        self._source, self._noise, self._factor = open_source(table(rows), SCHEMA, declared=True), SecureNoise(), factor
        self.header = self._source.header
        self.private = True
        self._filter = PrivacyFilter(self.budget.units)

    @property
    def spent(self):
        return self._filter.spent

    def spend(self, mu):
        self.events.append(("spend", units_of(mu)))
        self._filter.spend(mu)

    def sum(self, statistic):
        self.events.append(("read",))
        return self._source.sum(statistic)

    def rounded_gaussian(self, sigma, size):
        self.events.append(("noise", sigma * self._factor, size))
        return self._noise.rounded_gaussian(sigma * self._factor, size)

    def curator(self, adjacency=Adjacency.ADD_REMOVE) -> Curator:
        return Curator(self, adjacency, self, self)


def check_spend_read_noise(statistic, mu, adjacency, witness=None) -> None:
    """Spend first, read second, then exactly the noise that sensitivity and mu ask for, once for each block."""
    witness = witness or Witness()
    measurement = witness.curator(adjacency).measure(statistic, mu)
    sigma = statistic.sensitivity(adjacency) / mu
    kinds = [event[0] for event in witness.events]
    assert kinds == ["spend", "read"] + ["noise"] * len(statistic.blocks)
    assert witness.events[0][1] == units_of(mu)
    for event, block in zip(witness.events[2:], statistic.blocks, strict=True):
        assert event[1] == pytest.approx(sigma / block.weight, rel=1e-12)
        assert event[2] == block.size
    assert measurement.sigma == pytest.approx(sigma, rel=1e-12)
    assert measurement.values.dtype == np.int64
    assert measurement.values.shape == (sum(block.size for block in statistic.blocks),)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("statistic", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize("mu", [0.01, 0.1, 0.23])
def test_noise_scale_is_sensitivity_over_mu(statistic, mu, adjacency):
    check_spend_read_noise(statistic, mu, adjacency)


def test_the_noise_does_not_see_the_records():
    """Whatever the number of rows, the same noise is asked for."""
    asked = []
    for rows in (0, 2, 5000):
        witness = Witness(rows)
        witness.curator().measure(TWO, 0.1)
        asked.append([event for event in witness.events if event[0] == "noise"])
    assert asked[0] == asked[1] == asked[2]


def test_what_comes_out_is_the_sum_and_the_noise():
    class NoNoise(Witness):
        def rounded_gaussian(self, sigma, size):
            return np.arange(size)

    measured = NoNoise(10).curator().measure(ONE, 0.1)
    assert measured.values.tolist() == [0 + 0, 5 + 1, 0 + 2, 5 + 3]
    with pytest.raises(ValueError, match="read-only"):
        measured.values[0] = 1


def test_events_recorded_are_noise_drawn():
    """Threat 8: what the statement will list is what was spent and what was drawn, measurement by measurement."""
    witness = Witness()
    curator = witness.curator()
    mus = witness.budget.split((0.2, 0.5, 0.3))
    for mu, statistic in zip(mus, (ONE, TWO, ONE), strict=True):
        curator.measure(statistic, mu)
    drawn = sum(event[0] == "noise" for event in witness.events)
    assert drawn == sum(len(item.statistic.blocks) for item in curator.measurements) == 4
    assert sum(units_of(item.mu) for item in curator.measurements) == witness.spent
    assert math.hypot(*(item.mu for item in curator.measurements)) == pytest.approx(witness.budget.mu, rel=1e-9)


def test_without_budget_nothing_is_read_or_drawn():
    witness = Witness()
    curator = witness.curator()
    with pytest.raises(BudgetExceededError):
        curator.measure(ONE, 5.0)
    assert [event[0] for event in witness.events] == ["spend"]
    assert witness.spent == 0
    assert curator.measurements == ()


def test_a_crash_while_reading_leaves_the_spend_standing():
    class Broken(Witness):
        def sum(self, statistic):
            raise DataError("the disk is gone")

    witness = Broken()
    with pytest.raises(DataError):
        witness.curator().measure(ONE, 0.1)
    assert witness.spent == units_of(0.1)


def test_a_sum_beyond_64_bits_is_the_noisy_sum_modulo_2_to_the_64():
    """It wraps in the sum and in the noise alike, without a warning: a function of the noisy sum, and no more."""
    witness, noise = Witness(), np.array([5, -7, 3, 0, 0, 0])[: size_of(ONE)]
    exact = [2**63 - 2 + place for place in range(size_of(ONE))]
    witness.sum = lambda statistic: np.array([value % 2**64 for value in exact], dtype=np.uint64).view(np.int64)
    witness.rounded_gaussian = lambda sigma, size: noise
    measured = witness.curator().measure(ONE, 0.1).values
    assert [int(value) % 2**64 for value in measured] == [
        (a + int(b)) % 2**64 for a, b in zip(exact, noise, strict=True)
    ]


def test_a_question_that_is_kept_keeps_no_tables_of_its_sum():
    fine, batch = Grid.of_cells(np.arange(1 << 20) >> 12), Batch(3, {"x": np.array([0, 4_096, 5_000], np.int32)})
    asked, had = Cells((("x",),), {"x": fine}, None), []

    class Reader(Witness):
        def sum(self, statistic):
            counts = statistic(batch)
            had.append("_pages" in vars(fine))
            return counts

    Reader().curator().measure(asked, 0.1)
    assert had == [True]
    assert "_pages" not in vars(fine)
    assert asked(batch)[:2].tolist() == [1, 2]


class TestFaultsAreSeen:
    """Each check above fails when the fault that it is for is put in."""

    def test_too_little_noise(self):
        with pytest.raises(AssertionError):
            check_spend_read_noise(TWO, 0.1, Adjacency.ADD_REMOVE, Witness(factor=0.95))

    def test_half_the_sensitivity(self, monkeypatch):
        monkeypatch.setattr(curator_module, "noise_scale", lambda sensitivity, mu: sensitivity / 2 / mu)
        with pytest.raises(AssertionError):
            check_spend_read_noise(ONE, 0.1, Adjacency.ADD_REMOVE)

    def test_a_spend_after_the_noise(self, monkeypatch):
        def late(self, statistic, mu):
            sigma = curator_module.noise_scale(statistic.sensitivity(self._adjacency), mu)
            total = self._source.sum(statistic)
            noise = [self._noise.rounded_gaussian(sigma / block.weight, block.size) for block in statistic.blocks]
            self._filter.spend(mu)
            return curator_module.Measurement(statistic, mu, sigma, total + np.concatenate(noise))

        monkeypatch.setattr(Curator, "measure", late)
        with pytest.raises(AssertionError):
            check_spend_read_noise(ONE, 0.1, Adjacency.ADD_REMOVE)

    def test_a_weight_that_scales_nothing(self):
        weights = iter(block.weight for block in TWO.blocks)

        class Unweighted(Witness):
            def rounded_gaussian(self, sigma, size):
                return super().rounded_gaussian(sigma * next(weights), size)

        with pytest.raises(AssertionError):
            check_spend_read_noise(TWO, 0.1, Adjacency.ADD_REMOVE, Unweighted())


PUBLIC = Schema.from_dict(SCHEMA.to_dict() | {"public_features": True})


def door_of(adjacency: Adjacency, public: tuple[str, ...]) -> Curator:
    return Curator(
        open_source(table(10), PUBLIC, declared=True), adjacency, PrivacyFilter(10**12), SecureNoise(), public
    )


class TestPublicFeatures:
    def test_are_let_out_under_label_adjacency(self):
        assert door_of(Adjacency.LABEL, ("a",)).features(("a",)).rows == 10

    @pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE])
    def test_are_private_under_any_other(self, adjacency):
        with pytest.raises(RequestError, match="private"):
            door_of(adjacency, ("a",)).features(("a",))

    @pytest.mark.parametrize("names", [("b",), ("a", "b"), ("b", "a")])
    def test_never_bring_another_column_along(self, names):
        with pytest.raises(RequestError, match="private"):
            door_of(Adjacency.LABEL, ("a",)).features(names)


def test_a_filter_for_other_persons_than_the_source_bounds_is_refused():
    """Else three records of a person would be paid for as one."""
    people = Schema.from_dict(SCHEMA.to_dict() | {"unit": {"column": "who", "records": 3}})
    rows = table(10).append_column("who", pa.array(range(10)))
    for source, records in (
        (open_source(rows, people, declared=True), 1),
        (open_source(rows, people, declared=True), 2),
        (open_source(rows, SCHEMA, declared=True), 3),
    ):
        with pytest.raises(RequestError, match="count different persons"):
            Curator(source, Adjacency.ADD_REMOVE, PrivacyFilter(10**12, records), SecureNoise())
    assert Curator(
        open_source(rows, people, declared=True), Adjacency.ADD_REMOVE, PrivacyFilter(10**12, 3), SecureNoise()
    )


def test_every_number_has_noise_of_its_own():
    measured = Witness(0).curator().measure(TWO, 0.01)
    assert len(set(measured.values.tolist())) > len(measured.values) // 2
