"""The constants of all modules here, which a bundle stores."""

from sfumato.fitting.mechanisms.counts import grids, merging, one_way, pairs, plan

COUNTS_TUNING = (plan.Tuning, grids.Tuning, merging.Tuning, one_way.Tuning, pairs.Tuning)
