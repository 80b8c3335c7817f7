"""Anonymize, approximate, adapt: a release whose three parts are chosen by name.

Start at `release.py`; `parts.py` lists the choices, `plan.py` says what is spent.
"""
