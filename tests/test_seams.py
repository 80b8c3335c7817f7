"""A new statistic, a new mechanism and a new kind of model, added from outside: one class and one registration each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, assert_never

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.artefact.verify import verify
from sfumato.errors import BundleError, RequestError
from sfumato.fitting.mechanisms import mechanism
from sfumato.fitting.mechanisms.mechanism import Mechanism, register_mechanism
from sfumato.fitting.models import model
from sfumato.fitting.models.model import Model, register_model
from sfumato.fitting.replay import Replay
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Block, statistic

SCHEMA = Schema.from_yaml("{sfumato: 1, name: toy, columns: [{name: wet, type: boolean}]}")


@dataclass(frozen=True)
class CountCodes:
    """How many records have each code of one column.

    Formal guarantees: a record adds 1 to one count. add-remove moves one count by 1; replace and label move two.
    """

    column: str
    codes: int

    title = "a toy count"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block(self.codes, 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return 1.0
            case Adjacency.REPLACE | Adjacency.LABEL:
                return 2**0.5
            case _:
                assert_never(adjacency)

    def __call__(self, batch):
        return np.bincount(batch.codes[self.column], minlength=self.codes).astype(np.int64)

    def follows(self, schema: Schema) -> bool:
        return self.column in schema.by_name and self.codes == Encoder(schema).columns[self.column].size

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "toy count", "column": self.column, "codes": self.codes}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "CountCodes":
        return cls(content["column"], content["codes"])


@dataclass(frozen=True, eq=False)
class ToyModel(Model):
    """Independent draws of one column."""

    column: str
    shares: np.ndarray
    size: float

    kind: ClassVar = "toy"
    settings: ClassVar = {}

    def sample(self, rows, rng):
        return Batch(rows, {self.column: rng.choice(len(self.shares), rows, p=self.shares).astype(np.int32)})

    def log_density(self, batch, columns):
        return np.log(self.shares)[batch.codes[self.column]]

    def predict(self, batch, target, codes):
        return np.tile(self.shares, (batch.rows, 1))

    def condition(self, given):
        assert not given
        return self

    def describe(self, column, codes, given=(), measured=()):
        value = codes.decode(np.arange(codes.size, dtype=np.int32), np.zeros(codes.size))
        return pa.table({"value": value, "probability": self.shares, "low": self.shares, "high": self.shares})

    def estimate_mean(self, column, codes, given, measured):
        return (float(self.shares @ np.arange(len(self.shares))),) * 3

    def cdf(self, column, numbers, codes):
        raise NotImplementedError

    def quantile(self, column, shares, codes):
        raise NotImplementedError

    def dependence(self, first, second):
        return 0.0

    def distance(self, other):
        return float(np.abs(self.shares - other.shares).sum()) / 2

    def to_parts(self):
        return {"kind": self.kind, "column": self.column, "size": self.size}, pa.table({"share": self.shares})

    @classmethod
    def from_parts(cls, content, table, columns):
        if set(content) != {"kind", "column", "size"} or table.num_rows != columns[content["column"]].size:
            raise ValueError("not a toy")
        return cls(content["column"], table.column("share").to_numpy(), content["size"])


@dataclass(frozen=True)
class ToyPlan:
    column: str
    codes: int
    mu: float

    def to_dict(self) -> dict[str, Any]:
        return {"mu": self.mu}


class ToyMechanism(Mechanism):
    """Spend everything on the counts of the first column."""

    name = "toy"

    def build_plan(self, schema, budget, adjacency, settings):
        return self.read_plan({"mu": budget.mu}, schema, adjacency)

    def read_plan(self, content, schema, adjacency):
        column = next(iter(schema.by_name))
        return ToyPlan(column, Encoder(schema).columns[column].size, content["mu"])

    def release(self, curator, plan, progress, device="cpu"):
        progress("counting")
        counts = np.maximum(curator.measure(CountCodes(plan.column, plan.codes), plan.mu).values, 1.0)
        return ToyModel(plan.column, counts / counts.sum(), float(counts.sum()))

    def refit(self, measurements, plan, settings, features=None):
        return self.release(Replay(measurements), plan, lambda _: None)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(statistic, "_KINDS", dict(statistic._KINDS))
    monkeypatch.setattr(mechanism, "_REGISTERED", dict(mechanism._REGISTERED))
    statistic.register("toy count", CountCodes.from_dict)
    monkeypatch.setattr(model, "_REGISTERED", dict(model._REGISTERED))
    register_mechanism(ToyMechanism())
    register_model(ToyModel)


@pytest.mark.usefixtures("toy")
def test_a_new_mechanism_statistic_and_model_need_nothing_else(tmp_path):
    table = pa.table({"wet": [True] * 700 + [False] * 300})
    release = sfumato.release(table, SCHEMA, epsilon=1.0, mechanism="toy", ledger=None)
    release.save(tmp_path / "toy.sfumato")
    opened = sfumato.open(tmp_path / "toy.sfumato")
    assert all(check.holds for check in verify(opened))
    assert opened.statement.items[0].what == "a toy count"
    assert 0.6 < np.mean(opened.sample(2_000, seed=1).column("wet").to_numpy(zero_copy_only=False)) < 0.8
    with pytest.raises(RequestError, match="a release by toy has none"):
        opened.retrain()
    assert opened.marginal("wet").num_rows == 2
    assert 0.6 < opened.mean("wet").mean < 0.8
    with pytest.raises(RequestError, match="no parameters"):
        opened.parameters()


def test_without_their_registration_they_are_refused(tmp_path):
    with pytest.raises(RequestError, match="use one of auto, tables, mixture, subspace, slices"):
        sfumato.release(pa.table({"wet": [True]}), SCHEMA, epsilon=1.0, mechanism="toy", ledger=None)
    with pytest.raises(BundleError, match="not known"):
        statistic.statistic_from_dict({"kind": "toy count", "column": "wet", "codes": 2})
    with pytest.raises(ValueError, match="not known"):
        model.read_model({"kind": "toy"}, pa.table({}), {})
