"""Where records come from that stand for the private ones: an earlier release, or a public sample."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.artefact.bundle import open_table
from sfumato.artefact.frames import decode
from sfumato.artefact.release import Release
from sfumato.errors import RequestError
from sfumato.planning.records import values_of
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source

_TESTED = 20_000  # records on which predictions are compared
_FEWEST = 20  # records of a sample


class Proxy(Protocol):
    """A public stand-in for the private table."""

    @property
    def name(self) -> str:
        """As the user knows it."""

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
        """Records to release, and others to test on."""

    def predict(self, records: pa.Table, others: pa.Table, schema: Schema) -> FloatArray | None:
        """The best that is known to be possible for the target of the others; None where that is not known."""


def open_proxy(like: Any, schema: Schema) -> Proxy:
    """A release, the path of a bundle, or a public table in any form that `release` takes."""
    if isinstance(like, str | Path) and Path(like).suffix == ".sfumato":
        return _of_release(open_table(like), str(like), schema)
    if isinstance(like, Release):
        return _of_release(like, like.schema.name, schema)
    return _of_sample(like, schema)


def _of_release(release: Release, name: str, schema: Schema) -> "ReleaseProxy":
    absent = [column for column in schema.by_name if column not in release.schema.by_name]
    if absent:
        raise RequestError(
            f"{name} has no column {', '.join(absent[:5])}; give a proxy with every column of the schema, or leave "
            "columns out of the schema"
        )
    return ReleaseProxy(release, name)


@dataclass(frozen=True)
class ReleaseProxy:
    """Synthetic records of a release; what it predicts is the best that can be said of them."""

    release: Release
    name: str

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
        """Fresh ones for both."""
        first, second = (int(seed) for seed in rng.integers(0, 2**31, 2))
        tested = min(_TESTED, max(1_000, rows))
        return (
            self.release.sample(rows, seed=first, output="arrow"),
            self.release.sample(tested, seed=second, output="arrow"),
        )

    def predict(self, records: pa.Table, others: pa.Table, schema: Schema) -> FloatArray | None:
        """The release's own prediction, where both have the same target."""
        del records
        if schema.target != self.release.schema.target or schema.target is None:
            return None
        same = schema[schema.target] == self.release.schema[schema.target]
        return self.release.predict_encoded(self.release.encode(others)) if same else None


def _of_sample(data: Any, schema: Schema) -> "SampleProxy":
    """Every record of a public table, as the schema reads it."""
    if not schema.is_complete:
        raise RequestError(
            "the schema leaves bounds or values to be found, and a sample is read by the schema; complete it, or give "
            "a bundle as the proxy"
        )
    plain, names = schema.model_copy(update={"constraints": ()}), tuple(schema.by_name)
    source = open_source(data, plain, declared=True)
    parts = list(source.batches(names))
    rows = sum(part.rows for part in parts)
    if rows < _FEWEST:
        raise RequestError(f"the sample holds {rows} records; {_FEWEST} or more are needed to draw from")
    codes = {name: np.concatenate([part.codes[name] for part in parts]) for name in names}
    table = decode(Batch(rows, codes), Encoder(plain).columns, np.random.default_rng(0), {})
    return SampleProxy(table, str(data) if isinstance(data, str | Path) else "the sample")


@dataclass(frozen=True)
class SampleProxy:
    """Records of a public sample, a quarter of it kept apart for tests; where it is too small, some are drawn again."""

    table: pa.Table
    name: str

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
        """See `Proxy`."""
        order = rng.permutation(self.table.num_rows)
        others, records = np.split(order, [len(order) // 4])
        chosen = rng.choice(records, rows, replace=rows > len(records))
        return self.table.take(chosen), self.table.take(others[:_TESTED])

    def predict(self, records: pa.Table, others: pa.Table, schema: Schema) -> FloatArray | None:
        """What LightGBM says that has learnt the records themselves; None where it is not installed."""
        try:
            import lightgbm
        except ImportError:
            return None
        known, asked = (values_of(table, schema) for table in (records, others))
        target = str(schema.target)
        features = [np.column_stack([values[name] for name in schema.features]) for values in (known, asked)]
        if schema[target].type not in ("category", "boolean"):
            there = ~np.isnan(known[target])
            model = lightgbm.LGBMRegressor(random_state=0, n_jobs=1, verbose=-1)
            return np.asarray(model.fit(features[0][there], known[target][there]).predict(features[1]))
        model = lightgbm.LGBMClassifier(random_state=0, n_jobs=1, verbose=-1).fit(features[0], known[target])
        found = np.zeros((len(features[1]), Encoder(schema).columns[target].size))
        found[:, model.classes_.astype(int)] = model.predict_proba(features[1])
        return found
