"""The plan of a family: every question that the release will ask, with the noise that it will have."""

import json
import math

import pytest
from typer.testing import CliRunner

import sfumato
from sfumato import demo
from sfumato.artefact.families.quality import smallest_family_group
from sfumato.cli.app import app
from sfumato.errors import RequestError
from sfumato.planning.families import PlannedFamily
from sfumato.trusted.statistics import Cells
from sfumato.trusted.statistics.person_level import PARTS


@pytest.fixture(scope="module")
def planned() -> PlannedFamily:
    return sfumato.plan(sfumato.FamilySchema.load(demo.FAMILY_SCHEMA), rows=10_000, epsilon=1.0)


def test_the_questions_are_those_of_the_release(planned):
    made = sfumato.release(demo.FAMILY, demo.FAMILY_SCHEMA, epsilon=1.0, ledger=None)
    asked = [(item.statistic.view, item.mu) for item in made.measurements if not item.statistic.view.endswith("first")]
    told = [(one.view, 1 / one.effects) for one in planned.questions if not one.view.endswith("first")]
    assert {view for view, _ in asked} == {view for view, _ in told}
    assert math.fsum(mu**2 for _, mu in told) > 0.9 * math.fsum(mu**2 for _, mu in asked)
    assert planned.groups["persons"] == pytest.approx(smallest_family_group(made), rel=0.2)
    counts = [item for item in made.measurements if isinstance(item.statistic.statistic, Cells)]
    sure = [one for one in planned.questions if one.persons is not None and not one.typical]
    for one in sure:
        assert any(one.persons == pytest.approx(item.sigma / PARTS, rel=0.2) for item in counts)


def test_the_whole_budget_is_planned(planned):
    assert math.fsum(one.share for one in planned.questions) == pytest.approx(1.0, abs=1e-6)


def test_more_epsilon_shows_smaller_groups_and_risks_more(planned):
    for view in planned.groups:
        groups = [point.groups[view] for point in planned.curve]
        assert groups == sorted(groups, reverse=True)
    advantages = [point.advantage for point in planned.curve]
    assert advantages == sorted(advantages)
    assert planned.warnings == ()
    few = sfumato.plan(demo.FAMILY_SCHEMA, rows=300, epsilon=1.0)
    assert "drown in the noise" in few.warnings[0]


def test_it_is_told_in_words_and_as_json(planned):
    assert "about 10,000 persons" in planned.statement
    assert "all of their rows in all tables" in planned.statement
    assert len(repr(planned)) < 200
    assert planned.statement in planned._repr_html_()
    content = json.loads(json.dumps(planned.to_dict()))
    assert content["protects"] == "person"
    assert len(content["questions"]) == len(planned.questions)


@pytest.mark.parametrize(
    "more",
    [
        {"epsilon": None, "smallest_group": 50},
        {"like": "old.sfumato"},
        {"mechanism": "tables"},
        {"anonymize": "kernel"},
        {"components": 3},
    ],
)
def test_what_only_single_tables_have_is_refused(more):
    with pytest.raises(RequestError, match="a family of tables"):
        sfumato.plan(demo.FAMILY_SCHEMA, rows=1_000, **{"epsilon": 1.0, **more})


def test_the_command_prints_it(tmp_path):
    arguments = ["plan", str(demo.FAMILY_SCHEMA), "--rows", "10000", "--epsilon", "1"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0
    assert "smallest group of persons that survives" in shown.output
    assert "no private table was read" in shown.output.replace("\n", " ")
    assert json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["dataset"] == "hospital"
    refused = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "plan.html")])
    assert refused.exit_code == 2
    assert not list(tmp_path.iterdir())
