"""One or a few Gaussians for every class. Start at `model.py`."""
