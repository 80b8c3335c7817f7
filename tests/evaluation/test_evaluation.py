"""The custodian's evaluation: right numbers, every kind of target, and a notice wherever they stand."""

import itertools
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.errors import RequestError
from sfumato.evaluation import evaluate
from sfumato.evaluation.evaluation import NOTICE
from sfumato.evaluation.fidelity import fidelity
from sfumato.evaluation.learners import errors, score
from sfumato.evaluation.raw_values import RawColumn
from sfumato.reports.private import private_report
from sfumato.trusted.schema import Schema
from tests.conftest import MIXED, make_table
from tests.mechanisms.test_subspace import records, released, wide_schema
from tests.mechanisms.test_subspace import table as wide
from tests.mechanisms.test_tables import targeted


@pytest.fixture(scope="module")
def release():
    return sfumato.release(make_table(3_000), Schema.from_yaml(MIXED), epsilon=4.0, ledger=None, types="declared")


@pytest.fixture(scope="module")
def result(release):
    return evaluate(release, make_table(3_000), make_table(1_500, seed=1))


def test_scores_come_near_those_of_real_rows(result):
    scores = {(item.learner, item.trained_on): item.value for item in result.scores}
    assert len(scores) == 13
    for learner in ("LightGBM", "logistic regression"):
        assert scores[learner, "synthetic rows"] == pytest.approx(scores[learner, "real rows"], abs=0.06)
        assert scores[learner, "synthetic rows, weighted"] >= scores[learner, "synthetic rows"] - 0.02
    assert scores["the release itself", ""] > 0.65


def test_total_variation_of_pairs_is_what_a_slow_count_says(result, release):
    real, other = (make_table(rows, seed).to_pandas() for rows, seed in ((3_000, 0), (1_500, 1)))
    for first, second in itertools.combinations(("job", "member", "ill"), 2):
        shares = []
        for frame in (real, other):
            rows = list(zip(frame[first].map(str), frame[second].map(str), strict=True))
            shares.append({cell: count / len(rows) for cell, count in Counter(rows).items()})
        slow = sum(abs(shares[0].get(cell, 0) - shares[1].get(cell, 0)) for cell in {*shares[0], *shares[1]}) / 2
        assert result.floor.pairs[first, second] == pytest.approx(slow)
    assert result.floor.mean_pair > result.floor.mean_column


def test_a_heap_of_equal_numbers_is_a_cell_of_its_own_in_pairs():
    columns = "[{name: x, type: number, bounds: [0, 1]}, {name: y, type: boolean}]"
    schema = Schema.from_yaml(f"{{sfumato: 1, name: t, columns: {columns}}}")
    rng = np.random.default_rng(0)
    x, y = np.where(rng.random(2_000) < 0.3, 0.0, rng.random(2_000)), RawColumn.of(np.zeros(2_000))
    smeared = np.where(x == 0, 0.001, x)
    apart = fidelity({"x": RawColumn.of(x), "y": y}, {"x": RawColumn.of(smeared), "y": y}, schema)
    assert apart.pairs["x", "y"] == pytest.approx((x == 0).mean())
    assert apart.columns["x"].share == pytest.approx((x == 0).mean())


def test_groups_have_enough_rows_and_both_errors(result):
    assert {group.column for group in result.groups} == {"job", "member"}
    assert sum(group.rows for group in result.groups if group.column == "member") == 1_500
    assert all(group.rows >= 50 and 0 <= group.error_real <= 1 for group in result.groups)
    assert any(group.value == "missing" for group in result.groups)


@pytest.mark.parametrize("target", [None, "job", "age", "debt", "seen"])
def test_every_kind_of_target(target):
    schema = targeted(target)
    release = sfumato.release(make_table(800), schema, epsilon=4.0, ledger=None, types="declared")
    result = evaluate(release, make_table(800), make_table(400, seed=1), rows=500)
    assert len(result.scores) == (0 if target is None else 13)
    assert private_report(result, release).count(NOTICE) == 3
    json.dumps(result.to_dict())


def test_what_cannot_be_told_is_none():
    one_class = np.zeros(10, dtype=int)
    assert score(np.full((10, 2), 0.5), one_class) is None
    assert score(np.zeros(1), np.zeros(1)) is None
    three = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    assert score(three, np.array([0, 1, 2, 0, 1, 2])) == 1.0
    assert score(three, np.array([0, 1, 0, 0, 1, 0])) is not None
    assert errors(three, np.array([0, 1, 2, 0, 0, 0])).tolist() == [0, 0, 0, 0, 1, 1]
    assert errors(np.array([1.0, 2.0]), np.array([1.0, 4.0])).tolist() == [0.0, 2.0]


def test_one_class_in_the_real_rows_is_no_accident(release):
    only = make_table(300).set_column(0, "ill", pa.array(["no"] * 300))
    result = evaluate(release, only, only, rows=200)
    assert [item.value for item in result.scores] == [None] * 13


def test_a_table_without_rows_is_refused(release):
    with pytest.raises(RequestError, match="without rows"):
        evaluate(release, make_table(0), make_table(10))


def test_the_command(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    pq.write_table(make_table(600), tmp_path / "real.parquet")
    pq.write_table(make_table(300, seed=1), tmp_path / "test.parquet")
    asked = [
        "evaluate",
        "b.sfumato",
        "--real",
        "real.parquet",
        "--test",
        "test.parquet",
        "--out",
        "c.html",
        "-n",
        "500",
    ]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in asked])
    assert done.exit_code == 0, done.output
    assert "contains private results" in done.output
    assert "logistic regression" in done.output
    page, numbers = (tmp_path / "c.html").read_text(), json.loads((tmp_path / "c.json").read_text())
    assert page.count(NOTICE) == 3
    assert numbers["notice"] == NOTICE
    missing = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in asked[:-4]])
    assert missing.exit_code == 2
    again = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in asked])
    assert again.exit_code == 2
    assert "nothing is overwritten" in again.output
    page_as_json = [word.replace("c.html", "d.json") for word in asked]
    refused = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in page_as_json])
    assert refused.exit_code == 2
    assert "the name of the page" in " ".join(refused.output.split())


@pytest.mark.slow
def test_numpy_files_give_what_the_tables_give(tmp_path):
    made = released(2_000)
    kinds = np.array(["a", "b", "c"])
    (x, y), (other, label) = records(2_000), records(500, seed=1)
    np.savez(tmp_path / "real.npz", x=x, y=kinds[y])
    np.savez_compressed(tmp_path / "test.npz", x=other.reshape(500, 5, 6), y=kinds[label])
    plain = evaluate(made, wide(x, y), wide(other, label), rows=500)
    assert evaluate(made, tmp_path / "real.npz", tmp_path / "test.npz", rows=500) == plain
    made.save(tmp_path / "b.sfumato")
    asked = ["evaluate", "b.sfumato", "--real", "real.npz", "--test", "test.npz", "--out", "c.html", "-n", "500"]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in asked])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "c.json").read_text()) == json.loads(json.dumps(plain.to_dict()))


def test_one_numpy_array_gives_what_the_table_gives(tmp_path):
    schema = wide_schema(target=False)
    (x, _), (other, _) = records(800), records(300, seed=1)
    made = sfumato.release(
        wide(x, None), schema, epsilon=4, mechanism="subspace", ledger=None, seed=1, types="declared"
    )
    np.save(tmp_path / "real.npy", x)
    np.save(tmp_path / "test.npy", other)
    plain = evaluate(made, wide(x, None), wide(other, None), rows=300)
    assert evaluate(made, tmp_path / "real.npy", tmp_path / "test.npy", rows=300) == plain
