"""Numbers by which records are chosen or put in order: keyed hashes of what a record holds.

Formal guarantees
    A record's numbers depend on the key, on whose record it is and on its own codes and ids alone. Whoever does not
    know the key makes two records collide in all three numbers with a chance below 2^-90: in one number, codes of c
    bits collide with a chance of 2^(c-63) at most.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.trusted.arrays import IntArray, WordArray

NUMBERS = ("first", "second", "third")
BINS = 64

Factors = Mapping[str, np.uint64]


def derive_key(key: bytes, purpose: str) -> bytes:
    """A key for one purpose."""
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=32).digest()


def draw_factors(key: bytes, names: Sequence[str]) -> list[Factors]:
    """A random odd factor for each name, in each of the numbers."""
    drawn = np.frombuffer(hashlib.shake_256(key).digest(8 * len(NUMBERS) * len(names)), dtype="<u8")
    rows = drawn.reshape(len(NUMBERS), -1) | np.uint64(1)
    return [dict(zip(names, row, strict=True)) for row in rows]


def draw_words(key: bytes) -> list[np.uint64]:
    """A random odd factor for each of the numbers."""
    return [factors[""] for factors in draw_factors(key, ("",))]


def hash_ids(key: bytes, ids: pa.LargeBinaryArray) -> WordArray:
    """The words of each id (ids x numbers), each id looked at once; zeros where there is none."""
    found = ids.dictionary_encode()
    digests = [
        hashlib.blake2b(one, key=key, digest_size=8 * len(NUMBERS)).digest() for one in found.dictionary.to_pylist()
    ]
    table = np.frombuffer(b"".join((*digests, bytes(8 * len(NUMBERS)))), dtype="<u8").reshape(-1, len(NUMBERS))
    index = pc.fill_null(pc.cast(found.indices, pa.int64()), len(table) - 1)
    words: WordArray = table[index.to_numpy(zero_copy_only=False)]
    return words


def bin_of(words: WordArray) -> NDArray[np.uint8]:
    """The bin of each id by its words."""
    return (words[:, 0] // np.uint64(2**64 // BINS)).astype(np.uint8)


def keyed_number(begin: WordArray, factors: Factors, codes: Mapping[str, NDArray[Any]]) -> IntArray:
    """A number of each record: a random multilinear function of its codes, with its bits mixed."""
    total = begin.copy()
    for name, factor in factors.items():
        total += factor * codes[name].astype(np.uint64)
    return mix(total).view(np.int64)


def mix(words: WordArray) -> WordArray:
    """A bijection that spreads every bit: the last steps of SplitMix64 (Steele, Lea and Flood 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def count_equals(numbers: Sequence[IntArray]) -> IntArray:
    """Of each record how many with the same numbers come before it."""
    order = np.lexsort(list(numbers))
    changes = np.zeros(len(order), dtype=bool)
    changes[:1] = True
    for one in numbers:
        changes[1:] |= np.diff(one[order]) != 0
    starts = np.flatnonzero(changes)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return ranks


def choose_lowest(group: NDArray[np.integer[Any]], numbers: Sequence[IntArray], most: int) -> IntArray:
    """The places of the records that are kept: of each group the `most` smallest by their numbers, in order."""
    crowded = np.bincount(group, minlength=1) > most
    doubtful = np.flatnonzero(crowded[group])
    last_first = [column[doubtful] for column in (*reversed(numbers), group)]
    order = doubtful[np.lexsort(last_first)]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return np.sort(np.concatenate((np.flatnonzero(~crowded[group]), order[rank < most])))
