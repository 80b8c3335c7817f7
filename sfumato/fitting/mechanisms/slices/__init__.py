"""Noisy histograms along columns, pairs and directions, for generators to train on.

Start at `release.py`; `plan.py` says what is spent.
"""
