"""Whether a statistic is the sum over its records, whatever their order and however they are parted."""

from collections.abc import Sequence

import numpy as np

from sfumato.trusted.encoding import Batch
from sfumato.trusted.statistics import Statistic


def taken(batch: Batch, records: Sequence[int]) -> Batch:
    where = np.asarray(records, dtype=np.int64)
    return Batch(len(where), {name: codes[where] for name, codes in batch.codes.items()})


def same_for_any_split(statistic: Statistic, batch: Batch, cuts: Sequence[int], order: Sequence[int]) -> bool:
    """Whether the sums over the parts of the reordered records add up to the sum over all, to the last bit."""
    parts = np.split(np.asarray(order, dtype=np.int64), sorted(min(cut, batch.rows) for cut in cuts))
    return np.array_equal(sum(statistic(taken(batch, part)) for part in parts), statistic(batch))
