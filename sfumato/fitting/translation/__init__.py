"""Public rows moved until they have the released histograms of a private table: domain adaptation, at no cost.

Start at `translate.py`.
"""
