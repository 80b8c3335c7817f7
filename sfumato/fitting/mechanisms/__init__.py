"""The releases.

A mechanism is a function that asks the curator for measurements and reads top to bottom like its paper.
"""
