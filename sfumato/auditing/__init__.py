"""Empirical lower bounds on the privacy that was spent."""
