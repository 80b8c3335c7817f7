"""Codes drawn from pieces in which they are not alike, where many are drawn.

A piece is cut into *lots* of codes that weigh the same. A table of even slots of each piece tells the lot of most
draws, and what is left of the uniform number the code in it; only where a slot holds an end of a lot is it looked for.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding.kinds import kinds_of

if TYPE_CHECKING:
    from sfumato.fitting.models.table_mixture.model import Pieces

_SLOTS = 256  # of each piece
_CODE_BITS = 32
_MOST_PIECES, _MOST_KEYS = 1 << 12, 1 << 31  # for which there is a table, of a few megabytes
_KEPT = 128


@dataclass(frozen=True, eq=False)
class AlikeCodes:
    """Lot l holds codes[firsts[l]] and the next, sizes[l] of them.

    up_to    the number of its piece, and how much of the piece lies below each lot
    last     the last lot of each piece
    of_slot  the lot of each slot of each piece; -1 where there are several
    """

    codes: NDArray[np.int32]
    firsts: IntArray
    sizes: FloatArray
    up_to: FloatArray
    last: IntArray
    of_slot: IntArray

    @staticmethod
    def serves(pieces: "Pieces") -> bool:
        """Whether pieces that have weights are few enough for a table, as all are that were measured."""
        count = len(pieces.starts)
        return pieces.weights is not None and count <= _MOST_PIECES and count * pieces.weights.rates.size < _MOST_KEYS

    @classmethod
    def of(cls, pieces: "Pieces") -> "AlikeCodes":
        """The lots of pieces that have weights."""
        return _alike_codes_of(pieces)

    def draw(self, piece: IntArray, rng: np.random.Generator) -> NDArray[np.int32]:
        """A code of each of these pieces."""
        uniform = rng.random(len(piece))
        inside = uniform * _SLOTS
        slot = inside.astype(np.int64)
        inside -= slot
        slot += piece * _SLOTS
        lot = self.of_slot.take(slot)
        unclear = np.flatnonzero(lot < 0)
        own = piece[unclear]
        found = np.searchsorted(self.up_to, own + uniform[unclear], side="right") - 1
        lot[unclear] = np.minimum(found, self.last[own])
        inside[unclear] = rng.random(len(unclear))
        inside *= self.sizes.take(lot)
        place = inside.astype(np.int64)
        place += self.firsts.take(lot)
        return self.codes.take(place)


@lru_cache(maxsize=_KEPT)
def _alike_codes_of(pieces: "Pieces") -> AlikeCodes:
    """See `AlikeCodes.of`. 4 MB for a long column, so that only some are kept."""
    weights, lengths = pieces.weights, pieces.stops - pieces.starts
    if weights is None:
        raise ValueError("codes without weights are all alike")
    before = np.cumsum(lengths) - lengths
    codes = np.arange(lengths.sum()) + np.repeat(pieces.starts - before, lengths)
    region = np.searchsorted(weights.starts, codes, side="right") - 1
    alike = region * weights.rates.shape[1] + kinds_of(weights.codes).of_code[codes]
    keys = np.repeat(np.arange(len(lengths)), lengths) * weights.rates.size + alike
    keys = np.sort((keys << _CODE_BITS) | codes)
    codes, keys = (keys & ((1 << _CODE_BITS) - 1)).astype(np.int32), keys >> _CODE_BITS
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    sizes = np.diff(firsts, append=len(keys)).astype(np.float64)
    piece, kind = np.divmod(keys[firsts], weights.rates.size)
    up_to = _up_to(sizes * weights.rates.ravel()[kind], piece)
    slots = np.arange(len(lengths) * _SLOTS) / _SLOTS
    first, last = (
        np.searchsorted(up_to, slots, side="right") - 1,
        np.searchsorted(up_to, slots + 1 / _SLOTS, side="left") - 1,
    )
    return AlikeCodes(codes, firsts, sizes, up_to, last[_SLOTS - 1 :: _SLOTS], np.where(first == last, first, -1))


def _up_to(weight: FloatArray, piece: IntArray) -> FloatArray:
    """The number of each lot's piece, and the share of the piece below the lot."""
    begins = np.flatnonzero(np.diff(piece, prepend=-1))
    counts = np.diff(begins, append=len(piece))
    scaled = weight / np.repeat(np.add.reduceat(weight, begins), counts)  # first: pieces may weigh very differently
    below = np.cumsum(scaled) - scaled
    up_to: FloatArray = piece + np.clip(below - np.repeat(below[begins], counts), 0.0, 1.0)
    return up_to
