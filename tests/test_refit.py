"""Adapt for free: a receiver fits anew, from the bundle alone."""

import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.errors import BundleError, RequestError, SfumatoError
from tests.conftest import make_table


@pytest.fixture(scope="module")
def release():
    from sfumato.trusted.schema import Schema
    from tests.conftest import MIXED

    return sfumato.release(make_table(2_000), Schema.from_yaml(MIXED), epsilon=4.0, ledger=None, types="declared")


def test_the_same_settings_give_the_same_model(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    again = sfumato.open(tmp_path / "b.sfumato").refit()
    assert again.fitted.distance(release.fitted) < 1e-6
    assert again.statement == release.statement
    assert again.measurements[0].values.tobytes() == release.measurements[0].values.tobytes()


def test_other_settings_give_another_model_that_verifies_too(release, tmp_path):
    other = release.refit(components=2, steps=50, prior=0.1)
    assert len(other.fitted.weights) == 4
    assert other.fitted.distance(release.fitted) > 1e-4
    other.save(tmp_path / "b.sfumato")
    again = sfumato.open(tmp_path / "b.sfumato")
    assert again.fitted.settings == {"components": 2, "steps": 50, "prior": 0.1}
    assert all(check.holds for check in verify(again))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"components": 0}, "1 to 1000 components"),
        ({"components": 10**6}, "1 to 1000 components"),
        ({"steps": 0}, "1 to 10000 steps"),
        ({"steps": 2**63}, "1 to 10000 steps"),
        ({"prior": 0.0}, "a number above 0"),
        ({"prior": float("nan")}, "a number above 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(release, settings, message):
    with pytest.raises(RequestError, match=message):
        release.refit(**settings)


def test_measurements_of_another_version_are_refused(release):
    import dataclasses

    for kept in (release.measurements[:1], release.measurements[1:], release.measurements[:-1]):
        with pytest.raises(BundleError, match="made the bundle"):
            dataclasses.replace(release, measurements=kept).refit()
    assert issubclass(BundleError, SfumatoError)
