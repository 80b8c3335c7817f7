"""The columns of the census table that are this library's own: rows of a proven release."""

import sfumato
from experiments.slicing.methods import DELTA, EPSILON
from experiments.slicing.metrics import Coded
from experiments.slicing.tasks import coded_rows, task
from experiments.tables import split


def released_rows(name: str, mechanism: str, seed: int, most: int | None = None) -> Coded:
    """As many as there were. The seed is for the study: a real release has none."""
    one = task(name)
    train = split(one, seed)[0][:most]
    release = sfumato.release(
        train,
        one.schema,
        epsilon=EPSILON,
        delta=DELTA,
        mechanism=mechanism,
        adjacency="replace",
        ledger=None,
        seed=seed,
        types="declared",
    )
    return coded_rows(release.sample(len(train), seed=seed, output="arrow"), one.schema)
