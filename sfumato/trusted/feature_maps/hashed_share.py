"""A share of the records, chosen by a keyed hash of what each of them holds."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.scratch import scratch_array
from sfumato.trusted.feature_maps.grid import Grid

KEY_BYTES = 16
WHOLE = 1 << 32


@dataclass(frozen=True, eq=False)
class HashedShare:
    """The records whose hash lies below `limit`: about `limit` of 2**32 of those that differ in a cell.

    The hash is the exclusive or of one random word for the cell of each column (tabulation), drawn from the public
    `key`. It makes any three records that differ in a cell independent of each other; records of the same cells are in
    together or out together.

    Formal guarantees
        Whether a record is in is a function of the public key and of that record's codes in the columns of `grids`
        alone. Nothing else is claimed: who is out is not hidden, and the share makes no promise larger.
    Edge cases
        Every value has a code and every code a cell, so that each record is in or out.
    """

    key: bytes
    limit: int
    grids: Mapping[str, Grid]

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES or type(self.limit) is not int or not 0 < self.limit < WHOLE or not self.grids:
            raise ValueError(f"a share needs a key of {KEY_BYTES} bytes, a limit from 1 to 2**32 - 1, and columns")

    @property
    def share(self) -> float:
        """How much of the records it is, in the mean over keys."""
        return self.limit / WHOLE

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are looked at."""
        return tuple(self.grids)

    def places(self, batch: Batch) -> IntArray:
        """Where the records of the batch stand that are in the share."""
        hashes, words = np.zeros(batch.rows, dtype=np.uint32), scratch_array(batch.rows, np.uint32)
        for name, grid in self.grids.items():
            self._words[name].take(grid.cells_of(batch.codes[name]), out=words, mode="clip")
            hashes ^= words
        return np.flatnonzero(hashes < self.limit)

    def choose(self, batch: Batch, names: tuple[str, ...]) -> Batch:
        """The records of the batch that are in the share, in order, with the named columns."""
        places = self.places(batch)
        return Batch(len(places), {name: batch.codes[name].take(places) for name in names}, batch.weight)

    @cached_property
    def _words(self) -> dict[str, NDArray[np.uint32]]:
        return {name: _draw_words(self.key, name, grid.size) for name, grid in self.grids.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        grids = {name: grid.to_dict() for name, grid in self.grids.items()}
        return {"key": self.key.hex(), "limit": self.limit, "grids": grids}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "HashedShare":
        """The share that `to_dict` wrote."""
        grids = {name: Grid.from_dict(grid) for name, grid in content["grids"].items()}
        return cls(bytes.fromhex(content["key"]), content["limit"], grids)


def _draw_words(key: bytes, name: str, count: int) -> NDArray[np.uint32]:
    drawn = hashlib.shake_256(key + name.encode("utf-8", "surrogatepass")).digest(4 * count)
    return np.frombuffer(drawn, dtype="<u4").astype(np.uint32)
