"""The census table, the domain adaptation and the toys of the slicing paper, beside this library."""
