"""Gaussians in a subspace of a wide table, and images among them. Start at `model.py`."""
