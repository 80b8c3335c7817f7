"""The pages, step by step: choose, describe, check, plan, release, look."""
