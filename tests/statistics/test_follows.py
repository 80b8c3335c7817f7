"""Statistics of a bundle must be about the columns of its schema, and about its target."""

import dataclasses

import pytest

from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.feature_maps import ByTarget, KindGrid, Together
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Cells, statistic_from_dict
from tests.conftest import MIXED

SCHEMA = Schema.from_yaml(MIXED)
CODES = Encoder(SCHEMA).columns
GRIDS = {name: fine_grid(CODES[name]) for name in ("age", "ill")}
CELLS = Cells((("age", "ill"),), GRIDS, "ill")


def test_cells_of_the_schema():
    assert CELLS.follows(SCHEMA)


@pytest.mark.parametrize("label", ["age", None])
def test_cells_of_another_label(label):
    """Under label adjacency a table without the label costs nothing: which column it is decides the noise."""
    assert not dataclasses.replace(CELLS, label=label).follows(SCHEMA)


def test_cells_on_a_grid_of_another_column():
    grids = {**GRIDS, "age": fine_grid(CODES["job"])}
    assert not dataclasses.replace(CELLS, grids=grids).follows(SCHEMA)


def test_kinds_of_a_column_as_the_schema_has_it():
    def kinds(column):
        return Cells((("kinds",),), {"kinds": KindGrid(column)}, "ill", None, {"kinds": "age"})

    assert kinds(SCHEMA["age"]).follows(SCHEMA)
    assert statistic_from_dict(kinds(SCHEMA["age"]).to_dict()) == kinds(SCHEMA["age"])
    assert not kinds(SCHEMA["wage"]).follows(SCHEMA)
    with pytest.raises(TypeError, match="no kinds"):
        kinds(SCHEMA["job"])


def test_classes_of_the_target():
    assert ByTarget("ill", CODES["ill"].size).follows(SCHEMA)
    assert Together().follows(SCHEMA)


@pytest.mark.parametrize(("target", "size"), [("job", CODES["job"].size), ("ill", CODES["ill"].size + 1)])
def test_classes_of_something_else(target, size):
    assert not ByTarget(target, size).follows(SCHEMA)
