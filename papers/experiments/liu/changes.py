"""The two tables on which the paper's claims are tested, and changes of one label in them."""

from typing import NamedTuple

import numpy as np
from sfumato_papers.liu import Reading
from sfumato_papers.liu.release import Prepared, prepared

from experiments.liu.data import iris, standardised, synthetic
from experiments.mixture_data import DELTA, Records
from sfumato.trusted.arrays import IntArray

SYNTHETIC_SEED = 7
OTHER_SEEDS = range(100, 125)
CHANGES_SEED = 99
READINGS: tuple[Reading, ...] = ("leave", "both")


class Change(NamedTuple):
    """One record gets another label."""

    record: int
    label: int


def tables() -> dict[str, Records]:
    """The paper's synthetic classes, and Iris as the paper takes it: every column of mean 0 and variance 1."""
    return {"synthetic": synthetic(SYNTHETIC_SEED), "Iris": standardised(iris())}


def other_tables(quick: bool) -> list[Records]:
    """More synthetic ones, for what differs much between tables; few where it is to be quick."""
    return [synthetic(seed) for seed in (OTHER_SEEDS[:2] if quick else OTHER_SEEDS)]


def some_changes(records: Records, count: int) -> list[Change]:
    """Different changes, each as likely as any."""
    rng = np.random.default_rng(CHANGES_SEED)
    every = all_changes(records)
    return [every[place] for place in rng.choice(len(every), size=min(count, len(every)), replace=False)]


def all_changes(records: Records) -> list[Change]:
    """All N (K - 1)."""
    return [Change(n, k) for n, own in enumerate(records.label) for k in range(records.classes) if k != own]


def relabelled(records: Records, change: Change) -> Records:
    label: IntArray = records.label.copy()
    label[change.record] = change.label
    return records._replace(label=label)


def algorithm(records: Records, epsilon: float, reading: Reading) -> Prepared:
    """Algorithm 1 up to the noise."""
    return prepared(records.numbers, records.label, records.classes, epsilon, DELTA, reading)
