"""Drafts of schemas, from headers and code books: nothing of any row."""
