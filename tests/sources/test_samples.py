"""The records of a share are read once where they fit into memory, and the sum is the same where they do not."""

import threading

import numpy as np
import pyarrow.parquet
import pytest

from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.feature_maps.hashed_share import HashedShare
from sfumato.trusted.sources import batches, open_source, samples
from sfumato.trusted.statistics import Cells, Sampled
from tests.conftest import in_pandas, make_table


@pytest.fixture
def grids(schema):
    return {name: fine_grid(codes) for name, codes in Encoder(schema).columns.items()}


@pytest.fixture
def share(schema, grids):
    return HashedShare(bytes(16), 1 << 31, {name: grids[name] for name in schema.features})


def cells(grids, name):
    return Cells(((name, "ill"),), grids, "ill")


@pytest.fixture
def path(tmp_path):
    pyarrow.parquet.write_table(make_table(400), tmp_path / "one.parquet", row_group_size=37)
    return tmp_path / "one.parquet"


@pytest.fixture
def reads(monkeypatch):
    """How often a stored table was opened to be read."""
    opened = []
    real = batches.StreamSource._encoded
    monkeypatch.setattr(
        batches.StreamSource, "_encoded", lambda self, names: (opened.append(names), real(self, names))[1]
    )
    return opened


def by_record(table, schema, share, statistic):
    """The slow version: every record by itself."""
    batch = Encoder(schema).encode(table.to_batches()[0])
    ones = list(batch.parts(1, schema.by_name))
    return sum(statistic(one) for one in ones if len(share.places(one)))


def test_a_share_is_read_once_for_all_questions_about_it(path, schema, grids, share, reads):
    source = open_source(path, schema, declared=True)
    for name in ("age", "job", "age"):
        asked = Sampled(cells(grids, name), share)
        assert np.array_equal(source.sum(asked), by_record(make_table(400), schema, share, asked.statistic))
    assert len(reads) == 1
    source.sum(cells(grids, "age"))
    assert len(reads) == 2


def test_another_share_or_another_column_is_read_anew(path, schema, grids, share, reads):
    source = open_source(path, schema, declared=True)
    narrow = HashedShare(bytes(16), 1 << 31, {"age": grids["age"]})
    for place, (of, name) in enumerate([(share, "age"), (narrow, "age"), (narrow, "job"), (share, "age")]):
        asked = Sampled(cells(grids, name), of)
        assert np.array_equal(source.sum(asked), by_record(make_table(400), schema, of, asked.statistic))
        assert len(reads) == place + 1


@pytest.mark.parametrize("most", [0, 100, 1_000])
def test_what_does_not_fit_into_memory_has_the_same_sum(path, schema, grids, share, reads, monkeypatch, most):
    monkeypatch.setattr(samples, "MOST_KEPT", most)
    running, source = threading.active_count(), open_source(path, schema, declared=True)
    for name in ("age", "job"):
        asked = Sampled(cells(grids, name), share)
        assert np.array_equal(source.sum(asked), by_record(make_table(400), schema, share, asked.statistic))
    assert len(reads) == 3  # it was tried once
    assert threading.active_count() == running


@pytest.mark.parametrize("kind", ["arrow", "pandas", "parquet", "by person"])
def test_every_source_gives_the_same_sum(path, schema, grids, share, kind):
    table = make_table(400)
    asked = Sampled(cells(grids, "job"), share)
    expected = by_record(table, schema, share, asked.statistic)
    if kind == "by person":
        table = table.append_column("person", pyarrow.array(range(400)))
        schema = type(schema).from_dict({**schema.to_dict(), "unit": {"column": "person", "records": 1}})
    data = {"arrow": table, "pandas": in_pandas(table), "parquet": path, "by person": table}[kind]
    source = open_source(data, schema, declared=True)
    for _ in range(2):
        assert np.array_equal(source.sum(asked), expected)
    source.close()


def test_a_table_without_records(schema, grids, share):
    source = open_source(make_table(400).slice(0, 0), schema, declared=True)
    assert not source.sum(Sampled(cells(grids, "job"), share)).any()
