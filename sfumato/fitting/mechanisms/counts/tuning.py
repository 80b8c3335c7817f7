"""The constants of all modules here, which a bundle stores."""

from sfumato.fitting.mechanisms.counts import (
    assembly,
    cutting,
    grids,
    looks,
    merging,
    one_way,
    pairs,
    plan,
    rates,
    ties,
    zoom,
)

COUNTS_TUNING = tuple(
    module.Tuning for module in (plan, grids, merging, assembly, one_way, pairs, rates, looks, cutting, zoom, ties)
)
