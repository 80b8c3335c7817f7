"""What every rival keeps, whichever paper it is from."""

import dataclasses

import numpy as np
from sfumato_papers.baselines import Generated, Table

from tests.published.rival_tables import mixed


def made(rival, table: Table, seed: int = 0, epsilon: float = 2.0, delta: float = 1e-4) -> Generated:
    return rival(np.random.default_rng(seed), table, epsilon, delta)


def check_format(rival, kinds: tuple[int, ...]) -> None:
    """Rows are of the table's format."""
    rows = made(rival, mixed(records=60, kinds=kinds))
    assert rows.X.dtype == np.float64
    assert rows.y.dtype == np.int64
    again = Table(rows.X, np.arange(60) % 3, kinds, 3)  # checks codes and ranges
    assert len(again) == len(rows.y) == 60
    assert set(rows.y) <= {0, 1, 2}


def check_number_of_rows(rival) -> None:
    """There are as many as are asked for."""
    rows = made(dataclasses.replace(rival, rows=17), mixed())
    assert rows.X.shape == (17, 4)
    assert rows.y.shape == (17,)


def check_randomness(rival) -> None:
    """The generator that is given decides everything, and torch's own is left alone."""
    import torch

    table = mixed(1)
    before = torch.random.get_rng_state()
    one, same, other = (made(rival, table, seed) for seed in (3, 3, 4))
    assert np.array_equal(one.X, same.X)
    assert np.array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)
    assert torch.equal(torch.random.get_rng_state(), before)


def check_table_is_left_alone(rival) -> None:
    """What a rival is given stays as it is."""
    table = mixed(2)
    X, y = table.X.copy(), table.y.copy()
    made(rival, table)
    assert np.array_equal(table.X, X)
    assert np.array_equal(table.y, y)
