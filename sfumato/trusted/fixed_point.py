"""The limits within which integer and floating-point arithmetic is exact. Proofs of sensitivity rest on them.

Statistics are sums of integers. Where a record's vector is computed in float64, it is made a hair shorter than its
bound before it is cut to integers, so that no rounding pushes it over.
"""

EXACT = 2.0**53
"""Integers below are float64 numbers, and so are their sums and products while they stay below."""

A_HAIR_LESS = 1 - 2.0**-40
"""A factor that outweighs every rounding of a float64 computation of a few thousand operations."""

RECORD_NORM = 2**22
"""The length of the longest vector that one record may add to a statistic of bounded maps."""

LARGEST_SIGMA = 2.0**40
"""Noise beyond would need more bits for most draws; a coarser lattice is the cure."""
