"""Drawings as SVG, made from public values: marks, axes, and the distribution of a column."""
