"""What the source of a family refuses: it has persons, and no records that stand for themselves."""

from contextlib import closing

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.sources.family_opening import open_family
from sfumato.trusted.statistics import Cells, PersonLevel
from tests.families.hospital import schema, tables
from tests.families.making import few_bins

_ASKED = Cells((("patients.sex",),), {"patients.sex": Grid.of_cells(np.arange(2))}, None)


def test_only_person_level_statistics_are_summed():
    """A statistic of records has no weights: a person with many rows would count many times."""

    class Posing:
        """Claims to be of a view."""

        view = "stays, next"

        def __getattr__(self, name):
            return getattr(_ASKED, name)

        def __call__(self, batch):
            return _ASKED(batch)

    with few_bins(), closing(open_family(tables(40), schema(), declared=True)) as source:
        assert source.sum(PersonLevel(_ASKED, "stays, next")).sum() > 0
        for statistic in (_ASKED, Posing()):
            with pytest.raises(DataError, match="TypeError"):
                source.sum(statistic)
