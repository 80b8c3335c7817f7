"""Rules of the schema in an evaluation: counted over all rows, told wherever its results stand."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli import terminal
from sfumato.cli.app import app
from sfumato.errors import DataError
from sfumato.evaluate import evaluate
from sfumato.evaluate.violations import Violation, count_violations, find_violations
from sfumato.report.private import private_report
from sfumato.trusted.schema import Schema
from tests.conftest import MIXED, make_table


class NoJob:
    """A rule that some rows of every table break."""

    def __init__(self, job: str) -> None:
        self.job = job

    def __str__(self) -> str:
        return f"forbid <job>: {self.job}"

    def broken(self, table: pa.Table) -> np.ndarray:
        return pc.fill_null(pc.equal(table["job"].cast(pa.string()), self.job), False).to_numpy()


@pytest.fixture(scope="module")
def jobs() -> list[str]:
    return sorted(set(make_table(500)["job"].to_pylist()) - {None})


@pytest.fixture(scope="module")
def ruled(jobs) -> Schema:
    rules = (NoJob(jobs[0]), NoJob("none such"))
    return Schema.from_yaml(MIXED).model_copy(update={"constraints": rules})


@pytest.fixture(scope="module")
def release(ruled):
    made = sfumato.release(make_table(500), Schema.from_yaml(MIXED), epsilon=4.0, ledger=None, types="declared")
    return dataclasses.replace(made, schema=ruled)


def test_no_rules_count_nothing_and_read_nothing():
    schema = Schema.from_yaml(MIXED)
    assert count_violations(schema, make_table(10)) == {}
    assert find_violations(schema, None, iter(())) == ()


def test_shares_are_over_all_batches(ruled, jobs, tmp_path):
    table = make_table(500)
    pq.write_table(table, tmp_path / "real.parquet", row_group_size=70)
    drawn = pa.table({"job": [jobs[0]] * 3 + [None] * 5}).to_batches(max_chunksize=3)
    share = table["job"].to_pylist().count(jobs[0]) / 500
    expected = (Violation(f"forbid <job>: {jobs[0]}", share, 3 / 8), Violation("forbid <job>: none such", 0.0, 0.0))
    assert 0 < share < 1
    assert find_violations(ruled, tmp_path / "real.parquet", drawn) == expected
    assert [item.synthetic for item in find_violations(ruled, table, [])] == [0.0, 0.0]
    assert count_violations(ruled, table.slice(0, 0)) == {item.rule: 0.0 for item in expected}


def test_a_fault_among_the_private_rows_quotes_nothing(ruled, monkeypatch):
    def fail(_, table):
        raise ValueError(f"cell {table['job'][0]}")

    monkeypatch.setattr(NoJob, "broken", fail)
    with pytest.raises(DataError, match="Details are withheld") as caught:
        find_violations(ruled, make_table(50), [])
    assert "cell" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_evaluation_tells_them(release, jobs, capsys):
    result = evaluate(release, make_table(500), make_table(200, seed=1), rows=400)
    first = result.violations[0]
    drawn = release.model.sample(400, np.random.default_rng(0))
    place = [str(value) for value in release.schema["job"].values].index(jobs[0])
    assert first.synthetic == pytest.approx((drawn.codes["job"] == place).mean())
    assert json.loads(json.dumps(result.to_dict()))["violations"][0] == dataclasses.asdict(first)
    page = private_report(result, release)
    assert "Rules of the schema" in page
    assert f"forbid &lt;job&gt;: {jobs[0]}" in page
    terminal.print_evaluation(result)
    shown = capsys.readouterr().out
    assert "rules of the schema" in shown
    assert f"{first.real:.2%}" in shown
    assert f"{first.synthetic:.2%}" in shown


def test_a_schema_without_rules_has_no_such_section(tmp_path):
    made = sfumato.release(make_table(300), Schema.from_yaml(MIXED), epsilon=4.0, ledger=None, types="declared")
    made.save(tmp_path / "b.sfumato")
    pq.write_table(make_table(300), tmp_path / "t.parquet")
    asked = ["evaluate", "b.sfumato", "--real", "t.parquet", "--test", "t.parquet", "--out", "c.html", "-n", "200"]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in asked])
    assert done.exit_code == 0, done.output
    assert "rules of the schema" not in done.output
    assert "Rules of the schema" not in (tmp_path / "c.html").read_text()
    assert json.loads((tmp_path / "c.json").read_text())["violations"] == []
