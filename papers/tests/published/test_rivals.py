"""The rivals through their one curator: what they take, what they give, what they say of themselves."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from sfumato_papers.baselines import (
    ADSGAN,
    DPGAN,
    DPMERF,
    PATEGAN,
    RIVALS,
    DPMix,
    Generated,
    Layout,
    LiteralADSGAN,
    LiteralPATEGAN,
    Table,
)
from sklearn.linear_model import LogisticRegression

from sfumato.errors import BudgetError, DataError
from tests.published.rival_checks import (
    check_format,
    check_number_of_rows,
    check_randomness,
    check_table_is_left_alone,
    made,
)
from tests.published.rival_tables import KINDS, easy, mixed

SMALL = (
    DPMix(mixed=8),
    DPMERF(steps=20, features=40),
    DPGAN(steps=10, batch=20),
    PATEGAN(rounds=2),
    LiteralPATEGAN(records_each=10, rounds=2),
    ADSGAN(steps=4),
    LiteralADSGAN(steps=4),
)
PRIVATE, NOT_PRIVATE = SMALL[:5], SMALL[5:]
NAMES = [
    "DPMix",
    "DP-MERF",
    "DP-GAN",
    "PATE-GAN",
    "PATE-GAN to the letter",
    "ADS-GAN",
    "ADS-GAN to the letter",
]
every_rival = pytest.mark.parametrize("rival", SMALL, ids=lambda rival: rival.name)
every_quick_rival = pytest.mark.parametrize("rival", SMALL[1:], ids=lambda rival: rival.name)
every_private_rival = pytest.mark.parametrize("rival", PRIVATE, ids=lambda rival: rival.name)


# what they give


@every_quick_rival
@pytest.mark.parametrize("kinds", [KINDS, (0, 0), (4, 2)], ids=["both", "numbers", "categories"])
def test_rows_have_the_format_of_the_table(rival, kinds):
    check_format(rival, kinds)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [KINDS, (0, 0), (4, 2)], ids=["both", "numbers", "categories"])
def test_rows_of_dpmix_have_the_format_of_the_table(kinds):
    check_format(SMALL[0], kinds)


@every_quick_rival
def test_there_are_as_many_rows_as_are_asked_for(rival):
    check_number_of_rows(rival)


@every_rival
def test_the_generator_decides_everything(rival):
    check_randomness(rival)


@every_rival
def test_the_table_stays_as_it_is(rival):
    check_table_is_left_alone(rival)


# what they say


@every_private_rival
def test_the_guarantee_is_the_claim_of_the_paper(rival):
    rows = made(rival, mixed())
    assert f"guarantee: as claimed by the paper on {rival.name}, (2, 0.0001)" in rows.guarantee
    assert rows.faults[0].startswith("Numbers are taken to lie in [0, 1] by public bounds")


@pytest.mark.parametrize("rival", NOT_PRIVATE, ids=lambda rival: rival.name)
def test_ads_gan_says_that_it_is_not_private_and_ignores_the_budget(rival):
    table = mixed()
    rows, others = made(rival, table, epsilon=1.0), made(rival, table, epsilon=-1.0, delta=7.0)
    assert rows.guarantee.startswith("guarantee: none. ADS-GAN is not differentially private")
    assert "as claimed by the paper" in rows.guarantee
    assert rows.faults[0].startswith("Not differentially private")
    assert np.array_equal(rows.X, others.X)


@pytest.mark.parametrize("rival", SMALL[3:5], ids=lambda rival: rival.name)
def test_the_faults_of_pate_gan_name_its_stopping(rival):
    assert "training stops" in made(rival, mixed()).faults[1]


def test_the_rivals_in_their_order():
    assert list(RIVALS) == NAMES
    kinds = [DPMix, DPMERF, DPGAN, PATEGAN, LiteralPATEGAN, ADSGAN, LiteralADSGAN]
    assert [type(rival) for rival in RIVALS.values()] == kinds
    for name, rival in RIVALS.items():
        assert rival.name == name
        assert rival.paper[-4:].isdigit()
        assert rival.accounting.endswith(".")
        assert rival.accounting.count(".") == 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            rival.rows = 3


# what they refuse


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.array([[0.5, 3.0], [0.5, 0.0]])}, "column 1 is a category"),
        ({"X": np.array([[0.5, 0.7], [0.5, 0.0]])}, "column 1 is a category"),
        ({"X": np.array([[1.7, 0.0], [0.5, 0.0]])}, "column 0 is a number"),
        ({"X": np.array([[np.nan, 0.0], [0.5, 0.0]])}, "missing or infinite"),
        ({"X": np.zeros((3, 2))}, "a row for each label"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0, dtype=int)}, "at least one of each"),
        ({"y": np.array([0, 0])}, "a class has no record"),
        ({"y": np.array([0, 2])}, "labels must be whole numbers from 0 to 1"),
        ({"y": np.array([0.0, 1.0])}, "labels must be whole numbers from 0 to 1"),
        ({"kinds": (0, 1)}, "two values at least"),
        ({"classes": 1}, "two values at least"),
    ],
)
def test_a_table_that_is_none_is_refused_and_not_quoted(change, message):
    fine = {"X": np.array([[0.5, 1.0], [0.25, 0.0]]), "y": np.array([0, 1]), "kinds": (0, 2), "classes": 2}
    Table(**fine)
    with pytest.raises(DataError, match=message) as caught:
        Table(**{**fine, **change})
    assert not any(value in str(caught.value) for value in ("1.7", "0.7", "3.0", "nan"))


@every_private_rival
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (-1.0, 1e-5), (1.0, 0.0), (1.0, 1.0), (np.nan, 1e-5)])
def test_a_budget_that_is_none_is_refused(rival, epsilon, delta):
    with pytest.raises(BudgetError):
        made(rival, mixed(), epsilon=epsilon, delta=delta)


def test_too_few_records_to_mix_or_to_teach():
    with pytest.raises(DataError, match="lower `mixed`"):
        made(DPMix(mixed=61), mixed())
    with pytest.raises(DataError, match="lower `records_each`"):
        made(PATEGAN(records_each=31), mixed())


# what they learn


def score(rows: Generated, table: Table) -> float:
    """How often a logistic regression on made-up rows is right on real ones."""
    layout = Layout.of(table)
    seen, real = (layout.encode(t)[:, : layout.label.start] for t in (Table(rows.X, rows.y, KINDS, 2), table))
    return float(LogisticRegression().fit(seen, rows.y).score(real, table.y))


@pytest.mark.parametrize(
    ("rival", "least"),
    [
        pytest.param(DPMix(mixed=2), 0.9, marks=pytest.mark.slow),
        (DPMERF(steps=300, features=200), 0.9),
        (ADSGAN(steps=150), 0.9),
    ],
    ids=["DPMix", "DP-MERF", "ADS-GAN"],
)
def test_an_easy_table_is_learnt_at_a_large_epsilon(rival, least):
    assert score(made(rival, easy(), epsilon=200.0), easy(1)) > least


# what they load


def test_importing_them_loads_no_heavy_library():
    heavy = {"torch", "opacus", "dp_accounting", "pyarrow", "pydantic", "sklearn", "pandas"}
    code = f"import sys, sfumato_papers.baselines; sys.exit(sorted({heavy} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr == ""
