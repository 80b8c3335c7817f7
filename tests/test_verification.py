"""`verify` recomputes the claim; every number that was changed, hashes and all, is found."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.check import SAME, Check, Outcome
from sfumato.artefact.same_parts import same_parts
from sfumato.artefact.verify import verify
from sfumato.fitting.mechanisms.mechanism import find_mechanism, restore_plan
from sfumato.fitting.retraining.fit import OWN
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget, mu_of
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Unit
from tests.conftest import MIXED, make_table
from tests.mechanisms.every import every_case


@pytest.fixture(scope="module")
def release():
    return sfumato.release(make_table(200), sfumato.Schema.from_yaml(MIXED), epsilon=1.0, ledger=None, types="declared")


def failed(release) -> list[str]:
    return [check.what for check in verify(release) if not check.holds]


def with_statement(release, **changes):
    return dataclasses.replace(release, statement=release.statement.model_copy(update=changes))


def with_measurement(release, **changes):
    return dataclasses.replace(release, measurements=(dataclasses.replace(release.measurements[0], **changes),))


def test_a_release_as_it_was_made_holds(release):
    assert failed(release) == []
    assert all(check.detail for check in verify(release))


def test_lies_in_the_statement_are_found(release):
    statement = release.statement
    assert "budget keeps the claimed epsilon and delta" in failed(with_statement(release, epsilon=0.5))
    assert "budget keeps the claimed epsilon and delta" in failed(with_statement(release, delta=1e-9))
    assert "noise of every measurement" in failed(with_statement(release, adjacency=Adjacency.REPLACE))
    assert "costs add up and stay in the budget" in failed(
        with_statement(release, units_spent=statement.units_spent - 1)
    )
    assert "budget keeps the claimed epsilon and delta" in failed(
        with_statement(release, units_budget=2 * statement.units_budget)
    )
    assert "statement lists every measurement" in failed(with_statement(release, items=()))
    assert "measurements follow the schema" in failed(with_statement(release, dataset="another"))


def test_lies_in_a_measurement_are_found(release):
    item = release.measurements[0]
    assert "noise of every measurement" in failed(with_measurement(release, sigma=0.95 * item.sigma))
    assert "costs add up and stay in the budget" in failed(with_measurement(release, mu=2 * item.mu))
    assert "integers, one for each cell" in failed(with_measurement(release, values=item.values[:-1].copy()))
    assert "integers, one for each cell" in failed(with_measurement(release, values=item.values + 0.5))
    assert "statement lists every measurement" in failed(dataclasses.replace(release, measurements=()))


def test_a_fit_that_explains_the_answers_as_well_is_not_called_a_lie():
    """As from another processor, whose last digits lead the fit of a wide table elsewhere."""
    release = every_case()["tables"].release(seed=None)
    settings = {**release.fitted.settings, "start": 1}
    plan, _ = restore_plan(release.plan, "tables", release.measured, release.statement.adjacency)
    other = find_mechanism("tables").refit(release.modelling, plan, settings)
    other = dataclasses.replace(other, settings=release.fitted.settings)
    assert other.distance(release.fitted) > SAME
    found = verify(dataclasses.replace(release, fitted=other))
    assert found.unchecked == ["model follows from the measurements"]
    assert not found.failed


def test_a_measurement_left_unpaid_is_found(release):
    twice = dataclasses.replace(release, measurements=release.measurements * 2)
    assert "costs add up and stay in the budget" in failed(twice)


def test_another_schema_or_label_is_found(release):
    other = sfumato.Schema.from_yaml(MIXED.replace("bounds: [0, 99]", "bounds: [0, 98]"))
    assert "measurements follow the schema" in failed(dataclasses.replace(release, schema=other))
    unlabelled = dataclasses.replace(release.measurements[1].statistic, label=None)
    changed = dataclasses.replace(release.measurements[1], statistic=unlabelled)
    measurements = (release.measurements[0], changed, *release.measurements[2:])
    assert "measurements follow the schema" in failed(dataclasses.replace(release, measurements=measurements))


def test_a_model_that_does_not_follow_from_the_measurements_is_found(release):
    """Nothing else can have gone into the model: the mechanism is run again on the recorded answers."""
    other = sfumato.release(make_table(200), release.schema, epsilon=1.0, ledger=None, types="declared")
    assert failed(dataclasses.replace(release, fitted=other.fitted)) == ["model follows from the measurements"]
    pieces = release.fitted.columns["member"]
    theta = pieces.theta[:, ::-1].copy()
    columns = {**release.fitted.columns, "member": dataclasses.replace(pieces, theta=theta)}
    swapped = dataclasses.replace(release.fitted, columns=columns)
    assert failed(dataclasses.replace(release, fitted=swapped)) == ["model follows from the measurements"]


def test_a_conditioned_release_still_holds(release, tmp_path):
    release.condition({"age": (20, 40), "job": "cook"}).save(tmp_path / "given.sfumato")
    assert failed(sfumato.open(tmp_path / "given.sfumato")) == []


@pytest.mark.parametrize("target", ["age", "job", "wage", None])
def test_every_kind_of_release_can_be_replayed(target):
    text = MIXED.replace("target: ill", f"target: {target}" if target else "")
    assert (
        failed(
            sfumato.release(make_table(300), sfumato.Schema.from_yaml(text), epsilon=1.0, ledger=None, types="declared")
        )
        == []
    )


def test_a_seeded_release_never_passes(schema):
    seeded = sfumato.release(make_table(50), schema, epsilon=1.0, ledger=None, seed=1, types="declared")
    assert failed(seeded) == ["noise from a cryptographic source"]
    assert seeded.statement.label == "seeded: not private"


def test_a_measurement_is_frozen(release):
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.measurements[0].mu = 1.0
    assert isinstance(release.measurements[0], Measurement)
    assert release.measurements[0].values.dtype == np.int64


def outcomes(release) -> dict[str, bool]:
    return {check.what: check.holds for check in verify(release)}


NOISE, SHAPE = "noise of every measurement", "integers, one for each cell"
ITEMS, COSTS = "statement lists every measurement", "costs add up and stay in the budget"
CLAIM, SCHEMA_FOLLOWED = "budget keeps the claimed epsilon and delta", "measurements follow the schema"
MODEL = "model follows from the measurements"


def with_last(release, **changes):
    """One lie among many truths: in the last measurement alone."""
    *others, last = release.measurements
    return dataclasses.replace(release, measurements=(*others, dataclasses.replace(last, **changes)))


def test_one_measurement_with_other_noise_is_enough(release):
    sigma = release.measurements[-1].sigma
    for wrong in (0.5 * sigma, sigma * (1 - 1e-12), 2 * sigma):
        assert not outcomes(with_last(release, sigma=wrong))[NOISE]


def test_one_measurement_of_another_length_is_enough(release):
    values = release.measurements[-1].values
    assert not outcomes(with_last(release, values=values[:-1].copy()))[SHAPE]


def test_a_spend_beyond_the_budget_is_found_even_if_it_is_admitted(release):
    statement = release.statement
    less = with_statement(release, units_budget=statement.units_spent - 1)
    assert not outcomes(less)[COSTS]
    assert not outcomes(with_statement(release, units_spent=statement.units_spent + 1))[COSTS]


def test_a_budget_that_is_not_what_epsilon_buys_is_found(release):
    """Less than epsilon buys would keep the claim; more would not. Both are lies."""
    units = release.statement.units_budget
    assert not outcomes(with_statement(release, units_budget=units - 1))[CLAIM]
    assert not outcomes(with_statement(release, units_budget=units + 1))[CLAIM]


def test_a_claim_that_the_curve_does_not_give_is_found(release, monkeypatch):
    """Also where somebody changed how a budget is counted."""
    monkeypatch.setattr("sfumato.trusted.budget.mu_of", lambda epsilon, delta: 2 * mu_of(epsilon, delta))
    units = Budget(release.statement.epsilon, release.statement.delta).units
    assert not outcomes(with_statement(release, units_budget=units))[CLAIM]


def test_a_statement_for_other_persons_or_another_dataset_is_found(release):
    assert not outcomes(with_statement(release, dataset="another"))[SCHEMA_FOLLOWED]
    assert not outcomes(with_statement(release, unit=Unit(column="who", records=1)))[SCHEMA_FOLLOWED]


def test_an_item_that_says_something_else_is_found(release):
    first, *others = release.statement.items
    lied = first.model_copy(update={"sensitivity": first.sensitivity / 2})
    assert not outcomes(with_statement(release, items=(lied, *others)))[ITEMS]


def test_a_model_of_other_rows_is_found(release):
    schema = sfumato.Schema.from_yaml(MIXED)
    other = sfumato.release(make_table(5_000, seed=3), schema, epsilon=50.0, ledger=None, types="declared")
    assert not outcomes(dataclasses.replace(release, fitted=other.fitted))[MODEL]


def test_a_seed_is_found(release):
    assert not outcomes(with_statement(release, seeded=True))["noise from a cryptographic source"]


def test_what_was_not_checked_does_not_hold():
    assert [Check("x", outcome, "").holds for outcome in Outcome] == [True, False, False, False]
    own = dataclasses.replace  # a generator of somebody's own is named in the settings of the model
    release = sfumato.release(
        make_table(60), sfumato.Schema.from_yaml(MIXED), epsilon=1.0, ledger=None, types="declared"
    )
    release = own(release, fitted=own(release.fitted, settings={"generator": OWN}))
    (check,) = [check for check in verify(release) if check.what == MODEL]
    assert check.outcome == Outcome.UNCHECKED


def test_a_model_with_public_features_is_unchecked_without_them():
    schema = sfumato.Schema.from_yaml("""
    {sfumato: 1, name: t, target: y, public_features: true, columns: [
      {name: x, type: number, bounds: [0, 1]}, {name: y, type: boolean}]}
    """)
    table = pa.table({"x": np.linspace(0, 1, 80), "y": [True, False] * 40})
    settings = {"epsilon": 1.0, "mechanism": "mixture", "adjacency": "label", "ledger": None}
    release = sfumato.release(table, schema, **settings)
    found = {features is None: verify(release, features) for features in (None, table)}
    assert [check.outcome for check in found[True] if check.what == MODEL] == [Outcome.UNCHECKED]
    assert [check.outcome for check in found[False] if check.what == MODEL] == [Outcome.HOLDS]


@pytest.mark.parametrize(("change", "same"), [(0.0, True), (1e-8, True), (3e-6, False), (np.nan, False)])
def test_one_number_of_a_stored_distribution_decides_whether_models_are_the_same(release, change, same):
    class Stored:
        def __init__(self, change):
            content, table = release.fitted.to_parts()
            numbers = table["theta"].combine_chunks().flatten().to_numpy().copy()
            numbers[np.argmax(numbers)] *= 1 + change
            theta = pa.FixedSizeListArray.from_arrays(pa.array(numbers), table["theta"].type.list_size)
            self.to_parts = lambda: (content, table.set_column(table.column_names.index("theta"), "theta", theta))

    assert same_parts(Stored(0.0), Stored(change)) is same
