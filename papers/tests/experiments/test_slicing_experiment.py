"""The slicing experiment: figures against slow ones, rules of the census, runs of several figures, the page."""

import json
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("lightgbm")

import pandas as pd
from experiments import tables
from experiments.clustmix.runs import Run, run_all
from experiments.slicing import acs, adaptation, metrics, page, table, tasks, toys
from experiments.slicing.codebook import group_of
from experiments.slicing.methods import METHODS, Case, real
from experiments.slicing.metrics import Coded
from experiments.slicing.rows import Rows
from experiments.slicing.runs import Kept, Several

from sfumato.errors import DataError
from tests.experiments.real_data import needs_data


def rows_of(seed, records=300):
    """Two numbers, one with ties, and a category of three, with a label that they tell something of."""
    rng = np.random.default_rng(seed)
    X = np.column_stack((rng.random(records), rng.integers(0, 5, records) / 4, rng.integers(0, 3, records)))
    return Coded(X, (X[:, 0] + X[:, 2] / 4 + 0.3 * rng.random(records) > 0.9).astype(np.int64))


KINDS = (0, 0, 3)


class TestFigures:
    def test_ks_complement_is_one_less_the_largest_gap_at_any_point(self):
        made, real = rows_of(0).X[:, :2], rows_of(1, 200).X[:, :2] ** 2

        def gap(column):
            points = [*made[:, column], *real[:, column]]
            return max(abs(np.mean(made[:, column] <= at) - np.mean(real[:, column] <= at)) for at in points)

        assert metrics.ks_complement(made, real) == pytest.approx(1 - (gap(0) + gap(1)) / 2, abs=1e-12)
        assert metrics.ks_complement(made, made) == 1
        assert metrics.ks_complement(made[:, :0], real[:, :0]) is None

    def test_correlation_similarity_is_that_of_numpy(self):
        made, real = (rows_of(seed).X for seed in (0, 1))
        made[:, 1] += made[:, 0]
        pairs = [(0, 1), (0, 2), (1, 2)]
        away = [abs(np.corrcoef(made.T)[pair] - np.corrcoef(real.T)[pair]) for pair in pairs]
        assert metrics.correlation_similarity(made, real) == pytest.approx(1 - np.mean(away) / 2, abs=1e-12)

    def test_a_constant_column_has_correlation_zero_and_one_column_has_none(self):
        real = np.column_stack((np.arange(10.0), np.arange(10.0)))
        assert metrics.correlation_similarity(np.full((10, 2), 0.3), real) == 0.5
        assert metrics.correlation_similarity(real[:, :1], real[:, :1]) is None

    def test_pairs_are_counted_cell_by_cell(self):
        made, real = rows_of(0), rows_of(1, 200)

        def cells(rows):
            found = [rows.y.tolist(), rows.X[:, 2].tolist()]
            for column in (0, 1):
                cuts = sorted(set(np.quantile(real.X[:, column], np.arange(1, 8) / 8)))
                found.append([sum(value >= cut for cut in cuts) for value in rows.X[:, column]])
            return found

        apart = []
        for i in range(4):
            for j in range(i):
                counts = [Counter(zip(part[i], part[j], strict=True)) for part in (cells(made), cells(real))]
                apart.append(sum(abs(counts[0][c] / 300 - counts[1][c] / 200) for c in counts[0] | counts[1]) / 2)
        assert metrics.pairs_shared(made, real, KINDS, 2) == pytest.approx(1 - np.mean(apart), abs=1e-12)
        assert metrics.pairs_shared(made, made, KINDS, 2) == 1

    def test_logistic_regression_is_that_of_zeros_and_ones_and_standard_numbers(self):
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score

        made, real = rows_of(0), rows_of(1)

        def wide(rows):
            numbers = (rows.X[:, :2] - made.X[:, :2].mean(axis=0)) / made.X[:, :2].std(axis=0)
            return np.column_stack((numbers, *(rows.X[:, 2] == value for value in range(3))))

        model = LogisticRegression(max_iter=1_000).fit(wide(made), made.y)
        expected = roc_auc_score(real.y, model.predict_proba(wide(real))[:, 1])
        assert metrics.logistic_auc(made, real, KINDS) == pytest.approx(expected, abs=1e-3)

    def test_made_up_rows_that_are_all_alike_are_worth_little_and_raise_nothing(self):
        real = rows_of(1)
        alike = Coded(np.tile([0.5, 0.5, 1.0], (50, 1)), np.zeros(50, dtype=np.int64))
        found = metrics.figures(alike, real, KINDS)
        assert found["LogitRegression"] == found["LightGBM"] == 0.5
        assert all(0 <= value <= 1 for value in found.values())

    def test_a_table_without_two_numbers_has_no_correlation(self):
        rows = rows_of(0)
        found = metrics.figures(Coded(rows.X[:, 1:], rows.y), Coded(rows.X[:, 1:], rows.y), KINDS[1:])
        assert set(found) == set(metrics.METRICS) - {"CorrSim"}


class TestRows:
    def test_made_up_rows_are_whole_where_the_real_ones_are(self):
        X = np.array([[3 / 82, 0.25], [40 / 82, 0.1]])
        rows = Rows(X.astype(np.float32), np.array([0, 1]), (0, 0), 2, None, (82, 0))
        made = rows.snapped(Coded(X + np.array([[0.2 / 82, 1e-12], [-0.4 / 82, 0]]), rows.y))
        assert np.array_equal(made.X, rows.X.astype(np.float64))

    def test_they_come_back_from_a_file(self, tmp_path):
        rows = Rows(np.ones((2, 1), dtype=np.float32), np.array([0, 1]), (0,), 2, None, (82,))
        rows.save(tmp_path / "a.npz")
        again = Rows.load(tmp_path / "a.npz")
        assert np.array_equal(again.X, rows.X)
        assert (again.kinds, again.classes, again.steps) == ((0,), 2, (82,))

    @needs_data
    def test_a_real_row_that_is_made_up_again_is_the_same_row(self):
        rows = tasks.rows_of("Adult")
        train, _ = tables.split(tasks.task("Adult"), 0)
        made = rows.snapped(tasks.coded_rows(train, tasks.task("Adult").schema))
        assert np.array_equal(made.X, rows.split(0).X)
        assert rows.steps[0] == 73


def person(**given):
    """A line of the public person file; all columns that the tasks name, and two that none does."""
    names = {name for rule in acs.RULES.values() for name in (*rule.features, *rule.needs)} | {"PUBCOV", "PWGTP"}
    return {"RT": "P", "SERIALNO": "2018GQ0000001"} | dict.fromkeys(sorted(names), 1) | {"OCCP": 10} | given


@pytest.fixture
def person_file(tmp_path):
    def write(*persons):
        path = tmp_path / "psam_p09.csv"
        pd.DataFrame([person(**one) for one in persons]).to_csv(path, index=False)
        return path

    return write


class TestCensusRules:
    @pytest.mark.parametrize(
        ("task", "persons", "labels"),
        [
            (
                "Income",
                [
                    {"AGEP": 17, "PINCP": 50_001, "WKHP": 1},
                    {"AGEP": 16, "PINCP": 50_001, "WKHP": 1},
                    {"AGEP": 40, "PINCP": 50_000, "WKHP": 9},
                    {"AGEP": 40, "PINCP": 100, "WKHP": 9},
                    {"AGEP": 40, "PINCP": 9_000, "WKHP": None},
                ],
                "10",
            ),
            (
                "Coverage",
                [
                    {"AGEP": 64, "PINCP": 30_000, "PUBCOV": 1},
                    {"AGEP": 65, "PINCP": 0, "PUBCOV": 1},
                    {"AGEP": 20, "PINCP": 30_001},
                    {"AGEP": 20, "PINCP": -50, "PUBCOV": 2},
                    {"AGEP": 9, "PINCP": None},
                ],
                "10",
            ),
            ("Mobility", [{"AGEP": 19, "MIG": 1}, {"AGEP": 18}, {"AGEP": 34, "MIG": 3}, {"AGEP": 35}], "10"),
            ("Employment", [{"AGEP": 0, "ESR": None}, {"AGEP": 90, "ESR": 1}, {"AGEP": 91, "ESR": 1}], "01"),
            (
                "TravelTime",
                [
                    {"AGEP": 17, "ESR": 1, "JWMNP": 21},
                    {"AGEP": 30, "ESR": 1, "JWMNP": 20},
                    {"AGEP": 30, "ESR": 1, "JWMNP": None},
                    {"AGEP": 30, "ESR": 2, "JWMNP": 30},
                    {"AGEP": 16, "ESR": 1, "JWMNP": 30},
                ],
                "100",
            ),
        ],
    )
    def test_who_counts_and_what_is_asked(self, person_file, task, persons, labels):
        rule = acs.RULES[task]
        rows = acs.applied(rule, acs.read_person_file(person_file(*persons), rule))
        assert "".join(rows[acs.TARGET]) == labels
        assert list(rows.columns) == [*rule.features, acs.TARGET]

    @pytest.mark.parametrize("task", acs.RULES)
    def test_a_schema_by_the_code_book_holds_every_row(self, person_file, task):
        rule, gap = acs.RULES[task], dict.fromkeys(acs.RULES[task].gaps)
        known = {"PINCP": 20_000, "ESR": 1, "JWMNP": 30}
        persons = person_file(*[known | gap | {"AGEP": age, "MIG": 1} for age in (20, 30)])
        rows = acs.applied(rule, acs.read_person_file(persons, rule))
        rows = rows.drop(columns=[name for name in ("PUMA", "POWPUMA") if name in rows])
        schema = acs.schema_of(rule, set(rows.columns))
        assert len(tasks.coded_rows(rows, schema).y) == 2
        for column in schema.columns:
            if column.type == "category":
                assert set(rows[column.name]) <= set(column.values)

    def test_columns_that_are_not_there_are_named(self):
        persons = pd.DataFrame([person()]).drop(columns=["MIG", "ANC"])
        with pytest.raises(DataError, match="Mobility needs columns that are not there: ANC, MIG;"):
            acs.applied(acs.RULES["Mobility"], persons)
        with pytest.raises(DataError, match="not there: MIG;"):
            acs.applied(acs.RULES["Mobility"], persons, without=("ANC", "MIG"))  # MIG is what is asked
        assert "ANC" not in acs.applied(acs.RULES["Employment"], persons, without=("ANC", "MIG"))

    def test_codes_are_grouped_as_the_code_book_groups_them(self):
        assert group_of("OCCP", [10, 440, 500, 9830, 9920]).tolist() == [0, 0, 1, 24, 25]
        assert group_of("POBP", [1, 56, 72, 110, 200, 303, 400, 554]).tolist() == [0, 0, 1, 2, 3, 4, 5, 6]

    @needs_data
    def test_arrays_and_frames_are_split_alike(self):
        one, split = tasks.task("Coverage"), tasks.rows_of("Coverage").split(1)
        train, test = tables.split(one, 1)
        assert np.allclose(tasks.coded_rows(train, one.schema).X, split.X, rtol=0, atol=1e-6)
        assert np.array_equal(tasks.coded_rows(test, one.schema).y, split.test_y)
        assert not np.isnan(split.X).any()

    @needs_data
    def test_the_real_rows_tell_most_of_the_label(self):
        found = real(Case("Coverage", tasks.rows_of("Coverage")), 0, True)
        assert found["LogitRegression"] > 0.77
        assert min(found["KSComp"], found["CorrSim"], found["2-way TV"]) > 0.97


class Measured:
    """Several figures by name, and a method that fails."""

    def __call__(self, run):
        if run.method == "PATE-GAN":
            raise RuntimeError("no votes")
        return Several({"KSComp": 0.9, "LightGBM": 0.7 + run.seed / 100})


class TestRuns:
    def test_every_figure_is_kept_and_no_run_is_run_again(self, tmp_path, capsys):
        path = tmp_path / "results.json"
        runs = table.runs(["Employment"], ["Real", "PATE-GAN", "mixture"], 2)
        Kept(path).add(runs[0], Measured()(runs[0]))
        run_all(runs, Kept(path), Measured(), 1)
        assert json.loads(path.read_text())["Employment/LightGBM"]["Real"] == {"0": 0.7, "1": 0.71}
        shown = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
        assert sorted(shown) == ["Employment, PATE-GAN, 0", "Employment, PATE-GAN, 1", "Employment, Real, 1"]
        assert not [run for run in runs[:2] if Kept(path).find(run) is None]

    def test_every_cell_is_a_figure_or_says_why_not(self, tmp_path):
        kept = Kept(tmp_path / "results.json")
        for run in table.runs(["Employment"], ["Real"], 2):
            kept.add(run, Measured()(run))
        kept.add(Run("Employment", "PATE-GAN", 0), "RuntimeError: no votes")
        cells = {method: table.cell(kept, "Employment", "LightGBM", method) for method in table.METHODS}
        assert cells["Real"] == "0.705 ± 0.007"
        assert cells["PATE-GAN"] == "not run: RuntimeError: no votes"
        assert cells["mixture"] == "not run: categories"
        assert cells["slices"] == "not run: time"
        assert table.cell(kept, "Employment", "CorrSim", "Real") == "not defined"
        assert table.over_tasks(kept, "KSComp", "Real") == "0.900"
        assert table.over_tasks(kept, "KSComp", "DP-MERF") == ""

    def test_the_columns_are_those_that_can_be_run(self):
        assert set(table.METHODS) == set(METHODS)
        assert set(table.TASKS) == set(tasks.TASKS)

    def test_a_rival_runs_on_plain_arrays(self, monkeypatch):
        pytest.importorskip("torch", reason="DP-MERF needs torch")
        from dataclasses import replace

        from sfumato_papers.baselines import RIVALS

        few = replace(RIVALS["DP-MERF"], steps=30, features=50)
        monkeypatch.setitem(RIVALS, "DP-MERF", few)
        rows = rows_of(0)
        found = METHODS["DP-MERF"](Case("made", Rows(rows.X.astype(np.float32), rows.y, KINDS, 2)), 0, True)
        assert set(found) == set(metrics.METRICS)


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ({"slices": 0.80, "tables": 0.805}, "worth the same"),
        ({"slices": 0.80, "tables": 0.82}, "Ahead by more than 0.01: `tables` by KSComp."),
        ({"slices": 0.82, "tables": 0.80}, "Ahead by more than 0.01: `slices` by KSComp."),
    ],
)
def test_the_page_calls_rows_the_same_only_where_figures_are(means, said):
    kept = Kept(None)
    for method, value in (means | {"DP-MERF": 0.7}).items():
        kept.add(Run("Income", method, 0), Several({"KSComp": value}))
    text = " ".join(page.page(kept, toys.Panels(None)).split())
    assert said in text
    assert ("worth the same" in text) == (said == "worth the same")
    assert "but for DP-SGD GAN, whose claim is for one record more or less" in text


def test_the_page_is_written_with_cells_that_are_missing(tmp_path):
    kept, panels = Kept(None), toys.Panels(None)
    kept.add(Run("Income", "Real", 0), Several({"KSComp": 0.99}))
    kept.add(Run(adaptation.task_of("MNIST", "USPS", 1.0), "slices", 0), 0.7)
    points, _ = toys.moons(np.random.default_rng(0), 200)
    panels.found[toys.key_of("moons", "slices", 1.0)] = toys.judged("moons", points)
    page.write_page(kept, panels, tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert "| Income | 0.990 | not run: time |" in text
    assert "| 0.700 |" in text
    assert "distance 0.0" in text
    assert {path.name for path in tmp_path.glob("*.svg")} == {"digits.svg", "eight_Gaussians.svg", "moons.svg"}
