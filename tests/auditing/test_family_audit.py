"""The audit of a family: the library passes, and what is wrong with persons and their keys is caught."""

import numpy as np
import pytest

import sfumato
from sfumato.auditing import audit as audit_module
from sfumato.auditing.audit import FAMILY_FAULTS, Effort, attacks_for
from sfumato.auditing.canaries import attack_canaries
from sfumato.auditing.family_setting import FamilySetting
from sfumato.auditing.faults import FAULTS
from sfumato.auditing.gdp import weights_of
from sfumato.auditing.released_rows import attack_rows
from sfumato.auditing.result import AuditResult
from sfumato.errors import RequestError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources.family_opening import open_family
from tests.families.making import few_bins

THREE = FamilySchema.from_yaml("""
{sfumato: 2, name: three, tables: {
  people: {key: id, columns: [{name: a, type: category, values: [p, q]}]},
  stays: {parent: people, key: stay, unique_key: true, rows: [0, 3], order: day,
          columns: [{name: day, type: integer, bounds: [0, 9]}]},
  notes: {parent: stays, rows: [0, 2], columns: [{name: c, type: boolean}]}}}
""")
IN_CI = ["sensitivity understated by sqrt(2)", *FAMILY_FAULTS, "noise at 70 % of its scale", "no noise"]


def setting(epsilon: float = 1.0) -> FamilySetting:
    return FamilySetting(THREE, epsilon, 1e-6, Adjacency.ADD_REMOVE, "auto")


@pytest.fixture(scope="module")
def result() -> AuditResult:
    with few_bins(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_module, "QUICK", Effort(16, 1, 4_000, 0, 0.0, 60))
        return sfumato.audit(THREE, epsilon=1.0, quick=True, faults=IN_CI, seed=1)


def test_the_library_passes_and_the_faults_are_caught(result):
    assert result.passes, result.verdict
    assert {trial.fault.name for trial in result.caught} >= {*FAMILY_FAULTS, IN_CI[0], "noise at 70 % of its scale"}
    assert result.by_person
    sharp = {one.attack: one.bound / one.claim for one in result.made}
    assert sharp["worst-case persons, whole release"] > 0.95
    assert sharp["worst-case persons, one question"] > 0.999
    assert sharp["noise of the curator, all questions"] > 0.7


def test_a_canary_adds_what_is_said_whatever_the_key():
    audited = setting()
    questions = audited.questions(audited.reference)
    persons = audited.canaries(4, np.random.default_rng(0)).rows
    told = list(audited.contributions(questions, persons))
    for place, person in enumerate(persons):
        key = bytes([place] * 32)
        tables = (audited.crowd, audited.insert(audited.crowd, [person]))
        without, with_person = (open_family(rows, THREE, key, declared=True) for rows in tables)
        for question, moves in zip(questions, told, strict=True):
            statistic = question.item.statistic
            apart = with_person.sum(statistic) - without.sum(statistic)
            np.testing.assert_allclose(apart * weights_of(statistic) / question.item.sigma, moves[place], atol=1e-12)
        without.close()
        with_person.close()


@pytest.mark.slow
def test_exact_sums_show_in_released_rows():
    """With less confidence, so that a few releases do."""
    audited, rng = setting(0.5), np.random.default_rng(0)
    with FAULTS["model fitted to exact sums"].inject():
        (found,) = attack_rows(audited, 10, 24, 600.0, 0.9, rng)
    assert not found.holds


def test_keys_of_one_person_are_tried_where_keys_may_be_shared():
    two = FamilySchema.from_dict({**THREE.to_dict(), "tables": {
        name: table for name, table in THREE.to_dict()["tables"].items() if name != "notes"}})  # fmt: skip
    tried = [fault for attack in attacks_for(FamilySetting(two, 1.0, 1e-6, Adjacency.REPLACE, "auto"))
             for fault in attack.faults]  # fmt: skip
    assert FAMILY_FAULTS[0] in tried
    assert FAMILY_FAULTS[1] not in tried
    with pytest.raises(RequestError, match="no fault is called 'a key of two persons"):
        sfumato.audit(two, epsilon=1.0, faults=[FAMILY_FAULTS[1]])


def test_canaries_are_guessed_without_noise():
    with FAULTS["no noise"].inject():
        found = attack_canaries(setting(0.1), 80, 0.99, np.random.default_rng(0))
    assert isinstance(found, list)
    assert found[0].bound > found[0].claim
