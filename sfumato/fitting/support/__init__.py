"""The records that rules between columns allow, as product boxes. Start at `support.py`."""
