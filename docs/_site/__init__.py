"""Builds the documentation site: `make docs`, or `python -m docs._site`."""
