"""The releases.

A mechanism is a function that asks for measurements at the door and reads top to bottom like its paper.
"""
