"""Records that a fit looks at: drawn as the first version drew them.

Questions of a release may follow from such records, and `verify` asks them again: of the same mixture and the same
random numbers they must be the same in every version. Samples are drawn faster, see `TableMixture.sample`.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch

if TYPE_CHECKING:
    from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture


def draw_pool(mixture: "TableMixture", rows: int, rng: np.random.Generator) -> Batch:
    """Records of a mixture, as codes; no labeller is asked."""
    ends = np.cumsum(mixture.weights) / mixture.weights.sum()
    component = np.searchsorted(ends, np.sort(_spread(rows, rng)), side="right").clip(
        max=np.searchsorted(ends, ends[-1])
    )
    bounds = np.searchsorted(component, np.arange(len(ends) + 1))
    order = rng.permutation(rows)
    free = {name: pieces for name, pieces in mixture.columns.items() if name not in mixture.ties}
    codes = {name: _draw(pieces, bounds, rng)[order] for name, pieces in free.items()}
    for child, tie in mixture.ties.items():
        place, _ = mixture.columns[tie.parent].place(codes[tie.parent])
        codes[child] = _draw_each(replace(mixture.columns[child], theta=tie.table), place, rng)
    return Batch(rows, {name: codes[name] for name in mixture.columns})


def _draw_each(pieces: "Pieces", row: IntArray, rng: np.random.Generator) -> NDArray[np.int32]:
    """A code for each record, by the row of theta that it names."""
    order = np.argsort(row, kind="stable")
    drawn = np.empty(len(row), dtype=np.int32)
    drawn[order] = _draw(pieces, np.searchsorted(row[order], np.arange(len(pieces.theta) + 1)), rng)
    return drawn


def _draw(pieces: "Pieces", bounds: IntArray, rng: np.random.Generator) -> NDArray[np.int32]:
    piece = np.empty(bounds[-1], dtype=np.int64)
    for k, theta in enumerate(pieces.theta):
        up_to = np.cumsum(theta)
        draws = _spread(bounds[k + 1] - bounds[k], rng) * up_to[-1]
        piece[bounds[k] : bounds[k + 1]] = np.searchsorted(up_to, draws, side="right").clip(
            max=np.searchsorted(up_to, up_to[-1])
        )
    return pieces.draw_one_by_one(piece, rng, keep=False)  # a wide table's sums are hundreds of megabytes


def _spread(count: int, rng: np.random.Generator) -> FloatArray:
    """Uniform numbers in random order, one in each of `count` equal parts of [0, 1): sums over them hardly vary."""
    return (rng.permutation(count) + rng.random(count)) / max(count, 1)
