"""Noisy tables of every column and every two columns, and the model that explains them.

Start at `release.py`; `plan.py` says what is spent.
"""
