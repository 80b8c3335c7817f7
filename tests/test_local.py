"""Noise on every record: its promise, its cost, and what can still be read off."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import BudgetError, DataError, RequestError
from sfumato.local import LocalSlices
from sfumato.trusted.budget import mu_of
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.noise import SeededNoise
from sfumato.trusted.schema import Schema
from tests.conftest import MIXED, make_table

SCHEMA = Schema.from_yaml(MIXED)


class Silent:
    """No noise at all, so that shadows themselves show."""

    private = False

    def rounded_gaussian(self, sigma, size):
        return np.zeros(size, dtype=np.int64)

    def key(self):
        return b""


def rows(table: pa.Table) -> np.ndarray:
    return np.column_stack([column.to_numpy() for column in table.columns])


@pytest.mark.parametrize("directions", [None, 1, 5])
@pytest.mark.parametrize("clip", [None, 0.02])
def test_no_shadow_is_longer_than_the_clip_so_none_moves_further_than_paid_for(directions, clip):
    local = LocalSlices(SCHEMA, 2.0, 1e-5, directions, clip)
    shadows = rows(local.randomize(make_table(3_000), Silent()))
    lengths = np.linalg.norm(shadows, axis=1)
    assert lengths.max() <= local.radius
    assert local.sigma >= 2 * local.radius / mu_of(2.0, 1e-5)
    if clip:
        assert lengths.max() > 0.99 * local.radius  # it is reached


@given(st.integers(0, 399), st.integers(0, 399))
def test_a_record_is_the_same_alone_and_in_company(one, other):
    local, table = LocalSlices(SCHEMA, 1.0), make_table(400)
    both = table.take([one, other])
    together = rows(local.randomize(both, Silent()))
    for place, row in enumerate((one, other)):
        assert np.array_equal(rows(local.randomize(table.slice(row, 1), Silent()))[0], together[place])


def test_the_noise_is_as_wide_as_claimed():
    local = LocalSlices(SCHEMA, 3.0, 1e-5, 4)
    noise = rows(local.randomize(make_table(4_000))) - rows(local.randomize(make_table(4_000), Silent()))
    assert noise.std() == pytest.approx(local.sigma, rel=0.03)
    assert np.abs(np.corrcoef(noise.T) - np.eye(4)).max() < 0.08
    seeded = [local.randomize(make_table(5), SeededNoise(1)) for _ in range(2)]
    assert seeded[0].equals(seeded[1])


def test_means_and_covariances_come_back():
    rng = np.random.default_rng(0)
    n = 60_000
    x = rng.normal(60, 10, n)
    table = pa.table({"x": x, "z": 0.5 * x + rng.normal(0, 5, n), "k": np.array(["a", "b"])[(x > 60).astype(int)]})
    schema = Schema.from_yaml(
        "{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [0, 100]},"
        " {name: z, type: number, bounds: [0, 100]}, {name: k, type: category, values: [a, b]}]}"
    )
    local = LocalSlices(schema, 20.0, 1e-5)
    assert local.layout == ("x", "z", "k=a", "k=b")
    parts = [local.randomize(table.slice(start, 15_000)) for start in range(0, n, 15_000)]
    found = local.moments(pa.concat_tables(parts))
    truth = np.column_stack([x / 50 - 1, table["z"].to_numpy() / 50 - 1, x <= 60, x > 60])
    assert np.abs(found.mean - truth.mean(axis=0)).max() < 5 * found.deviation
    assert found.deviation < 0.02
    assert np.abs(found.covariance - np.cov(truth.T)).max() < 0.05


def test_the_cost_is_that_of_the_study():
    """At epsilon 1 and delta 1e-5 the noise of d = m slices is about 2 sqrt(d) / mu slice deviations."""
    local = LocalSlices(SCHEMA, 1.0, 1e-5)
    d = len(local.layout)
    assert local.cost.deviations == pytest.approx(2 * np.sqrt(d) / mu_of(1.0, 1e-5), rel=1e-6)
    assert LocalSlices(SCHEMA, 1.0, 1e-5, 1).cost.deviations < local.cost.deviations
    assert local.cost.records > 1e9


def test_missing_values_have_a_coordinate_of_their_own():
    local = LocalSlices(SCHEMA, 1.0)
    assert {"debt=missing", "job=missing", "job=nurse", "ill=yes", "age"} <= set(local.layout)
    table = make_table(200)
    batch = Encoder(SCHEMA).encode(table.select(list(SCHEMA.by_name)).combine_chunks().to_batches()[0])
    coordinates = local._coordinates(batch)
    missing = np.array([value is None for value in table["debt"].to_pylist()])
    assert np.array_equal(coordinates[:, local.layout.index("debt=missing")] > 0, missing)
    assert not coordinates[missing, local.layout.index("debt")].any()


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"directions": 1_000}, RequestError, "cannot be orthonormal"),
        ({"directions": 0}, RequestError, "whole number"),
        ({"directions": 3, "clip": 0.0}, RequestError, "clip"),
        ({"epsilon": -1.0}, BudgetError, "epsilon"),
    ],
)
def test_bad_settings_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        LocalSlices(SCHEMA, **{"epsilon": 1.0, **settings})


def test_what_cannot_be_read_off_is_refused():
    few = LocalSlices(SCHEMA, 1.0, directions=3)
    noisy = few.randomize(make_table(10))
    with pytest.raises(RequestError, match="ask for all"):
        few.moments(noisy)
    with pytest.raises(RequestError, match="ask for all"):
        LocalSlices(SCHEMA, 1.0, clip=0.5).moments(noisy)
    with pytest.raises(RequestError, match="two noisy records"):
        LocalSlices(SCHEMA, 1.0).moments(noisy)
    whole = LocalSlices(SCHEMA, 1.0)
    gathered = whole.randomize(make_table(5))
    for broken in (gathered.select(gathered.column_names[::-1]), gathered.slice(0, 1)):
        with pytest.raises(RequestError, match="in order"):
            whole.moments(broken)
    with pytest.raises(RequestError, match="no record"):
        few.randomize(make_table(0))


def test_tables_that_are_none_or_lack_a_column_are_refused():
    local = LocalSlices(SCHEMA, 1.0)
    with pytest.raises(RequestError, match="not a table"):
        local.randomize([1, 2])
    with pytest.raises(RequestError, match="lacks a column"):
        local.randomize(make_table(5).drop_columns(["age"]))


def test_persons_are_not_taken_for_records():
    unit = Schema.from_dict(SCHEMA.to_dict() | {"unit": {"column": "person", "records": 5}})
    with pytest.raises(RequestError, match="one person with several"):
        LocalSlices(unit, 1.0)


def test_seeded_noise_leaves_a_mark():
    local = LocalSlices(SCHEMA, 1.0)
    assert b"not private" in local.randomize(make_table(2), SeededNoise(1)).schema.metadata[b"sfumato"]
    assert b"not private" not in local.randomize(make_table(2)).schema.metadata[b"sfumato"]


def test_one_column_alone_is_the_gaussian_mechanism():
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [0, 1]}]}")
    local = LocalSlices(schema, 1.0, 1e-5)
    assert local.frame.is_whole
    assert local.sigma == pytest.approx(2 * local.radius / mu_of(1.0, 1e-5))


def test_an_error_among_the_rows_quotes_none_of_them(monkeypatch):
    def speak(*_):
        raise ValueError("the secret 4711")

    monkeypatch.setattr(LocalSlices, "_coordinates", speak)
    with pytest.raises(DataError) as caught:
        LocalSlices(SCHEMA, 1.0).randomize(make_table(5))
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


def test_nothing_is_bought_of_one_record():
    schema = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: estimate}]}")
    with pytest.raises(RequestError, match="write them into the schema"):
        LocalSlices(schema, 1.0)
