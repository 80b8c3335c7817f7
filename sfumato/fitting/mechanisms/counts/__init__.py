"""Noisy counts of every column and every two columns: what `tables` and `slices` both begin with."""
