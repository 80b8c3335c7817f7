"""Constraints of the schema in an evaluation: counted over all rows, told wherever its results stand."""

import dataclasses
import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli import terminal
from sfumato.cli.app import app
from sfumato.errors import DataError
from sfumato.evaluation import evaluate
from sfumato.evaluation.violations import count_violations, find_violations
from sfumato.reports.private import private_report
from sfumato.trusted.schema import Schema
from tests.conftest import MIXED, make_table


@pytest.fixture(scope="module")
def jobs() -> list[str]:
    return sorted(set(make_table(500)["job"].to_pylist()) - {None})


@pytest.fixture(scope="module")
def ruled(jobs) -> Schema:
    """A rule that some rows of every table break, and one that nearly none does."""
    rules = ({"forbid": {"job": jobs[0]}}, {"forbid": {"job": [jobs[0], None], "age": {"to": 0}}})
    return Schema.from_dict({**Schema.from_yaml(MIXED).to_dict(), "constraints": list(rules)})


@pytest.fixture(scope="module")
def release(ruled):
    made = sfumato.release(make_table(500), Schema.from_yaml(MIXED), epsilon=4.0, ledger=None, types="declared")
    return dataclasses.replace(made, schema=ruled)


def test_no_constraints_count_nothing_and_read_nothing():
    schema = Schema.from_yaml(MIXED)
    assert count_violations(schema, make_table(10)) == {}
    assert find_violations(schema, None, make_table(3)) == ()


def test_shares_are_over_all_rows(ruled, jobs, tmp_path):
    table = make_table(500)
    pq.write_table(table, tmp_path / "real.parquet", row_group_size=70)
    share = table["job"].to_pylist().count(jobs[0]) / 500
    first, second = find_violations(ruled, tmp_path / "real.parquet", make_table(80, seed=4))
    assert (first.rule, first.real) == (f"forbid: {{job: {jobs[0]}}}", share)
    assert first.synthetic == make_table(80, seed=4)["job"].to_pylist().count(jobs[0]) / 80
    assert 0 < share < 1
    assert second.real < 0.2
    assert set(count_violations(ruled, table.slice(0, 0)).values()) == {0.0}


def test_a_fault_among_the_private_rows_quotes_nothing(ruled, monkeypatch):
    def fail(_, table):
        raise ValueError(f"cell {table['job'][0]}")

    monkeypatch.setattr("sfumato.evaluation.violations.count_violations", fail)
    with pytest.raises(DataError, match="Details are withheld") as caught:
        find_violations(ruled, make_table(50), make_table(5))
    assert "cell" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_evaluation_tells_them(release, jobs, capsys):
    result = evaluate(release, make_table(500), make_table(200, seed=1), rows=400)
    first = result.violations[0]
    assert first.rule == f"forbid: {{job: {jobs[0]}}}"
    assert 0 < first.synthetic < 1
    assert json.loads(json.dumps(result.to_dict()))["violations"][0] == dataclasses.asdict(first)
    page = private_report(result, release)
    assert "Constraints of the schema" in page
    assert f"forbid: {{job: {jobs[0]}}}" in page
    terminal.print_evaluation(result)
    shown = capsys.readouterr().out
    assert "constraints of the schema" in shown
    assert f"{first.real:.2%}" in shown
    assert f"{first.synthetic:.2%}" in shown


def test_a_schema_without_rules_has_no_such_section(tmp_path):
    made = sfumato.release(make_table(300), Schema.from_yaml(MIXED), epsilon=4.0, ledger=None, types="declared")
    made.save(tmp_path / "b.sfumato")
    pq.write_table(make_table(300), tmp_path / "t.parquet")
    asked = ["evaluate", "b.sfumato", "--real", "t.parquet", "--test", "t.parquet", "--out", "c.html", "-n", "200"]
    done = CliRunner().invoke(app, [str(tmp_path / word) if "." in word else word for word in asked])
    assert done.exit_code == 0, done.output
    assert "constraints of the schema" not in done.output
    assert "Constraints of the schema" not in (tmp_path / "c.html").read_text()
    assert json.loads((tmp_path / "c.json").read_text())["violations"] == []
