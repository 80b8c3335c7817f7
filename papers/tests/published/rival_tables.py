"""Small tables for the rivals."""

import numpy as np
from sfumato_papers.baselines import Table

KINDS = (0, 3, 0, 2)


def easy(seed: int = 0, records: int = 400, rare: float = 0.5) -> Table:
    """The label shows in the first number and in the last category; the rest is noise. `rare` is the share of 1."""
    rng = np.random.default_rng(seed)
    y = (rng.random(records) < rare).astype(np.int64)
    y[:2] = 0, 1
    clear = np.clip(0.25 + 0.5 * y + rng.normal(0, 0.08, records), 0, 1)
    same = np.where(rng.random(records) < 0.9, y, 1 - y)
    return Table(np.column_stack((clear, rng.integers(3, size=records), rng.random(records), same)), y, KINDS, 2)


def mixed(seed: int = 0, records: int = 60, kinds: tuple[int, ...] = KINDS, classes: int = 3) -> Table:
    """Columns of these kinds without any sense."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(kind, size=records) if kind else rng.random(records) for kind in kinds]
    return Table(np.column_stack(columns).astype(float), np.arange(records) % classes, kinds, classes)
