"""The constants of all modules here, which a bundle stores."""

from sfumato.fitting.mechanisms.counts import assembly, grids, merging, one_way, pairs, plan, zoom

COUNTS_TUNING = (plan.Tuning, grids.Tuning, merging.Tuning, assembly.Tuning, one_way.Tuning, pairs.Tuning, zoom.Tuning)
