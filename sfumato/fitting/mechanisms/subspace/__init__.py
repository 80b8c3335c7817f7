"""A Gaussian for each class in the few directions of a wide table that stand above the noise.

Start at `release.py`; `plan.py` says what is spent.
"""
