"""Everything that the privacy claim rests on, and nothing else. `make trusted` lists its files and lines."""
