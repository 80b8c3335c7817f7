"""The figures of the first paper: what is measured, kept, drawn and said."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

from experiments import truth
from experiments.liu import data, example_3, figure_6, remark_1, table_1
from experiments.liu.digit_releases import accuracy
from experiments.liu.figure import FOLDER, CurveFigure, Request, in_words, kl_of
from experiments.liu.methods import (
    EXPECTED,
    EXPECTED_GUARDED,
    LABEL,
    LAPLACE,
    LIMIT,
    PARTS,
    PROPOSED,
    PUBLISHED,
    STROKES,
    WHOLE,
    Case,
    another_sample,
    expected_kl,
    fitted_to,
)
from experiments.liu.page import page
from sfumato_papers.liu import KNOWN_FAULTS, Mixture, divergence

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


def test_every_part_has_its_methods_and_every_method_a_stroke():
    records = data.synthetic(2, rows=120, classes=2, columns=2)
    measure = kl_of(lambda epsilon, _: Case(records, records, epsilon))
    found = {part: measure(part, 2.0, 0) for part in PARTS}
    names = {"published": set(PUBLISHED), "expected": {EXPECTED, EXPECTED_GUARDED}, "whole": {WHOLE}, "label": {LABEL}}
    assert {part: set(kls) for part, kls in found.items()} == names
    assert set(PUBLISHED) | {WHOLE, LABEL} <= set(STROKES)
    assert all(np.isfinite(kl) and kl > -1e-9 for kls in found.values() for kl in kls.values())
    assert found["published"][LAPLACE] > found["published"][PROPOSED]


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


def little(calls: list[tuple[str, float, int]]) -> CurveFigure:
    def measure(part: str, value: float, seed: int) -> dict[str, float]:
        calls.append((part, value, seed))
        return {PROPOSED: value * (1 + seed**2), LIMIT: 0.1} if part == "published" else {WHOLE: value / 10}

    return CurveFigure(
        name="figure_1",
        title="a little figure",
        axis="epsilon",
        values=(1.0, 2.0),
        measure=measure,
        trials={"published": 3, "whole": 2},
        quick_trials=1,
        says=lambda kl: (f"It is {kl.text(PROPOSED, 2.0)}, proven {kl.text(WHOLE, 2.0)}.", "So it is."),
    )


def test_what_is_measured_is_kept_drawn_and_said(tmp_path):
    calls: list[tuple[str, float, int]] = []
    figure = little(calls)
    text, picture = figure.run(Request(tmp_path))
    assert len(calls) == 10
    assert figure.run(Request(tmp_path)) == (text, picture)
    assert len(calls) == 10  # not measured again
    kept = json.loads((tmp_path / "figure_1.json").read_text())
    assert [cell["seeds"] for cell in kept] == [[0, 1, 2]] * 2 + [[0, 1]] * 2
    found = kept[1]["figures"][PROPOSED]
    assert (found["median"], found["quartiles"]) == (4.0, [3.0, 7.0])
    assert found["mean"] == pytest.approx(16 / 3, abs=1e-3)
    assert found["interval"][0] < found["mean"] < found["interval"][1]
    assert "4 (3-7)" in text
    assert "5.33 (2-10)" in text
    assert str(picture).count("<circle") == 12  # means and medians of three curves at two places
    shown = page([figure], tmp_path)
    assert "![a little figure](figure_1.svg)" in shown
    assert "It is 5.3 (4), proven 0.2 (0.2). So it is." in shown
    assert len(calls) == 10


def test_proven_curves_are_measured_anew_apart(tmp_path):
    calls: list[tuple[str, float, int]] = []
    figure = little(calls)
    figure.run(Request(tmp_path, parts=("published",)))
    assert {part for part, *_ in calls} == {"published"}
    figure.run(Request(tmp_path))
    assert len(calls) == 10
    figure.run(Request(tmp_path, parts=("whole", "label"), fresh=True))
    assert [part for part, *_ in calls[10:]] == ["whole"] * 4


def test_a_quick_run_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls: list[tuple[str, float, int]] = []
    little(calls).run(Request(None, quick=True))
    assert len(calls) == 4
    assert not list(tmp_path.iterdir())


def test_densities_are_drawn_from_what_is_kept(tmp_path):
    figure = replace(figure_6.FIGURE, releases=1)
    figure.run(Request(tmp_path, parts=("published",)))
    assert set(json.loads((tmp_path / "figure_6.json").read_text())["KL"]) == {PROPOSED, LAPLACE}
    text, picture = figure.run(Request(tmp_path))
    assert figure.run(Request(tmp_path)) == (text, picture)
    kept = json.loads((tmp_path / "figure_6.json").read_text())
    assert set(kept["KL"]) == set(kept["seeds"]) == {PROPOSED, LAPLACE, WHOLE}
    assert kept["records"]["counts"] == [50, 50, 50]
    assert np.shape(kept["curves"][WHOLE]["mean"]) == (3, 1)
    assert all(len(sentence) > 40 for sentence in figure.sentences(tmp_path))


@needs_data
def test_load_profiles_are_one_record_for_each_house(tmp_path):
    records = data.load_profiles()
    assert records.numbers.shape == (622 + 537, 12)
    assert np.bincount(records.label).min() > 13
    text, shown = table_1.TABLE.run(Request(tmp_path))
    assert "1409" in text
    assert shown.count("\n") == 5
    assert all(table_1.TABLE.sentences(tmp_path))


@needs_data
def test_digits_are_five_thousand_in_five_directions():
    found = data.digits(0)
    assert found.training.numbers.shape == (5_000, 5)
    assert found.own.numbers.shape == (100, 5)
    assert found.test.numbers.shape == (10_000, 5)
    assert not set(map(tuple, found.own.numbers)) & set(map(tuple, found.training.numbers))
    assert (np.abs(found.training.numbers) < found.training.high).all()
    assert 0.6 < accuracy(fitted_to(found.training), found.test.numbers, found.test.label) < 0.85


def two_classes(shift: float) -> Mixture:
    means = np.array([[0.0, 0.0], [5.0, shift]])
    return Mixture(np.array([0.4, 0.6]), means, np.array([np.eye(2), [[2.0, 0.5], [0.5, 1.0]]]))


def test_records_drawn_from_a_mixture_have_its_moments():
    numbers, label = example_3.sample(np.random.default_rng(0), two_classes(1.0), 40_000)
    assert np.mean(label) == pytest.approx(0.6, abs=0.01)
    assert numbers[label == 1].mean(axis=0) == pytest.approx([5, 1], abs=0.03)
    assert np.cov(numbers[label == 1].T) == pytest.approx(np.array([[2, 0.5], [0.5, 1]]), abs=0.05)


def test_total_variation_by_drawing_and_by_theory():
    """One class of covariance I moved by s: the normal distribution function at s / 2 and -s / 2, of that class."""
    one, other = (Mixture(np.array([0.3, 0.7]), np.array([[0.0], [s]]), np.ones((2, 1, 1))) for s in (0.0, 1.2))
    found = example_3.total_variation(np.random.default_rng(1), one, other, 100_000)
    assert found == pytest.approx(0.7 * (norm.cdf(0.6) - norm.cdf(-0.6)), abs=0.005)
    kl = divergence(one, other).total
    assert found <= np.sqrt(kl / 2)
    assert example_3.total_variation(np.random.default_rng(1), one, one, 100) == 0


def test_a_forest_learns_more_from_more_records_of_the_same_law():
    rng = np.random.default_rng(2)

    def records(rows: int):
        numbers, label = example_3.sample(rng, two_classes(1.0), rows)
        return data.synthetic(0)._replace(numbers=numbers, label=label, classes=2)

    own, more, test = records(10), records(2_000), records(2_000)
    alone = example_3.learned(own, None, test, 0)
    assert example_3.learned(own, (more.numbers, more.label), test, 0) > alone
    assert example_3.learned(own, (more.numbers, 1 - more.label), test, 0) < 0.5 < alone


def test_ways_without_labels_are_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(remark_1, "TABLES", {"little": lambda seed: data.synthetic(seed, 200, 2, 2)})
    text, shown = replace(remark_1.TABLE).run(Request(tmp_path, quick=True))
    kept = json.loads((tmp_path / "remark_1.json").read_text())
    assert set(kept[0]["figures"]) == {remark_1.KMEANS, remark_1.LABELS, remark_1.LETTER, remark_1.SHIFT}
    assert 0 <= kept[0]["figures"][remark_1.SHIFT]["mean"] < 1e-4
    assert shown.count("\n") == 4
    assert "remark 1" in text


def test_there_is_one_value_for_the_published_floor():
    """On the page of claims, of figures, of results, of the mechanism and of faults."""
    kept = json.loads((FOLDER / "figure_1.json").read_text())
    cells = {cell["case"]: cell["figures"] for cell in kept if cell["part"] == "expected"}
    medians = [in_words(cell[EXPECTED]["median"]) for cell in cells.values()]
    claims = json.loads((truth.DOCS / "truth.json").read_text())["liu"]["objective"]["by epsilon"]
    assert [in_words(row["kl"]) for row in claims] == medians
    row = f"| {' | '.join(medians)} |"
    for page_of in ("mixture.md", "results.md"):
        text = (truth.DOCS.parents[1] / "docs" / page_of).read_text()
        assert f"{row}\n" in text[text.index("the paper's mechanism") :][:200]
    assert f"**{medians[-1]}**, the floor" in (FOLDER / "figures.md").read_text()
    assert sum(f"stays at {medians[-1]} nats" in fault for fault in KNOWN_FAULTS) == 1
