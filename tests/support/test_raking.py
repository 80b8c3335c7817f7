"""Raking inside boxes against raking of whole tables, and grids and groups that rules never part."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.errors import SchemaError
from sfumato.fitting.mechanisms.counts.grids import cut_at, fine_grid
from sfumato.fitting.mechanisms.counts.merging import merge_alike, merge_within
from sfumato.fitting.mechanisms.counts.one_way import _listed
from sfumato.fitting.mechanisms.counts.plan import geometry_of
from sfumato.fitting.mechanisms.tables.raking import rake, rake_rows
from sfumato.fitting.support.support import Support, kinds_of
from sfumato.trusted.encoding import codes_of
from sfumato.trusted.feature_maps import Grid
from tests.support.test_boxes import holds

SIZES = {"a": 3, "b": 4, "c": 2}
FORBIDDEN = [{"a": ((0, 1),), "b": ((1, 3),)}, {"b": ((3, 4),), "c": ((0, 1),)}]


def test_raking_in_boxes_is_raking_of_the_whole_table():
    rng = np.random.default_rng(0)
    allowed = np.array(
        [
            not any(holds(rule, dict(zip(SIZES, at, strict=True))) for rule in FORBIDDEN)
            for at in itertools.product(*map(range, SIZES.values()))
        ]
    ).reshape(tuple(SIZES.values()))
    truth = rng.random(allowed.shape) * allowed
    truth /= truth.sum()
    others = {name: tuple(axis for axis in range(3) if axis != j) for j, name in enumerate(SIZES)}
    seen = {name: truth.sum(axis=others[name]) for name in SIZES}
    table = allowed / allowed.sum()
    for _ in range(200):
        for name, axes in others.items():
            table = table * np.expand_dims(seen[name] / table.sum(axis=axes), axes)
    support = Support.of(FORBIDDEN, SIZES)
    held = {name: support.of_cells(name, Grid.of_cells(np.arange(size))) for name, size in SIZES.items()}
    raked = rake({name: (one, kinds_of(one), seen[name][None]) for name, one in held.items()})
    found = np.zeros(allowed.shape)
    for b in range(len(support.boxes)):
        parts = [seen[name] * raked.factors[name][0] * held[name][b] for name in SIZES]
        found += raked.mass[0, b] * np.einsum("i,j,k->ijk", *(part / part.sum() for part in parts))
    assert found == pytest.approx(table, abs=1e-4)
    assert (found[~allowed] == 0).all()


def test_a_class_that_fits_into_no_box_has_no_mass():
    held = np.array([[True, False], [True, False]])
    raked = rake({"y": (held, np.array([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))})
    assert raked.mass.tolist() == [[0.5, 0.5], [0.0, 0.0]]


def test_rows_add_up_to_what_was_seen():
    start = np.array([[0.5, 0.5, 0.0], [0.0, 0.3, 0.7], [0.2, 0.3, 0.5]])
    weights, seen = np.array([0.3, 0.2, 0.5]), np.array([0.4, 0.35, 0.25])
    rows = rake_rows(start, weights, seen)
    assert (rows[start == 0] == 0).all()
    assert rows.sum(axis=1) == pytest.approx(1)
    assert weights @ rows == pytest.approx(seen, abs=1e-3)


@given(st.sets(st.integers(0, 40_000), max_size=5))
def test_cuts_of_a_long_column_are_where_rules_need_them(edges):
    column = sfumato.Schema.from_yaml(
        "{sfumato: 1, name: t, columns: [{name: x, type: number, bounds: [-10, 1000], missing: true}]}"
    )["x"]
    codes = codes_of(column)
    grid = cut_at(codes, fine_grid(codes), edges)
    assert edges <= {*grid.starts}
    assert {*fine_grid(codes).starts} <= {*grid.starts}
    assert len(grid.starts) == grid.size
    assert grid.cells[-1] == grid.size - 1  # missing stays last


def test_cells_of_different_kinds_are_never_joined():
    counts, kinds = np.full((12, 1), 10.0), np.repeat([0, 1, 0, 2], 3)
    groups = merge_within(kinds, counts, np.full(12, 100.0), np.ones(12, dtype=int))
    assert (np.diff(groups)[[2, 5, 8]] == 1).all()
    alike = merge_within(np.zeros(12, dtype=int), counts, np.full(12, 100.0), np.ones(12, dtype=int))
    assert alike.tolist() == merge_alike(counts, np.full(12, 100.0), np.ones(12, dtype=int)).tolist()


def test_rare_categories_are_grouped_by_kind_and_keep_their_total():
    rng, sigma = np.random.default_rng(0), 5.0
    grid, kinds = Grid.of_cells(np.arange(60)), np.arange(60) % 3
    truth = np.where(np.arange(60) < 4, 500.0, 1.0)[:, None]
    found = []
    for _ in range(400):
        counts = truth + rng.normal(0, sigma, (60, 1))
        column = _listed(grid, counts, sigma, truth.sum(axis=0), 0.0, kinds)
        assert all(len(np.unique(kinds[column.groups == g])) == 1 for g in range(column.groups.max() + 1))
        found.append((column.grouped[-3:, 0], column.variance[-3:]))
    values, variance = (np.array(part) for part in zip(*found, strict=True))
    assert values.mean(axis=0) == pytest.approx([19, 19, 18], rel=0.15)
    assert values.var(axis=0) == pytest.approx(variance.mean(axis=0), rel=0.25)


def test_too_many_values_of_a_target_for_too_many_boxes_are_refused():
    columns = [{"name": f"{side}{i}", "type": "boolean"} for side in "xy" for i in range(8)]
    target = {"name": "t", "type": "category", "values": [str(value) for value in range(17)]}
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "t", "columns": [*columns, target], "target": "t"})
    rules = [{f"x{i}": ((0, 1),), f"y{i}": ((0, 1),)} for i in range(8)]
    assert len(geometry_of(schema.with_rules(rules[:7])).support.boxes) == 128
    with pytest.raises(SchemaError, match="4352, more than 4096"):
        geometry_of(schema.with_rules(rules))
