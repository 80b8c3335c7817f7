"""`verify` recomputes the claim; every number that was changed, hashes and all, is found."""

import dataclasses

import numpy as np
import pytest

import sfumato
from sfumato.measurement import Measurement
from sfumato.privacy.adjacency import Adjacency
from sfumato.verification import verify
from tests.conftest import MIXED, make_table


@pytest.fixture(scope="module")
def release():
    return sfumato.release(make_table(200), sfumato.Schema.from_yaml(MIXED), epsilon=1.0, ledger=None)


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
    assert "whole numbers, one for each cell" in failed(with_measurement(release, values=item.values[:-1].copy()))
    assert "whole numbers, one for each cell" in failed(with_measurement(release, values=item.values + 0.5))
    assert "statement lists every measurement" in failed(dataclasses.replace(release, measurements=()))


def test_a_measurement_left_unpaid_is_found(release):
    twice = dataclasses.replace(release, measurements=release.measurements * 2)
    assert "costs add up and stay in the budget" in failed(twice)


def test_another_schema_or_label_is_found(release):
    other = sfumato.Schema.from_yaml(MIXED.replace("bounds: [0, 99]", "bounds: [0, 98]"))
    assert "measurements follow the schema" in failed(dataclasses.replace(release, schema=other))
    unlabelled = dataclasses.replace(release.measurements[0].statistic, label=None)
    assert "measurements follow the schema" in failed(with_measurement(release, statistic=unlabelled))


def test_a_model_that_does_not_follow_from_the_measurements_is_found(release):
    """Nothing else can have gone into the model: the mechanism is run again on the recorded answers."""
    other = sfumato.release(make_table(200), release.schema, epsilon=1.0, ledger=None)
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
    assert failed(sfumato.release(make_table(300), sfumato.Schema.from_yaml(text), epsilon=1.0, ledger=None)) == []


def test_a_seeded_release_never_passes(schema):
    seeded = sfumato.release(make_table(50), schema, epsilon=1.0, ledger=None, seed=1)
    assert failed(seeded) == ["noise from a cryptographic source"]
    assert seeded.statement.label == "seeded: not private"


def test_a_measurement_is_frozen(release):
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.measurements[0].mu = 1.0
    assert isinstance(release.measurements[0], Measurement)
    assert release.measurements[0].values.dtype == np.int64
