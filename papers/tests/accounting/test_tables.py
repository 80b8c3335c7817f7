"""The earlier bounds, and the tables of noise that hold them beside the exact curve."""

import sys

import pytest
from experiments.slicing import accounting_tables
from sfumato_papers.accounting import SlicingProfile
from sfumato_papers.slicing import bounds

from sfumato.trusted.budget import mu_of
from sfumato.trusted.random_directions import OrthonormalFrame

BUDGET = (1.0, 1e-5)
KNOWN = {  # d, m: exact independent, exact orthonormal, clipped, split, worst case, Bernstein, central limit
    (20, 1): (1.63, 1.63, 1.33, 3.17, 3.73, 11.3, 2.27),
    (20, 5): (2.49, 2.35, 2.27, 4.43, 8.34, 11.7, 3.68),
    (20, 20): (4.15, 3.73, 3.73, 6.36, 16.7, 12.6, 5.89),
    (100, 1): (0.774, 0.774, 0.604, 1.69, 3.73, 11.1, 1.04),
    (100, 20): (1.88, 1.84, 1.81, 2.97, 16.7, 11.4, 2.68),
    (100, 100): (3.84, 3.73, 3.73, 5.03, 37.3, 12.2, 4.94),
    (784, 1): (0.28, 0.28, 0.216, 0.629, 3.73, 11.1, 0.373),
    (784, 20): (0.674, 0.672, 0.657, 1.07, 16.7, 11.1, 0.96),
    (784, 100): (1.37, 1.37, 1.36, 1.81, 37.3, 11.2, 1.77),
}
COLUMNS = ("exact indep", "exact orth", "orth + clip", "tail split", "worst case", "R&R Bernstein", "R&R CLT")


@pytest.mark.parametrize("cell", [(20, 5)])
def test_a_row_of_the_table(cell):
    row = accounting_tables.noise(*cell, *BUDGET)
    assert [row[name] for name in COLUMNS] == pytest.approx(KNOWN[cell], rel=5e-3)
    assert row["bracket"] < 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("cell", KNOWN)
def test_all_known_rows_of_the_table(cell):
    row = accounting_tables.noise(*cell, *BUDGET)
    assert [row[name] for name in COLUMNS] == pytest.approx(KNOWN[cell], rel=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("budget", accounting_tables.BUDGETS.values())
@pytest.mark.parametrize("d", accounting_tables.DIMENSIONS)
@pytest.mark.parametrize("m", accounting_tables.SLICES)
def test_all_brackets_are_narrow_and_valid_bounds_are_above(d, m, budget):
    row = accounting_tables.noise(d, m, *budget)
    assert row["bracket"] < 2e-4
    exact = row["exact indep"]
    assert 1.05 < row["RDP indep"] / exact < 1.4
    assert exact < min(row[name] for name in ("tail split", "worst case", "R&R Bernstein", "R&R as coded"))


@pytest.mark.parametrize(("d", "m"), [(20, 5), (100, 1)])
def test_valid_bounds_are_above_the_exact_noise(d, m):
    frame = OrthonormalFrame.independent(d, m)
    exact = SlicingProfile(frame).sigma(*BUDGET).upper
    split = bounds.tail_split(frame, *BUDGET)
    assert exact < split < bounds.worst_case(frame, *BUDGET) < bounds.bernstein(d, m, *BUDGET)
    assert bounds.bernstein(d, m, *BUDGET) <= bounds.bernstein_as_coded(d, m, *BUDGET)
    assert exact < bounds.central_limit(d, m, *BUDGET) < split


def test_a_frame_that_sees_all_has_no_tail_to_split_off():
    split = bounds.tail_split(OrthonormalFrame.orthonormal(9, 9), *BUDGET)
    assert split == pytest.approx(1 / mu_of(*BUDGET), rel=1e-3)


def test_the_command_prints_a_page_and_writes_nothing_when_quick(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(
        accounting_tables, "noise", lambda d, m, *_: {"d": d, "m": m, "exact indep": 1.0, "bracket": 1e-4}
    )
    monkeypatch.setattr(accounting_tables, "shuffled", lambda n, delta, _: {"delta": delta, "n": n, "ceiling": 2.0})
    for flags, tables in ((["--quick"], 1), ([], 3)):
        monkeypatch.setattr(sys, "argv", ["accounting_tables", *flags, "--out", str(tmp_path)])
        assert bool(list(tmp_path.iterdir())) is False
        accounting_tables.main()
        assert capsys.readouterr().out.count("## A") == tables
    assert {path.name for path in tmp_path.iterdir()} == {"accounting.json", "accounting.md"}
