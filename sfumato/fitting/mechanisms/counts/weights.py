"""The weight of every code inside the cells of a long column, from what was told of the kinds of its values."""

import itertools

import numpy as np

from sfumato.fitting.mechanisms.counts.rates import add_silent, possible_kinds, rates_of
from sfumato.fitting.mechanisms.counts.zoom import Shape
from sfumato.fitting.models.table_mixture.code_weights import CodeWeights
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding.kinds import kinds_of


def pooled_weights(shape: Shape) -> CodeWeights:
    """The weights by kind alone."""
    there = _codes_of_kinds(shape).sum(axis=0)
    return CodeWeights(shape.codes, np.zeros(1, dtype=np.int64), add_silent(shape.rates[None], there))


def weights_of(shape: Shape, counts: FloatArray, sigma: float) -> CodeWeights:
    """The weights by region and kind, from noisy counts (regions x kinds x classes).

    In each region a kind is as frequent as in the whole column, unless noise and sampling do not explain the count.
    """
    seen, noise = counts.sum(axis=2), sigma * float(np.sqrt(counts.shape[2]))
    there, possible = _codes_of_kinds(shape), possible_kinds(kinds_of(shape.codes), shape.unit)
    rates = np.array(
        [
            shape.rates * rates_of(region[: len(possible)], noise, shape.rates * codes, possible)
            for region, codes in zip(seen[:-1], there[:-1], strict=True)
        ]
    )
    starts, places = _region_starts(shape)
    return CodeWeights(shape.codes, starts, add_silent(rates, there.sum(axis=0))[places])


def _codes_of_kinds(shape: Shape) -> FloatArray:
    """How many codes of each kind but the silent one every region has (regions x kinds)."""
    kinds, regions = kinds_of(shape.codes), shape.regions
    counted = np.zeros((regions.size, kinds.size))
    runs = itertools.pairwise((*regions.starts, regions.codes))
    for cell, (start, stop) in zip(regions.cells, runs, strict=True):
        counted[cell] += np.bincount(kinds.of_code[start:stop], minlength=kinds.size)
    return counted[:, :-1]


def _region_starts(shape: Shape) -> tuple[IntArray, IntArray]:
    """Where each region begins, and its number; what is apart belongs to the region around it."""
    starts, cells = np.array(shape.regions.starts), np.array(shape.regions.cells)
    inside = cells < shape.regions.size - 1
    starts, cells = starts[inside], cells[inside]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    begin = starts[first]
    begin[:1] = 0
    return begin, cells[first]
