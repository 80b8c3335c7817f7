"""Mechanisms of papers as printed, and the rivals that they name, for study only.

    liu, madl   the claims of their papers do not hold: each lists the faults
    slicing     the noise is that of our exact profile; nothing else of a proven release is there
    rivals      what their papers claim; where the printed words led to nothing, a rival says what it does instead

Nothing here guards anybody: use it to repeat the papers' figures and to see their faults. The rest of the library
never imports this package.
"""
