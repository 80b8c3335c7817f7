"""Of how many records the questions about the target are asked: all, or a share where there are very many.

    records needed = max(`enough`, `per_square` / mu^2)
    share          = records needed x (1 / N + C)

With `enough` records chance moves an answer by so little that more of them would not show in what is predicted; with
`per_square` / mu^2 it moves it as far as the noise does. N is the noisy number of records. C is the chance that two
records are alike in every cell that the hash looks at: these are in the share together or out together, so that a share
tells as much as 1 / (1 + N C) of its records would. It is counted in records of the released model. Nothing here is
private.
"""

import secrets
from collections.abc import Callable

import numpy as np

from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.hashed_share import KEY_BYTES, WHOLE, HashedShare
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.statistics import Sampled, Statistic

Ask = Callable[[Statistic, float], Measurement]


class Tuning(TuningConstants, group="tables.sampling"):
    """See `sfumato.fitting.tuning`."""

    enough = 2**19  # records
    per_square = 1_000.0  # records for each 1 / mu^2: four for each coefficient, of which there are 250 at most
    most = 0.5  # a larger share costs about as much as all


def count_needed(mu: float) -> float:
    """Records from which on neither chance nor noise can be made much less by asking more of them."""
    return max(Tuning.enough, Tuning.per_square / mu**2)


def likeness(share: HashedShare, pool: Batch) -> float:
    """The chance that two records are alike where the hash looks, by the released model: its own are counted.

    One pair more than was found, so that it is never 0.
    """
    cells = np.stack([grid.cells_of(pool.codes[name]) for name, grid in share.grids.items()])
    _, alike = np.unique(cells, axis=1, return_counts=True)
    pairs = float((alike * (alike - 1) / 2).sum())
    return (pairs + 1) / (pool.rows * (pool.rows - 1) / 2)


def share_of(one_way: OneWays, pool: Batch, mu: float) -> HashedShare | None:
    """The share that is asked, with a fresh key; None: all records.

    one_way   released; tells how many records there are
    pool      records of the released model
    mu        the least of the questions'
    """
    wanted = count_needed(mu)
    if not one_way.columns or one_way.size * Tuning.most <= wanted:
        return None
    grids = {name: column.grid for name, column in one_way.columns.items()}
    share = HashedShare(secrets.token_bytes(KEY_BYTES), 1, grids)
    part = wanted * (1 / one_way.size + likeness(share, pool))
    if part >= Tuning.most:
        return None
    return HashedShare(share.key, int(part * WHOLE), grids)


def asking(curator: CuratorLike, share: HashedShare | None) -> Ask:
    """How to ask these records."""
    return lambda asked, mu: curator.measure(asked if share is None else Sampled(asked, share), mu)


def asked_of(answer: Measurement) -> tuple[Statistic, float]:
    """What was asked, and of which share of the records."""
    asked = answer.statistic
    return (asked.statistic, asked.of.share) if isinstance(asked, Sampled) else (asked, 1.0)
