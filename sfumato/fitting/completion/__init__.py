"""Bounds and lists of values that the custodian does not know, bought with a part of the budget.

Post-processing of what the curator answers: from noisy counts to the schema that the rest of a release goes by.
"""
