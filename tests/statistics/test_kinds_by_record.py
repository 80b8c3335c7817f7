"""A kind looks at one value alone: a sum over records is the same in any order and any split. A fault is seen."""

import numpy as np
import pytest

from sfumato.trusted.encoding import Batch, codes_of
from sfumato.trusted.feature_maps import KindGrid
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Cells

SCHEMA = Schema.from_yaml("""
{sfumato: 1, name: t, columns: [
  {name: cost, type: number, bounds: [0, 5000], missing: true},
  {name: born, type: date, bounds: [1990-01-01, 2030-12-31]},
  {name: seen, type: datetime, bounds: [2020-01-01T00:00:00, 2020-03-01T00:00:00]}]}
""")


class LooksAtTheRowBefore(KindGrid):
    """The fault: a value counts as round only where the one before it was not the same."""

    def cells_of(self, codes):
        return np.where(codes == np.roll(codes, 1), self.size - 1, super().cells_of(codes)).astype(np.int32)


def alone_and_together(grid: type[KindGrid], name: str) -> tuple[np.ndarray, np.ndarray]:
    statistic = Cells((("kinds",),), {"kinds": grid(SCHEMA[name])}, None, None, {"kinds": name})
    codes = np.random.default_rng(0).integers(0, codes_of(SCHEMA[name]).size, 40).astype(np.int32)
    codes = np.repeat(codes, 2)
    whole = statistic(Batch(len(codes), {name: codes}))
    return whole, sum(statistic(Batch(1, {name: codes[place : place + 1]})) for place in range(len(codes)))


@pytest.mark.parametrize("name", ["cost", "born", "seen"])
def test_a_kind_depends_on_its_value_alone(name):
    together, alone = alone_and_together(KindGrid, name)
    assert np.array_equal(together, alone)
    assert together.sum() == 80


def test_a_kind_that_looks_at_another_row_is_found():
    together, alone = alone_and_together(LooksAtTheRowBefore, "cost")
    assert not np.array_equal(together, alone)
