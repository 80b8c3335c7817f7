"""A Gaussian for every class, with the least KL divergence that a proven budget allows.

Start at `release.py`; `plan.py` says what is spent.
"""
