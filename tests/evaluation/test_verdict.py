"""The verdict follows from the figures by its rules: a ruined release is called ruined, a good one is not."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import BundleError
from sfumato.evaluation import evaluate
from sfumato.evaluation.correlations import Correlation
from sfumato.evaluation.distances import Distance
from sfumato.evaluation.evaluation import NOTICE
from sfumato.evaluation.fidelity import Fidelity
from sfumato.evaluation.figures import Figures
from sfumato.evaluation.training import Group, Score, Training
from sfumato.evaluation.verdict import grade_of, judge, state_of
from sfumato.evaluation.violations import Violation
from sfumato.reports.private import private_report

SCHEMA = sfumato.Schema.from_yaml("""
sfumato: 1
name: visits
columns:
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: ward, type: category, values: [surgery, maternity, oncology]}
  - {name: cost, type: number, bounds: [0, 5000], missing: true}
  - {name: seen, type: date, bounds: [2020-01-01, 2023-12-31]}
  - {name: ill, type: boolean}
target: ill
""")
OLD_KEYS = {
    "notice", "dataset", "target", "measure", "learners", "scores", "groups", "compared", "mean_column",
    "mean_column_of_test_rows", "mean_pair", "mean_pair_of_test_rows", "violations", "columns", "pairs",
}  # fmt: skip
OLD_COLUMN_KEYS = {
    "column", "measure", "distance", "distance_of_test_rows", "wasserstein", "wasserstein_of_test_rows", "misread",
    "remark", "hints",
}  # fmt: skip


def visits(rows, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 15, rows).clip(0, 99).astype(int)
    return pa.table(
        {
            "age": age,
            "ward": rng.choice(["surgery", "maternity", "oncology"], rows, p=[0.6, 0.3, 0.1]),
            "cost": pa.array(rng.gamma(4, 200, rows).clip(0, 5000), mask=rng.random(rows) < 0.1),
            "seen": pa.array(18_262 + rng.integers(0, 1_400, rows).astype(np.int32)).cast(pa.date32()),
            "ill": rng.random(rows) < age / 100,
        }
    )


@pytest.fixture(scope="module")
def good():
    release = sfumato.release(visits(3_000), SCHEMA, epsilon=8, ledger=None, types="declared", seed=1)
    return release, evaluate(release, visits(3_000), visits(2_000, 1))


@pytest.fixture(scope="module")
def ruined():
    release = sfumato.release(visits(300), SCHEMA, epsilon=0.01, ledger=None, types="declared", seed=1)
    return release, evaluate(release, visits(300), visits(300, 1), rows=300)


def test_a_good_release_has_no_ruined_column(good):
    release, found = good
    assert found.verdict.ruined == found.verdict.distorted == ()
    assert found.verdict.headline.startswith("Good for counts of single columns, counts of pairs of columns")
    assert found.verdict.headline.endswith("No column is ruined.")
    assert not found.verdict.cautions
    page = private_report(found, release)
    assert 'class="card ruined"' not in page
    assert page.index(found.verdict.headline) < page.index("<h2>")


def test_a_ruined_release_is_called_so(ruined):
    release, found = ruined
    assert len(found.verdict.ruined) >= 4
    assert "not fit for counts of single columns, counts of pairs of columns" in found.verdict.headline.lower()
    assert f"{len(found.verdict.ruined)} of 5 columns are ruined: {found.verdict.ruined[0]}" in found.verdict.headline
    page = private_report(found, release)
    assert page.count('class="card ruined"') == len(found.verdict.ruined)
    assert {one["column"]: one["state"] for one in found.to_dict()["columns"]} == {
        name: found.state(name) for name in SCHEMA.by_name
    }


def test_the_json_keeps_its_keys_and_has_the_new_ones(good):
    content = json.loads(json.dumps(good[1].to_dict()))
    assert OLD_KEYS | {"verdict", "rows", "library", "correlations"} == set(content)
    assert next(iter(content)) == "notice"
    assert set(content["columns"][0]) > OLD_COLUMN_KEYS
    assert content["rows"] == {"real": 3_000, "synthetic": good[1].rows["synthetic"], "test": 2_000}
    assert content["columns"][0]["figures"]["real"]["mean"] == pytest.approx(visits(3_000)["age"].to_numpy().mean())
    assert content["columns"][3]["figures"]["real"]["quantile_0.5"].startswith("202")
    assert content["verdict"]["findings"][0]["grade"] == "good"


def test_a_notebook_shows_notice_verdict_and_charts(ruined):
    found = ruined[1]
    assert len(repr(found)) < 1_000
    assert found.verdict.headline in repr(found)
    view = found._repr_html_()
    assert NOTICE in view
    assert found.verdict.headline in view
    assert view.count("<svg") >= 5
    assert "<script" not in view
    assert len(view) < 200_000


@pytest.mark.parametrize(
    ("near", "chance", "state"),
    [
        (Distance(0.26), Distance(0.05), "ruined"),
        (Distance(0.24), Distance(0.05), "distorted"),
        (Distance(0.26), Distance(0.09), "distorted"),
        (Distance(0.26), Distance(0.14), "near"),
        (Distance(0.09), Distance(0.0), "near"),
        (Distance(0.01, 0.3), Distance(0.01, 0.01), "distorted"),
        (Distance(0.01, 0.3), Distance(0.01, 0.2), "near"),
        (Distance(1.0, 1.0), Distance(0.0, 0.0), "ruined"),
    ],
)
def test_size_and_chance_decide_on_a_column(near, chance, state):
    assert state_of(near, chance) == state


def test_limits_or_chance_decide_on_a_grade():
    values = [(0.03, 0), (0.031, 0), (0.1, 0), (0.11, 0), (0.11, 0.06), (0.11, 0.04)]
    assert [grade_of(*one, (0.03, 0.1)) for one in values] == ["good", "fair", "fair", "poor", "good", "fair"]


def judged(**changes):
    """The findings by topic, where little is wrong but what is given."""
    fine = Fidelity({"x": Distance(0.01, 0.01), "y": Distance(0.01)}, {("x", "y"): 0.02})
    given = {"near": fine, "chance": fine, "checks": (), "violations": (), "figures": {}, "correlations": (),
             "training": Training(), "target": "y", "rows": {"real": 900, "test": 900}}  # fmt: skip
    found = judge(**(given | changes))
    return {finding.topic: finding for finding in found.findings}, found


def scores(real, synthetic, measure="area under the ROC curve"):
    return Training((Score("a", "real rows", real), Score("a", "synthetic rows", synthetic)), (), measure)


@pytest.mark.parametrize(
    ("training", "grade"),
    [
        (scores(0.9, 0.89), "good"),
        (scores(0.9, 0.85), "fair"),
        (scores(0.9, 0.6), "poor"),
        (scores(0.51, 0.4), "fair"),
        (scores(0.5, 0.45, "R squared"), "fair"),
        (scores(0.5, -3, "R squared"), "poor"),
        (Training((Score("a", "real rows", 0.8), Score("the release itself", "", 0.8)), (), "area"), "good"),
    ],
)
def test_learning_is_judged_by_what_is_left_above_guessing(training, grade):
    assert judged(training=training)[0]["learning y"].grade == grade


def test_scores_that_cannot_be_told_are_not_judged():
    assert "learning y" not in judged(training=scores(None, 0.8))[0]


def test_sub_groups_are_judged_beyond_chance():
    def grade(loss, margin, measure="area under the ROC curve"):
        group = Group("sex", "F", 100, 0.2, 0.2 + loss, margin)
        return judged(training=Training((), (group,), measure))[0]["sub-groups"].grade

    assert [grade(0.1, 0.2), grade(0.1, 0.06), grade(0.1, 0.01)] == ["good", "fair", "poor"]
    assert [grade(0.015, 0.01, "R squared"), grade(0.03, 0.01, "R squared")] == ["fair", "poor"]


def test_sub_groups_are_no_better_than_learning():
    training = scores(0.9, 0.6)
    group = Group("sex", "F", 100, 0.2, 0.2, 0.1)
    assert judged(training=Training(training.scores, (group,), training.measure))[0]["sub-groups"].grade == "poor"


def test_means_are_judged_in_standard_deviations():
    def three(off):
        return tuple(Figures(mean, 10.0, ()) for mean in (100.0, 100.0 + off, 100.1))

    assert judged(figures={"x": three(0.4)})[0]["means of numbers"].grade == "good"
    assert judged(figures={"x": three(1.5)})[0]["means of numbers"].grade == "fair"
    assert judged(figures={"x": three(30)})[0]["means of numbers"].grade == "poor"
    one_of_three = judged(figures={"x": three(0.4), "z": three(0.4), "wild": three(900)})[0]["means of numbers"]
    assert one_of_three.grade == "fair"
    assert "most wild, by 90" in one_of_three.words
    assert "means of numbers" not in judged(figures={"x": (None, None, None)})[0]


def test_correlations_that_are_no_nearer_than_zero_are_poor():
    def grade(real, synthetic):
        return judged(correlations=(Correlation(("x", "y"), real, synthetic, real),))[0]["correlations"].grade

    assert [grade(0.5, 0.48), grade(0.5, 0.42), grade(0.5, 0.1), grade(0.05, -0.01)] == ["good", "fair", "poor", "poor"]


def pairs(torn, others, chance=0.04):
    """The finding on pairs of which some are far apart."""
    names = [(f"a{n}", f"b{n}") for n in range(torn + others)]
    near = dict.fromkeys(names, 0.02) | {name: 0.54 - n / 1_000 for n, name in enumerate(names[:torn])}
    floor = dict.fromkeys(names, 0.02) | dict.fromkeys(names[:torn], chance)
    columns = {"x": Distance(0.01)}
    return judged(near=Fidelity(columns, near), chance=Fidelity(columns, floor))[0]["counts of pairs of columns"]


def test_a_torn_pair_is_named_and_never_good():
    one = pairs(torn=1, others=54)
    assert one.grade == "fair"
    assert one.words.endswith("most for a0 and b0, 54.0%; of held-out rows 4.0%; 1 of 55 pairs torn")
    assert [pairs(1, 0).grade, pairs(2, 18).grade, pairs(3, 17).grade] == ["poor", "fair", "poor"]
    assert pairs(1, 2).grade == "fair"
    assert pairs(1, 54, chance=0.2).grade == "good"
    assert "torn" not in pairs(1, 54, chance=0.2).words


def test_one_lost_correlation_is_never_good():
    def found(synthetic, test, others_off=0.0):
        zeros = tuple(Correlation(("x", f"z{n}"), 0.0, 0.0, others_off) for n in range(54))
        return judged(correlations=(Correlation(("x", "y"), 0.39, synthetic, test), *zeros))[0]["correlations"]

    assert found(0.14, 0.38).grade == "fair"
    assert "most for x and y, 0.14 instead of 0.39" in found(0.14, 0.38).words
    assert [found(0.25, 0.38).grade, found(0.14, 0.29).grade, found(0.14, 0.38, 0.1).grade] == ["good"] * 3


@pytest.mark.parametrize(
    ("deviations", "state"),
    [
        ((10, 15.1, 11), "distorted"),
        ((10, 6.6, 11), "distorted"),
        ((10, 0, 10), "distorted"),
        ((10, 14.9, 11), "near"),
        ((10, 6.7, 11), "near"),
        ((10, 30, 20), "near"),
        ((0, 30, 0), "near"),
        ((1e-14, 3e-14, 1e-14), "near"),
    ],
)
def test_a_spread_that_is_off_is_distorted(deviations, state):
    three = tuple(Figures(100.0, deviation, ()) for deviation in deviations)
    assert state_of(Distance(0.01), Distance(0.01), three) == state
    found = judged(figures={"x": three})[1]
    assert found.distorted == (("x",) if state == "distorted" else ())
    assert state_of(Distance(0.01), Distance(0.01), (*three[:2], None)) == "near"


def test_a_spread_that_is_off_is_told_with_the_means():
    three = tuple(Figures(100.0, deviation, ()) for deviation in (10, 21, 10))
    words = judged(figures={"x": three, "y": (three[0],) * 3})[0]["means of numbers"].words
    assert words.endswith("; standard deviations that are off: x 2.1 times the real one")


def test_a_column_of_an_evaluation_is_distorted_by_its_spread(good):
    found, wide = good[1], [Figures(50.0, deviation, (0.0,) * 5) for deviation in (10, 20, 10)]
    age = replace(found.columns["age"], figures=tuple(wide))
    changed = replace(found, columns={**found.columns, "age": age})
    assert changed.state("age") == changed.to_dict()["columns"][0]["state"] == "distorted"
    assert changed.verdict.distorted == ("age",)


def test_few_rows_cannot_judge():
    assert judged(rows={"real": 20, "synthetic": 3, "test": 20})[1].headline.startswith("Good for")
    for rows, said in [
        ((19, 20), "19 real rows"),
        ((900, 1), "1 test row"),
        ((3, 4), "3 real rows and 4 test rows"),
    ]:
        headline = judged(rows=dict(zip(("real", "test"), rows, strict=True)))[1].headline
        assert headline == f"So few rows cannot judge a release: {said}. Give at least 20 real and test rows each."


def test_the_path_of_a_bundle_is_as_good_as_the_release(good, tmp_path):
    release, path = good[0], tmp_path / "visits.sfumato"
    release.save(path)
    found = evaluate(path, visits(60), visits(10, 1), rows=50)
    assert found == evaluate(str(path), visits(60), visits(10, 1), rows=50)
    assert found.verdict.headline.startswith("So few rows cannot judge a release: 10 test rows.")
    with pytest.raises(BundleError, match=r"none\.sfumato cannot be read"):
        evaluate(tmp_path / "none.sfumato", visits(60), visits(60, 1))
    with pytest.raises(BundleError, match="a Table is not the path of a bundle"):
        evaluate(visits(60), visits(60), visits(60, 1))


def test_broken_constraints_are_poor():
    kept, broken = Violation("a >= b", 0.1, 0.0), Violation("a >= c", 0.1, 0.01)
    assert judged(violations=(kept,))[0]["the schema's constraints"].grade == "good"
    assert judged(violations=(kept, broken))[0]["the schema's constraints"].grade == "poor"


def test_test_rows_that_are_the_real_rows_are_remarked():
    same = Fidelity({"x": Distance(0.0), "y": Distance(0.0)}, {("x", "y"): 0.0})
    assert "kept apart" in judged(chance=same)[1].cautions[0]
    other = Fidelity({"x": Distance(0.9), "y": Distance(0.9)}, {("x", "y"): 0.9})
    assert "another kind" in judged(chance=other)[1].cautions[0]


def test_very_many_ruined_columns_are_counted_in_the_headline():
    near = Fidelity({f"column {n}": Distance(0.9) for n in range(40)}, {})
    chance = Fidelity({f"column {n}": Distance(0.01) for n in range(40)}, {})
    found = judged(near=near, chance=chance)[1]
    assert found.headline.endswith("40 of 40 columns are ruined: column 0, column 1, column 2, column 3, column 4, "
                                   "column 5, column 6, column 7 and 32 more.")  # fmt: skip
    assert len(found.ruined) == 40
