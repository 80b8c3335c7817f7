"""The slicing mechanism and SliceWass through the door of the rivals."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from sfumato_papers.baselines import Layout, Table
from sfumato_papers.slicing import SLICERS, SlicedDivergence, SliceWass, Slicing, Training
from sfumato_papers.slicing.slice_wass import sliced_wasserstein
from sklearn.linear_model import LogisticRegression

from sfumato.errors import BudgetError, RequestError
from tests.published.rival_checks import (
    check_format,
    check_number_of_rows,
    check_randomness,
    check_table_is_left_alone,
    made,
)
from tests.published.rival_tables import KINDS, easy, mixed

FEW = Training(steps=5, batch=30)
SMALL = (
    SlicedDivergence(training=FEW),
    SlicedDivergence(Slicing(4, frame="independent"), "KL", "moment matching", "literal", FEW),
    SliceWass(training=FEW),
    SliceWass("exact", training=FEW),
)
every_rival = pytest.mark.parametrize("rival", SMALL, ids=["default", "other settings", "published", "exact"])


# what they give


@every_rival
@pytest.mark.parametrize("kinds", [KINDS, (0, 0), (4, 2)], ids=["both", "numbers", "categories"])
def test_rows_have_the_format_of_the_table(rival, kinds):
    check_format(rival, kinds)


@every_rival
def test_there_are_as_many_rows_as_are_asked_for(rival):
    check_number_of_rows(rival)


@every_rival
def test_the_generator_decides_everything(rival):
    check_randomness(rival)


@every_rival
def test_the_table_stays_as_it_is(rival):
    check_table_is_left_alone(rival)


def test_constant_columns_and_a_row_twice_are_fine():
    table = mixed()
    same = Table(np.tile(table.X[:1], (60, 1)), table.y, table.kinds, 3)
    assert made(SMALL[0], same).X.shape == (60, 4)


# what they say


@every_rival
def test_the_guarantee_is_a_claim_and_names_its_faults(rival):
    rows = made(rival, mixed())
    assert rows.guarantee.startswith("guarantee: as claimed by the paper on ")
    assert "(2, 0.0001)-differential privacy for one replaced record" in rows.guarantee
    assert rows.faults[0].startswith("Numbers are taken to lie in [0, 1] by public bounds")
    assert any(fault.startswith("Directions must be unknown") for fault in rows.faults)
    assert any("number of records is public" in fault for fault in rows.faults)


def test_whose_noise_it_is():
    paper, published, exact = (" ".join(made(SMALL[place], mixed()).faults) for place in (0, 2, 3))
    assert "our exact privacy profile" in paper
    assert "our exact privacy profile" in exact
    assert "our exact privacy profile" not in published
    for text in (published, exact):
        assert "charge the tail event of their bound once" in text


def test_the_rivals_in_their_order():
    assert list(SLICERS) == ["Slicing (paper)", "SliceWass", "SliceWass, exact noise"]
    for name, rival in SLICERS.items():
        assert rival.name == name
        assert rival.paper[-4:].isdigit()
        assert rival.accounting.endswith(".")
        assert rival.accounting.count(".") == 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            rival.rows = 3


# noise


@pytest.mark.parametrize(("width", "slices", "ratio"), [(20, 5, 11.7 / 2.49), (100, 5, 11.2 / 1.15)])
def test_how_much_more_noise_the_authors_of_slicewass_add(width, slices, ratio):
    published, exact = (
        SliceWass(noise, Slicing(slices, frame="independent")).sigma(width, 1.0, 1e-5)
        for noise in ("published", "exact")
    )
    assert published / exact == pytest.approx(ratio, rel=0.02)


@every_rival
def test_the_release_gets_the_noise_that_was_counted(rival, monkeypatch):
    seen = []
    original = Slicing.__call__

    def watched(self, rng, rows, sigma):
        release = original(self, rng, rows, sigma)
        assert np.linalg.norm(rows, axis=1).max() <= self.radius * (1 + 1e-12)
        seen.append((sigma, np.std(release.values - rows @ release.directions)))
        return release

    monkeypatch.setattr(Slicing, "__call__", watched)
    table = mixed(records=3_000)
    made(rival, table)
    ((sigma, found),) = seen
    width = Layout.of(table).width
    claimed = rival.sigma(width, 2.0, 1e-4) if isinstance(rival, SliceWass) else rival.slicing.sigma(width, 2.0, 1e-4)
    assert sigma == claimed
    assert found == pytest.approx(claimed, rel=0.03)  # of 12,000 numbers at least: five deviations and more


# the distance


def test_the_sliced_wasserstein_distance_by_trying_all_pairings():
    import itertools

    import torch

    one, other = np.random.default_rng(0).normal(size=(2, 3, 5))
    best = [
        min(np.mean((a - b[list(order)]) ** 2) for order in itertools.permutations(range(5)))
        for a, b in zip(one, other, strict=True)
    ]
    found = sliced_wasserstein(torch.from_numpy(one), torch.from_numpy(other), 2.0)
    assert float(found) == pytest.approx(np.mean(best) / 4)


# what they refuse


@every_rival
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (-1.0, 1e-5), (1.0, 0.0), (1.0, 1.0), (np.nan, 1e-5)])
def test_a_budget_that_is_none_is_refused(rival, epsilon, delta):
    with pytest.raises(BudgetError):
        made(rival, mixed(), epsilon=epsilon, delta=delta)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"divergence": "L2"}, "one of KL"),
        ({"fit": "guess"}, "one of least squares, moment matching"),
        ({"gradient": "none"}, "one of first variation, literal"),
    ],
)
def test_settings_that_are_none(settings, message):
    with pytest.raises(RequestError, match=message):
        SlicedDivergence(**settings)


def test_noise_of_nobody():
    with pytest.raises(RequestError, match="one of published, exact"):
        SliceWass("guessed")


@pytest.mark.parametrize("make", [SlicedDivergence, SliceWass])
def test_more_slices_than_a_record_is_wide(make):
    with pytest.raises(RequestError, match="lower `slices`"):
        made(make(slicing=Slicing(slices=11)), mixed())  # ten wide


# what they learn


@pytest.mark.parametrize("rival", [SlicedDivergence(), SliceWass("exact")], ids=["divergence", "distance"])
def test_an_easy_table_is_learnt_at_a_large_epsilon(rival):
    table, fresh = easy(), easy(1)
    rows = made(dataclasses.replace(rival, training=Training(steps=200, batch=250)), table, epsilon=200.0)
    layout = Layout.of(table)
    seen, real = (layout.encode(t)[:, : layout.label.start] for t in (Table(rows.X, rows.y, KINDS, 2), fresh))
    assert LogisticRegression().fit(seen, rows.y).score(real, fresh.y) > 0.9


# what they load


def test_importing_them_loads_no_heavy_library():
    heavy = {"torch", "opacus", "dp_accounting", "pyarrow", "pydantic", "sklearn", "pandas"}
    code = f"import sys, sfumato_papers.slicing; sys.exit(sorted({heavy} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr == ""
