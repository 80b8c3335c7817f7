"""A release stores its plan and the constants of its day: tuning them later leaves it valid."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.check import Outcome
from sfumato.artefact.verify import verify
from sfumato.errors import BundleError, EarlierDesignError
from sfumato.fitting.mechanisms.counts import grids, merging
from sfumato.fitting.mechanisms.mechanism import find_mechanism, restore_plan
from sfumato.fitting.mechanisms.mixture import design, rounds
from sfumato.fitting.mechanisms.mixture import plan as mixture_plan
from sfumato.fitting.mechanisms.tables import plan, product_mixture
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.fitting.tuning import TuningConstants, current_constants, read_constants, stored_constants
from tests.mechanisms.every import Case, every_case, short_training

SAME_PLAN = "this version would plan the same"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("old")
    for name in ("tables", "mixture"):
        every_case()[name].release(seed=None).save(folder / f"{name}.sfumato")
    return folder


def outcomes(release) -> dict[str, Outcome]:
    return {check.what: check.outcome for check in verify(release)}


CHANGES = {
    "a share": ("tables", plan.Tuning, "pairs", 0.46),
    "a grid": ("tables", grids.Tuning, "uniform", 48),
    "how cells are merged": ("tables", merging.Tuning, "level", 0.95),
    "a fit": ("tables", product_mixture.Tuning, "jitter", 0.5),
    "a share of a mixture": ("mixture", mixture_plan.Tuning, "probe", 0.08),
    "a fit of a mixture": ("mixture", rounds.Tuning, "rough", 0.02),
    "designs of a mixture": ("mixture", design.Tuning, "designs", 2),
    "how a design is drawn": ("mixture", design.Tuning, "terms", 20),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_constant_that_changes_leaves_old_bundles_valid(change, bundles, monkeypatch):
    name, constants, constant, value = change
    monkeypatch.setattr(constants, constant, value)
    found = outcomes(sfumato.open(bundles / f"{name}.sfumato"))
    assert found.pop(SAME_PLAN) == Outcome.DIFFERS
    assert set(found.values()) == {Outcome.HOLDS}


@pytest.mark.parametrize("name", ["tables", "mixture"])
def test_without_a_change_nothing_differs(name, bundles):
    assert set(outcomes(sfumato.open(bundles / f"{name}.sfumato")).values()) == {Outcome.HOLDS}


def test_what_changed_is_named(bundles, monkeypatch):
    monkeypatch.setattr(plan.Tuning, "pairs", 0.46)
    (check,) = [one for one in verify(sfumato.open(bundles / "tables.sfumato")) if one.what == SAME_PLAN]
    assert check.detail == "tables.plan.pairs 0.45, here 0.46; it would ask or spend otherwise"


def test_other_constants_in_a_bundle_are_another_release(bundles):
    """The stored constants decide the replay, and the ledger's hash covers them."""
    release = sfumato.open(bundles / "tables.sfumato")
    constants = {**release.plan.constants, "tables.approximation": {**current()["tables.approximation"], "jitter": 0.4}}
    forged = dataclasses.replace(release, plan=dataclasses.replace(release.plan, constants=constants))
    found = outcomes(forged)
    assert found["statement is of this schema, header, plan and measurements"] == Outcome.FAILS
    assert found["model follows from the measurements"] != Outcome.HOLDS


def current() -> dict[str, dict[str, float]]:
    return current_constants(find_mechanism("tables").tuning)


@pytest.mark.parametrize("name", every_case())
def test_every_plan_comes_back_from_its_content(name):
    release = every_case()[name].release()
    statement = release.statement
    plan, _ = restore_plan(release.plan, statement.mechanism, release.measured, statement.adjacency)
    assert plan.to_dict() == release.plan.plan


@pytest.mark.parametrize("settings", [{"mechanism": "slices"}, {"mechanism": "3a", "adapt": "leaves"}])
def test_columns_with_as_many_values_are_fitted_anew_to_the_same(settings):
    """A grid that they share is written once by whoever made the release, and by whoever verifies it."""
    rng, listed = np.random.default_rng(0), "type: category, values"
    rows = pa.table({"a": rng.choice(list("pqr"), 300), "b": rng.choice(list("stu"), 300), "y": rng.random(300) < 0.4})
    schema = sfumato.Schema.from_yaml(
        f"{{sfumato: 1, name: t, target: y, columns: [{{name: a, {listed}: [p, q, r]}}, "
        f"{{name: b, {listed}: [s, t, u]}}, {{name: y, type: boolean}}]}}"
    )
    release = Case(schema, rows, settings).release()
    with short_training():
        assert outcomes(release)["model follows from the measurements"] == Outcome.HOLDS


@pytest.mark.parametrize("content", [{}, {"grids": []}, {"grids": 3, "grid_of": 4}, {"mu_one_way": "x"}])
def test_content_that_is_no_plan_is_refused(content, bundles):
    release = sfumato.open(bundles / "tables.sfumato")
    stored = dataclasses.replace(release.plan, plan=content)
    with pytest.raises(BundleError, match="plan does not fit the schema"):
        restore_plan(stored, "tables", release.schema, release.statement.adjacency)


@pytest.mark.parametrize("parts", [-0.5, ["kernel"], {"adapt": 3}, None])
def test_parts_that_are_no_names_are_refused_when_a_bundle_is_read(parts):
    """Nothing else reads them before a page shows them."""
    with pytest.raises(ValueError, match="parts of the plan"):
        StoredPlan.from_dict({"plan": {"parts": parts}, "settings": {}, "constants": {}})


class Tuning(TuningConstants, group="tests"):
    """For the tests below."""

    steps = 100
    rate = 0.5
    periods = (1.0, 0.25)


def test_stored_constants_count_within_their_block():
    with stored_constants({"tests": {"steps": 50}}):
        assert (Tuning.steps, Tuning.rate) == (50, 0.5)
    assert Tuning.steps == 100


def test_constants_come_back_in_their_types():
    read = read_constants({"tests": {"steps": 70, "rate": 0.25, "periods": [2, 0.5], "gone": [1, 2]}}, [Tuning])
    assert read == {"tests": {"steps": 70, "rate": 0.25, "periods": (2.0, 0.5), "gone": (1, 2)}}
    assert current_constants([Tuning]) == {"tests": {"steps": 100, "rate": 0.5, "periods": [1.0, 0.25]}}


@pytest.mark.parametrize(
    "values",
    [
        {"steps": 10**9},
        {"steps": 70.0},
        {"rate": -0.5},
        {"rate": 1.0},
        {"rate": "x"},
        {"rate": float("nan")},
        {"periods": [1.0]},
    ],
    ids=str,
)
def test_constants_far_from_ours_are_refused(values):
    """A bundle that somebody made up must not make a fit run for ever."""
    with pytest.raises(BundleError, match="the plan's constant"):
        read_constants({"tests": values}, [Tuning])


def test_a_bundle_of_an_earlier_design_opens_and_is_not_called_wrong(bundles):
    """What a version asks may change more than constants; then only the version that made it can fit it anew."""
    opened = sfumato.open(bundles / "tables.sfumato")
    plan = {name: value for name, value in opened.plan.plan.items() if name != "design"}
    earlier = dataclasses.replace(opened, plan=dataclasses.replace(opened.plan, plan=plan))
    assert outcomes(earlier)["model follows from the measurements"] == Outcome.UNCHECKED
    assert earlier.sample(5).num_rows == 5
    with pytest.raises(EarlierDesignError, match="that version of sfumato"):
        earlier.refit()
