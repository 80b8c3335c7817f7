"""Comparison of a family's release with private tables: numbers of rows, rows above, rows before, persons, learners."""
