"""One script for each figure or table; its results lie beside it."""
