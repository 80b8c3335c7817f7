"""Evaluations that cannot be made say which table is meant; learners and the metrics library have bounded work."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.cli.terminal import print_evaluation
from sfumato.errors import DataError, RequestError
from sfumato.evaluation import evaluate, metrics_library, training
from sfumato.evaluation.learners import learners
from sfumato.evaluation.metrics_library import HOW_TO_GET, LibraryScores, QualityScore
from sfumato.reports.private import private_report
from tests.conftest import MIXED, make_table

COLUMNS = "[{name: x, type: number, bounds: [0, 1]}, {name: born, type: date, bounds: [1900-01-01, 2020-12-31]}, \
{name: seen, type: datetime, bounds: [2024-01-01T00:00:00, 2024-12-31T23:59:59], missing: true}, \
{name: y, type: boolean}, {name: z, type: category, values: [a, b], missing: true}]"
SMALL = sfumato.Schema.from_yaml(f"{{sfumato: 1, name: t, columns: {COLUMNS}}}")


def small(rows, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(rows)
    seen = pa.array(1_704_067_200 + rng.integers(0, 31_000_000, rows), mask=rng.random(rows) < 0.2)
    return pa.table(
        {
            "x": x,
            "born": pa.array(rng.integers(-20_000, 18_000, rows).astype(np.int32)).cast(pa.date32()),
            "seen": seen.cast(pa.timestamp("s")),
            "y": x > 0.4,
            "z": pa.array(np.where(x > 0.5, "a", "b"), mask=rng.random(rows) < 0.2),
        }
    )


@pytest.fixture(scope="module")
def release():
    return sfumato.release(small(400), SMALL, epsilon=4, ledger=None, types="declared", seed=1)


@pytest.mark.parametrize("which", ["real", "test"])
def test_errors_say_which_table_is_meant(release, which, tmp_path):
    pyarrow.csv.write_csv(small(5), tmp_path / "t.csv", pyarrow.csv.WriteOptions(delimiter=";"))
    (tmp_path / "empty").mkdir()

    def compare(table):
        tables = {"real": small(20), "test": small(20), which: table}
        return evaluate(release, tables["real"], tables["test"], rows=20)

    with pytest.raises(DataError, match=rf"the {which} rows: .*none.parquet does not exist"):
        compare(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=rf"the {which} rows: .*empty holds no .parquet"):
        compare(tmp_path / "empty")
    with pytest.raises(DataError, match=rf"the {which} rows: .*no column 'y'"):
        compare(small(20).drop_columns("y"))
    with pytest.raises(DataError, match=rf"the {which} rows: .*no column.*separated by ';': save it in the format"):
        compare(tmp_path / "t.csv")
    with pytest.raises(RequestError, match=rf"the {which} rows: a table without rows"):
        compare(small(0))


@pytest.mark.parametrize("rows", [0, -3, 2.5, True])
def test_rows_are_a_positive_integer(release, rows):
    with pytest.raises(RequestError, match="give a positive integer"):
        evaluate(release, small(20), small(20), rows=rows)


def test_the_command_leaves_nothing_where_a_table_is_missing(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    asked = ["evaluate", "b.sfumato", "--real", "none.parquet", "--test", "none.parquet", "--out", "c.html"]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in asked])
    assert done.exit_code == 2
    assert "the real rows" in done.output
    assert {path.name for path in tmp_path.iterdir()} == {"b.sfumato"}


def test_a_learner_is_trained_on_so_many_rows_at_most(monkeypatch):
    made = sfumato.release(
        make_table(600), sfumato.Schema.from_yaml(MIXED), epsilon=4, ledger=None, types="declared", seed=1
    )
    seen = []

    def one_learner(schema, classes):
        learn = learners(schema, classes)["LightGBM"]
        return {"LightGBM": lambda *table: seen.append(len(table[1])) or learn(*table)}

    monkeypatch.setattr(training, "MOST_TRAINED", 200)
    monkeypatch.setattr(training, "learners", one_learner)
    evaluate(made, make_table(600), make_table(100, 1), rows=500)
    assert seen == [200, 200, 400]  # weighted: every row once for each of two classes


def test_without_the_metrics_library_its_scores_are_left_out(release, monkeypatch, capsys):
    monkeypatch.setattr(metrics_library, "find_spec", lambda _: None)
    found = evaluate(release, small(50), small(50, 1), rows=50)
    assert found.library is None
    assert found.to_dict()["library"] == {"missing": HOW_TO_GET}
    assert "pip install" in private_report(found, release)
    print_evaluation(found)
    assert HOW_TO_GET in capsys.readouterr().out.replace("\n", "")


def test_scores_of_the_metrics_library_are_shown(release, monkeypatch, capsys):
    monkeypatch.setattr(metrics_library, "find_spec", lambda _: None)
    found = evaluate(release, small(50), small(50, 1), rows=50)
    scores = LibraryScores("SDMetrics 9", QualityScore(0.875, None, 0.8125), QualityScore(0.99, None, 0.98))
    found = dataclasses.replace(found, library=scores)
    page = private_report(found, release)
    assert "quality score of SDMetrics</dt><dd>0.812" in page
    assert "its Column Pair Trends</dt><dd><small>not told" in page
    assert found.to_dict()["library"]["synthetic"] == {"shapes": 0.875, "trends": None, "overall": 0.8125}
    print_evaluation(found)
    assert "overall score 0.812, Column Shapes 0.875, Column Pair Trends not told" in capsys.readouterr().out


def test_the_metrics_library_compares_as_it_does_alone(release, monkeypatch):
    reports = pytest.importorskip("sdmetrics.reports", reason="pip install 'sfumato[metrics]'")
    monkeypatch.setattr(metrics_library, "MOST_ROWS", 300)
    found = evaluate(release, small(250), small(300, 1), rows=300).library
    kinds = {"x": "numerical", "born": "datetime", "seen": "datetime", "y": "boolean", "z": "categorical"}
    real, test = (small(rows, seed).to_pandas(date_as_object=False) for rows, seed in ((250, 0), (300, 1)))
    report = reports.QualityReport()
    columns = {name: {"sdtype": kind} for name, kind in kinds.items()}
    report.generate({"t": real}, {"t": test}, {"tables": {"t": {"columns": columns}}}, verbose=False)
    alone = dict(report.get_properties().itertuples(index=False))
    assert found.test.shapes == pytest.approx(alone["Column Shapes"])
    assert found.test.trends == pytest.approx(alone["Column Pair Trends"])
    assert found.test.overall == pytest.approx(report.get_score())
    assert 0 < found.synthetic.overall <= 1
    monkeypatch.setattr(metrics_library, "MOST_COLUMNS", 1)
    assert evaluate(release, small(250), small(300, 1), rows=300).library.test.trends is None
