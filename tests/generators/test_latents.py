"""How many latent points a class gets: as many as published figures had, and no more than time and memory allow."""

import numpy as np
import pytest

from sfumato.fitting.generators.evidence import Column, Evidence, Histograms
from sfumato.fitting.generators.training import latents_of_a_class
from sfumato.trusted.feature_maps import Grid

DIRECTIONS = 32


def shaped(classes: int, columns: int, groups: int, bins: int | None) -> Evidence:
    """Evidence of this shape that holds nothing."""
    column = Column(Grid.of_cells(np.arange(groups)), np.arange(groups), np.ones(groups), np.ones(groups), groups)
    ends = np.zeros((DIRECTIONS, 0))
    along = None if bins is None else Histograms(ends, ends, ends, np.zeros((DIRECTIONS, bins, classes)), 1.0)
    named = {f"c{place}": column for place in range(columns)}
    return Evidence(named, np.ones(classes), np.zeros((classes, 0)), 1.0, histograms=along)


@pytest.mark.parametrize("bins", [None, 4, 32])
@pytest.mark.parametrize(
    ("classes", "columns", "groups"), [(1, 60, 34), (2, 60, 34), (6, 60, 11), (10, 60, 27), (10, 9, 50)]
)
def test_ordinary_tables_have_as_many_as_ever(classes, columns, groups, bins):
    assert latents_of_a_class(shaped(classes, columns, groups, bins)) == 256


@pytest.mark.parametrize("bins", [4, 32])
@pytest.mark.parametrize("columns", [3, 30, 300])
@pytest.mark.parametrize("groups", [2, 50])
@pytest.mark.parametrize("classes", [2, 60, 500])
def test_all_latents_together_are_bounded_and_so_is_what_they_take(classes, columns, groups, bins):
    each = latents_of_a_class(shaped(classes, columns, groups, bins))
    assert 16 <= each <= 256
    if each > 16:
        assert classes * each <= 4_096
        assert classes * each * columns * groups <= 1 << 22
        assert classes * each * DIRECTIONS * (columns + bins) <= 1 << 23
