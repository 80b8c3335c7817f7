"""What a whole release by an embedding and by leaves tells of one record: never more than claimed, and hardly less."""

import pytest

import sfumato
from sfumato.auditing.transcript import mu_between
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Embedding
from tests.auditing.test_transcript import NEIGHBOURS, SCHEMA

LEAST = {Adjacency.ADD_REMOVE: 0.99, Adjacency.REPLACE: 0.75, Adjacency.LABEL: 0.99}
"""Of the claim: a replaced record is seldom opposite to the other on every frequency."""


@pytest.mark.parametrize("adapt", ["leaves", "gradients"])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_answers_spend_nearly_the_claim_and_never_more(adjacency, adapt):
    here, there = NEIGHBOURS[adjacency]
    release = sfumato.release(
        here,
        SCHEMA,
        epsilon=1.0,
        delta=1e-5,
        adjacency=adjacency,
        mechanism="3a",
        anonymize="kernel",
        adapt=adapt,
        ledger=None,
        types="declared",
    )
    assert any(isinstance(item.statistic, Embedding) for item in release.measurements)
    sources = [open_source(rows, SCHEMA, declared=True) for rows in (here, there)]
    ratio = mu_between(release.measurements, *sources) / release.statement.mu
    assert (LEAST[adjacency] if adapt == "leaves" else 0.6) <= ratio <= 1
