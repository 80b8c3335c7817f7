"""The audit by command: it passes the library as it is, catches what is injected, and says both plainly."""

import json
import math
from contextlib import suppress

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato import demo
from sfumato.auditing import accounting, canaries, faults
from sfumato.auditing import audit as audit_module
from sfumato.auditing.accounting import attack_filter
from sfumato.auditing.audit import ATTACKS, FAMILY_FAULTS, Effort, audit
from sfumato.auditing.canaries import attack_canaries
from sfumato.auditing.door import attack_noise
from sfumato.auditing.faults import FAULTS
from sfumato.auditing.findings import Finding, NotRun
from sfumato.auditing.gdp import most_provable
from sfumato.auditing.released_rows import attack_rows
from sfumato.auditing.result import AuditResult, Trial
from sfumato.auditing.table_setting import TableSetting as Setting
from sfumato.cli.app import app
from sfumato.errors import BudgetError, RequestError, SchemaError
from sfumato.reports.audit_page import audit_page
from sfumato.trusted.adjacency import Adjacency
from tests.conftest import MIXED
from tests.mechanisms.every import every_case

TINY = sfumato.Schema.from_yaml("""
{sfumato: 1, name: tiny, target: y, columns: [
  {name: a, type: category, values: [p, q, r]}, {name: b, type: integer, bounds: [0, 9]},
  {name: y, type: category, values: ["no", "yes"]}]}
""")
IN_CI = [
    "noise at 70 % of its scale",
    "sensitivity understated by sqrt(2)",
    "codes that depend on other rows",
    "all records of a person count",
    "filter that forgets what was spent",
    "nothing entered in the ledger",
]


@pytest.fixture(scope="module")
def result() -> AuditResult:
    """With less effort than `quick`: releases by the dozen are for `make slow`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_module, "QUICK", Effort(20, 1, 8_000, 0, 0.0, 60))
        return sfumato.audit(TINY, epsilon=1.0, quick=True, faults=IN_CI, seed=1)


def test_the_library_passes_and_the_faults_are_caught(result):
    assert result.passes, result.verdict
    assert {trial.fault.name for trial in result.caught} == set(IN_CI)
    assert result.false_alarm < 1e-3
    sharp = {one.attack: one.bound / one.claim for one in result.made}
    assert sharp["worst-case records, whole release"] > 0.95
    assert sharp["worst-case persons, whole release"] > 0.95
    assert sharp["noise of the curator, all questions"] > 0.85


A, B = "{name: a, type: integer, bounds: [0, 10]}", "{name: b, type: category, values: [x, y, z]}"
FEW = {
    "one column": (A, "add-remove"),
    "one boolean": ("{name: a, type: boolean}", "replace"),
    "two columns": (f"{A}, {B}", "replace"),
}


@pytest.mark.parametrize("epsilon", [0.2, 3.0])
@pytest.mark.parametrize(("columns", "adjacency"), FEW.values(), ids=FEW)
def test_faults_show_on_schemas_of_few_columns(columns, adjacency, epsilon, monkeypatch):
    """Few numbers move between neighbours, and where noise is large a release merges the cells of small tables."""
    monkeypatch.setattr(audit_module, "QUICK", Effort(20, 1, 8_000, 0, 0.0, 0))
    schema = sfumato.Schema.from_yaml(f"{{sfumato: 1, name: few, columns: [{columns}]}}")
    wanted = ["the same noise in every answer", "a person priced as one record", *IN_CI]
    result = sfumato.audit(schema, epsilon=epsilon, adjacency=adjacency, quick=True, seed=1, faults=wanted)
    assert result.passes, (result.verdict, result.missed)
    assert len(result.tried) == len(wanted)


def test_a_question_that_tells_nothing_is_not_asked_without_end(monkeypatch):
    monkeypatch.setattr(accounting, "spent_alone", lambda _, questions, *__: [0.0] * len(questions))
    setting = Setting(TINY, 1.0, 1e-6, Adjacency.ADD_REMOVE, "tables")
    with FAULTS["filter that forgets what was spent"].inject():
        assert isinstance(attack_filter(setting, 10, np.random.default_rng(0)), NotRun)


def test_what_is_chosen_is_attacked(monkeypatch):
    monkeypatch.setattr(audit_module, "QUICK", Effort(10, 1, 8_000, 0, 0.0, 10))
    parts = {"anonymize": "kernel", "adapt": "leaves", "share": 0.4}
    result = sfumato.audit(TINY, epsilon=1.0, mechanism="3a", quick=True, seed=1, faults=[IN_CI[1]], **parts)
    assert result.passes, result.verdict
    assert {trial.fault.name for trial in result.caught} == {IN_CI[1]}
    assert result.settings == {**parts, "approximate": "mixture"}
    for shown in (audit_page(result), result.mechanism_words):
        assert "3a (anonymize kernel, approximate mixture, adapt leaves, share 0.4)" in shown
    questions = Setting(TINY, 1.0, 1e-6, Adjacency.ADD_REMOVE, "3a", parts).reference.measurements
    assert {"Embedding", "LeafCounts"} <= {type(item.statistic).__name__ for item in questions}


def test_exact_sums_show_in_what_is_published():
    """With less confidence, so that a few releases do."""
    setting, rng = Setting(TINY, 0.5, 1e-6, Adjacency.ADD_REMOVE, "tables"), np.random.default_rng(0)
    with FAULTS["model fitted to exact sums"].inject():
        (found,) = attack_rows(setting, 10, 24, 600.0, 0.9, rng)
    assert not found.holds
    assert found.bound == pytest.approx(most_provable(24, 0.9))
    assert isinstance(attack_rows(setting, 10, 8, 600.0, 0.9, rng), NotRun)


def test_a_claim_that_cannot_be_disproved_is_not_attacked():
    setting, rng = Setting(TINY, 500.0, 1e-6, Adjacency.ADD_REMOVE, "tables"), np.random.default_rng(0)
    assert isinstance(attack_noise(setting, 10, 1_000, 0.999, rng), NotRun)
    assert isinstance(attack_canaries(setting, 10, 0.999, rng), NotRun)


@pytest.mark.parametrize(("apart", "run"), [(1.0, True), (0.5, False)])
def test_a_release_that_tells_few_canaries_apart_is_no_evidence(apart, run, monkeypatch):
    """Another release than the first may ask of fewer cells; guesses about what it does not tell are luck."""
    monkeypatch.setattr(canaries, "_guess", lambda *args: (args[-1], int(apart * len(args[-1]))))
    setting = Setting(sfumato.Schema.from_yaml(MIXED), 1.0, 1e-6, Adjacency.ADD_REMOVE, "tables")
    found = attack_canaries(setting, 60, 0.999, np.random.default_rng(0))
    assert isinstance(found, list) == run
    assert run or "records apart" in found.reason


def test_a_result_is_short_in_words_and_whole_in_json(result):
    assert len(repr(result)) < 200
    assert "PASSES" in repr(result)
    content = json.loads(json.dumps(result.to_dict()))
    assert content["passes"] is True
    assert [one["attack"] for one in content["attacks"]] == [one.attack for one in result.findings]
    assert all(one["caught"] for one in content["faults"])
    assert result._repr_html_().count("<svg") == 2


def finding(bound: float, claim: float = 0.5, **more) -> Finding:
    return Finding("an attack", claim, bound, 1.0, "computed", **more)


def made_up(findings, trials=()) -> AuditResult:
    return AuditResult(
        "t", "tables", {}, Adjacency.REPLACE, 1.0, 1e-6, 0.5, True, True, 1.0, tuple(findings), tuple(trials)
    )


ANY = FAULTS["no noise"]


@pytest.mark.parametrize(
    ("result", "passes", "word"),
    [
        (made_up([finding(0.5)]), True, "PASSES"),
        (made_up([finding(0.51)]), False, "exceed"),
        (made_up([finding(0.1, failure="a check")]), False, "exceed"),
        (made_up([finding(0.5)], [Trial(ANY, finding(0.4))]), False, "unseen"),
        (made_up([finding(0.5)], [Trial(ANY, finding(math.inf))]), True, "1 of 1"),
        (made_up([finding(0.5)], [Trial(ANY, finding(0.4)), Trial(ANY, NotRun("it", "no time"))]), False, "1 of 1"),
        (made_up([NotRun("an attack", "no time")], [Trial(ANY, NotRun("an attack", "no time"))]), True, "0 of 0"),
    ],
)
def test_verdicts_and_pages(result, passes, word):
    assert result.passes is passes
    assert word in result.verdict
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["passes"] is passes
    page = audit_page(result)
    assert result.verdict in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_bad_input_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(RequestError, match="no fault is called 'gremlins'"):
        audit(TINY, epsilon=1.0, faults=["gremlins"])
    with pytest.raises(RequestError, match="adjacency is 'both'"):
        audit(TINY, epsilon=1.0, adjacency="both")
    with pytest.raises(RequestError, match="mechanism is 'magic'"):
        audit(TINY, epsilon=1.0, mechanism="magic")
    with pytest.raises(BudgetError, match="epsilon"):
        audit(TINY, epsilon=-1.0)
    with pytest.raises(SchemaError):
        audit(tmp_path / "absent.yaml", epsilon=1.0)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_taken_out_again(name):
    """Also where an error ends the trial."""
    owners = (
        faults.SecureNoise, faults.Curator, faults.PrivacyFilter, faults.Budget, faults.Reservation,
        faults.NumericCodec, faults.CategoricalCodec, faults.sums, faults.contribution_bounding, faults.assembly,
        faults.family_source,
    )  # fmt: skip
    before = [dict(vars(owner)) for owner in owners]
    with FAULTS[name].inject():
        assert [dict(vars(owner)) for owner in owners] != before
    assert [dict(vars(owner)) for owner in owners] == before
    with suppress(KeyError), FAULTS[name].inject():
        raise KeyError
    assert [dict(vars(owner)) for owner in owners] == before


def test_every_fault_belongs_to_one_attack():
    named = [*(fault for attack in ATTACKS for fault in attack.faults), *FAMILY_FAULTS]
    assert sorted(named) == sorted(FAULTS)
    assert len(named) >= 10
    assert {fault.place for fault in FAULTS.values()} == {"noise", "sensitivity", "accounting", "people", "encoding"}


def test_the_command_prints_writes_and_exits(tmp_path, monkeypatch):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY.to_yaml())
    outcomes = {"good": made_up([finding(0.5)]), "bad": made_up([finding(math.inf)], [Trial(ANY, finding(0.1))])}
    for name, exit_code in (("good", 0), ("bad", 2)):
        monkeypatch.setattr("sfumato.auditing.audit.audit", lambda *_, name=name, **__: outcomes[name])
        page = tmp_path / f"{name}.html"
        done = CliRunner().invoke(app, ["audit", str(path), "--epsilon", "1", "--out", str(page)])
        assert done.exit_code == exit_code
        assert outcomes[name].verdict.split(":")[0] in done.output
        assert "holds" in done.output or "EXCEEDED" in done.output
        assert outcomes[name].verdict in page.read_text()
        told = CliRunner().invoke(app, ["audit", str(path), "--epsilon", "1", "--json"])
        assert json.loads(told.stdout) == outcomes[name].to_dict()
        assert told.exit_code == exit_code


def test_the_command_refuses_bad_terms(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY.to_yaml())
    assert CliRunner().invoke(app, ["audit", str(path), "--epsilon", "0"]).exit_code == 2
    assert CliRunner().invoke(app, ["audit", str(tmp_path / "no.yaml"), "--epsilon", "1"]).exit_code == 2


LONG = {
    "family": (demo.FAMILY_SCHEMA, {}),
    "family, replace": (demo.FAMILY_SCHEMA, {"adjacency": "replace"}),
    "tables": (sfumato.Schema.from_yaml(MIXED), {}),
    "tables, label": (sfumato.Schema.from_yaml(MIXED), {"adjacency": "label"}),
    "tables, replace, epsilon 3": (TINY, {"adjacency": "replace", "epsilon": 3.0}),
    "persons": (every_case()["tables"].by_person(3).schema, {}),
    "constraints": (every_case()["tables, constraints"].schema, {}),
    "mixture": (every_case()["mixture"].schema, {"mechanism": "mixture"}),
    "subspace": (every_case()["subspace"].schema, {"mechanism": "subspace"}),
    "3a": (TINY, {"mechanism": "3a", "anonymize": "kernel", "adapt": "leaves", "share": 0.4}),
    "3a, replace": (TINY, {"mechanism": "3a", "anonymize": "slices", "adjacency": "replace"}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "settings"), LONG.values(), ids=LONG)
def test_every_fault_that_is_tried_is_caught(schema, settings):
    result = sfumato.audit(schema, **{"epsilon": 1.0, "quick": True, **settings})
    print(f"\n{result!r}", *((one.attack, one.bound / one.claim) for one in result.made), sep="\n")
    assert result.passes, result.verdict
    assert len(result.caught) >= 10
