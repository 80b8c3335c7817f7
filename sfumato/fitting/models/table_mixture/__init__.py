"""A mixture of products over the cells of every column. Start at `model.py`."""
