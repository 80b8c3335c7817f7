"""Mechanisms of papers as printed, and the baselines that they name. For study only: nothing here is private.

    liu, clustmix   the claims of their papers do not hold: each lists the faults
    slicing         the noise follows from the exact profile in `accounting`; nothing else of a proven release is there
    baselines       what their papers claim; where the printed words lead nowhere, it says what it does instead
    accounting      privacy of random slices: exact profiles, Renyi bounds, shuffling

Use it to repeat the papers' figures and to see their faults. The library `sfumato` never imports it.
"""
