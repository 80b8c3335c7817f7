"""The figures of the first paper: what is measured, kept, drawn and said."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

from experiments.liu import data, figure_6, table_1
from experiments.liu.digit_releases import accuracy
from experiments.liu.figure import CurveFigure, kl_of_all
from experiments.liu.methods import (
    FITTED,
    LAPLACE,
    LIMIT,
    PROPOSED,
    PUBLISHED,
    STROKES,
    WHOLE,
    another_sample,
    expected_kl,
    fitted_to,
)
from experiments.liu.page import page
from sfumato_papers.liu import divergence

DATA = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real data at {DATA}; set SFUMATO_DATA")


def test_every_class_of_a_synthetic_table_can_be_fitted():
    for seed in range(20):
        records = data.synthetic(seed, rows=60, classes=4, columns=3)
        assert np.bincount(records.label).min() >= 5
        fitted_to(records)


def test_units_do_not_change_the_divergence():
    records = data.iris()
    units = data.Units.standard(records)
    scaled = units.of_records(records)
    assert np.allclose(scaled.numbers.mean(axis=0), 0, atol=1e-12)
    assert np.allclose(scaled.numbers.std(axis=0), 1)
    other = another_sample(records, 1.0, 0)
    assert divergence(units.of_mixture(other), fitted_to(scaled)).total == pytest.approx(
        divergence(other, fitted_to(records)).total
    )


def test_another_sample_is_as_far_as_theory_says():
    """About half a nat for each free number of a class and record of it; 500 records in each of two classes."""
    rng = np.random.default_rng(0)
    numbers, label = rng.standard_normal((1000, 2)), np.repeat([0, 1], 500)
    records = data.synthetic(0)._replace(numbers=numbers, label=label, classes=2)
    found = [divergence(another_sample(records, 1.0, seed), fitted_to(records)).total for seed in range(200)]
    assert np.mean(found) == pytest.approx(5 / 2 / 500, rel=0.15)


def test_expected_kl_is_the_mean_of_releases():
    records = data.synthetic(1)
    released = [divergence(PUBLISHED[PROPOSED](records, 1.0, seed), fitted_to(records)).total for seed in range(200)]
    found = expected_kl(records, 1.0, "leave", 0, 400)
    assert found == pytest.approx(np.mean(released), abs=5 * np.std(released) / 200**0.5)


def test_every_method_has_a_curve():
    records = data.synthetic(2, rows=120, classes=2, columns=2)
    found = kl_of_all(records, records, 2.0, 0)
    assert set(found) == set(STROKES) - {FITTED}
    assert all(np.isfinite(kl) and kl > -1e-9 for kl in found.values())
    assert found[LAPLACE] > found[PROPOSED]


def test_accuracy_is_by_the_greatest_likelihood():
    records = data.iris()
    fitted = fitted_to(records)
    density = np.array(
        [
            multivariate_normal(mean, cov).logpdf(records.numbers)
            for mean, cov in zip(fitted.means, fitted.covariances, strict=True)
        ]
    )
    slow = np.mean(density.argmax(axis=0) == records.label)
    assert accuracy(fitted, records.numbers, records.label) == slow
    assert slow > 0.95


def little(calls: list[tuple[float, int]]) -> CurveFigure:
    def measure(value: float, seed: int) -> dict[str, float]:
        calls.append((value, seed))
        return {PROPOSED: value * (1 + seed), LIMIT: 0.1}

    return CurveFigure(
        number=1,
        title="a little figure",
        axis="epsilon",
        values=(1.0, 2.0),
        measure=measure,
        trials=3,
        quick_trials=1,
        says=lambda kl: (f"It is {kl.text(PROPOSED, 2.0)}.", "So it is."),
    )


def test_what_is_measured_is_kept_drawn_and_said(tmp_path):
    calls: list[tuple[float, int]] = []
    figure = little(calls)
    text, picture = figure.run(tmp_path, quick=False)
    assert len(calls) == 6
    assert figure.run(tmp_path, quick=False) == (text, picture)
    assert len(calls) == 6  # not measured again
    kept = json.loads((tmp_path / "figure_1.json").read_text())
    assert [cell["seeds"] for cell in kept] == [[0, 1, 2]] * 2
    assert kept[1]["figures"][PROPOSED] == {"median": 4.0, "quartiles": [3.0, 5.0], "mean": 4.0}
    assert "4 (3-5)" in text
    assert str(picture).count("<circle") == 4
    shown = page([figure], tmp_path)
    assert "![a little figure](figure_1.svg)" in shown
    assert "It is 4. So it is." in shown


def test_a_quick_run_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls: list[tuple[float, int]] = []
    little(calls).run(None, quick=True)
    assert len(calls) == 2
    assert not list(tmp_path.iterdir())


def test_densities_are_drawn_from_what_is_kept(tmp_path):
    figure = replace(figure_6.FIGURE, releases=1)
    text, picture = figure.run(tmp_path, quick=False)
    assert figure.run(tmp_path, quick=False) == (text, picture)
    kept = json.loads((tmp_path / "figure_6.json").read_text())
    assert set(kept["KL"]) == {PROPOSED, LAPLACE, WHOLE}
    assert kept["records"]["counts"] == [50, 50, 50]
    assert np.shape(kept["curves"][WHOLE]["mean"]) == (3, 1)
    assert all(len(sentence) > 40 for sentence in figure.sentences(tmp_path))


@needs_data
def test_load_profiles_are_one_record_for_each_house(tmp_path):
    records = data.load_profiles()
    assert records.numbers.shape == (622 + 537, 12)
    assert np.bincount(records.label).min() > 13
    text, shown = table_1.TABLE.run(tmp_path, quick=False)
    assert "1409" in text
    assert shown.count("\n") == 5
    assert all(table_1.TABLE.sentences(tmp_path))


@needs_data
def test_digits_are_five_thousand_in_five_directions():
    found = data.digits(0)
    assert found.training.numbers.shape == (5_000, 5)
    assert found.test.shape == (10_000, 5)
    assert (np.abs(found.training.numbers) < found.training.high).all()
    assert 0.6 < accuracy(fitted_to(found.training), found.test, found.test_label) < 0.85
