"""Mechanisms of papers exactly as printed, for study only. Their privacy claims do not hold.

Nothing here guards anybody: use it to repeat the papers' figures and to see their faults. The rest of the library
never imports this package.
"""
