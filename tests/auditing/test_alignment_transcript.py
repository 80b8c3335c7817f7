"""What a whole release of pictures tells of one of them: never more than claimed, however it is drawn."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.transcript import mu_between
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.sources import open_source
from tests.mechanisms.test_alignment import LABELS, NAMES, SIDE, pictures, released, schema

pytestmark = pytest.mark.slow

SCHEMA, BUDGET = schema(), Budget(1.0, 1e-5)
X, KIND = pictures(800)
Y, U = np.mgrid[0:SIDE, 0:SIDE]
HOSTILE = {
    "full": np.full((SIDE, SIDE), 255),
    "blank": np.zeros((SIDE, SIDE)),
    "board": 255 * ((Y + U) % 2),
    "dot in a corner": 255 * ((Y == 0) & (U == 0)),
    "slanted line": 255 * (Y == U),
    "rim": 255 * ((Y % (SIDE - 1) == 0) | (U % (SIDE - 1) == 0)),
    "half": 255 * (U < SIDE // 2),
}


def source(*more: tuple[str, int]):
    x = np.vstack([X, *(HOSTILE[name].reshape(1, -1) for name, _ in more)])
    kind = np.append(KIND, [label for _, label in more]).astype(int)
    columns = {name: x[:, j].astype(np.int64) for j, name in enumerate(NAMES)}
    return open_source(pa.table({**columns, "kind": np.array(LABELS)[kind]}), SCHEMA, declared=True)


def release_under(adjacency: Adjacency):
    x = {name: X[:, j].astype(np.int64) for j, name in enumerate(NAMES)}
    return released(pa.table({**x, "kind": np.array(LABELS)[KIND]}), adjacency=adjacency)


@pytest.fixture(scope="module")
def answered():
    return {adjacency: release_under(adjacency).measurements for adjacency in Adjacency}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_picture_that_comes_or_goes_costs_more_than_claimed(answered, name):
    ratio = mu_between(answered[Adjacency.ADD_REMOVE], source(), source((name, 0))) / BUDGET.mu
    assert ratio <= 1
    if name in ("full", "board"):
        assert ratio > 0.8


@pytest.mark.parametrize("name", HOSTILE)
def test_no_picture_in_place_of_another_costs_more_than_claimed(answered, name):
    for other, label in (("full", 1), ("board", 0), ("blank", 1)):
        ratio = mu_between(answered[Adjacency.REPLACE], source((other, label)), source((name, 0))) / BUDGET.mu
        assert ratio <= 1


@pytest.mark.parametrize("name", HOSTILE)
def test_no_other_label_of_a_picture_costs_more_than_claimed(answered, name):
    ratio = mu_between(answered[Adjacency.LABEL], source((name, 0)), source((name, 1))) / BUDGET.mu
    assert ratio <= 1


def test_a_release_that_forgets_to_pull_back_is_caught(answered, monkeypatch):
    monkeypatch.setattr(
        "sfumato.trusted.statistics.scatter.clip_to_ball", lambda z, radius, unit: np.trunc(z * unit / radius)
    )
    assert mu_between(answered[Adjacency.ADD_REMOVE], source(), source(("board", 0))) > 1.2 * BUDGET.mu
