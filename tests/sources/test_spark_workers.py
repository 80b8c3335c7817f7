"""What is sent to Spark's workers, run here: the same sums for any cut, and errors that quote nothing."""

import json
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError
from sfumato.trusted.feature_maps.hashed_share import HashedShare
from sfumato.trusted.sources import open_source, spark_workers
from sfumato.trusted.sources.contribution_bounding import ContributionBounding
from sfumato.trusted.statistics import Sampled
from tests.conftest import make_table
from tests.sources.test_spark import GRIDS, KEY, LONG, PEOPLE, SCHEMA, SHORT

TOKEN = "zx81canary"
TEXT = json.dumps(SCHEMA.to_dict())
SHARE = Sampled(SHORT, HashedShare(bytes(16), 1 << 31, {name: GRIDS[name] for name in SCHEMA.features}))


def parts(table: pa.Table, names: tuple[str, ...]) -> list[pa.RecordBatch]:
    return table.select(list(names)).combine_chunks().to_batches(max_chunksize=70)


@pytest.mark.parametrize("statistic", [SHORT, LONG], ids=["short", "long"])
def test_pieces_of_any_parts_add_up_to_the_sum(table, statistic):
    read = partial(spark_workers.from_storage, TEXT, statistic.columns)
    content = json.dumps(statistic.to_dict())
    parted = [[], *([part] for part in parts(table, statistic.columns))]
    pieces = [piece for part in parted for piece in spark_workers.sum_records(content, read, iter(part))]
    (merged,) = spark_workers.merge_pieces(iter(pieces))
    total = np.concatenate([*spark_workers.add_pieces([merged]).values()])
    assert total.tobytes() == open_source(table, SCHEMA, declared=True).sum(statistic).tobytes()


def test_codes_of_records_and_of_codes_are_the_same(table):
    names = ("wage", "ill")
    stored = partial(spark_workers.from_storage, TEXT, names)
    once = [*spark_workers.encode_records(stored, iter(parts(table, names)))]
    twice = [*spark_workers.encode_records(partial(spark_workers.from_codes, names), iter(once))]
    (batch,) = open_source(table, SCHEMA, declared=True).batches(names)
    assert once == twice
    assert np.array_equal(pa.Table.from_batches(once).column(0).to_numpy(), batch.codes["wage"])


@pytest.mark.parametrize("size", [spark_workers.PACK, 64, 1])
def test_packs_hold_the_records_of_a_share_and_all_but_the_last_are_full(table, size, monkeypatch):
    monkeypatch.setattr(spark_workers, "PACK", size)
    names, (batch,) = SHARE.columns, open_source(table, SCHEMA, declared=True).batches(SHARE.columns)
    read = partial(spark_workers.from_storage, TEXT, names)
    packs = [*spark_workers.choose_records(json.dumps(SHARE.to_dict()), read, iter(parts(table, names)))]
    found = [one for pack in packs for one in spark_workers.unpack(names, pack)]
    assert len({one.rows for one in found[:-1]}) <= 1
    chosen = SHARE.of.choose(batch, names)
    assert 0 < sum(one.rows for one in found) == chosen.rows < table.num_rows
    for name in names:
        assert np.array_equal(np.concatenate([one.codes[name] for one in found]), chosen.codes[name])


def test_tickets_are_those_of_the_lottery():
    table = make_table(100).append_column("who", pa.array(np.arange(100) % 9))
    bounding = ContributionBounding(PEOPLE, PEOPLE.unit, KEY)
    (part,) = table.select(list(bounding.columns)).combine_chunks().to_batches()
    (drawn,) = spark_workers.draw_tickets(json.dumps(PEOPLE.to_dict()), KEY, iter([part]))
    assert drawn.num_rows == 27
    assert drawn.schema.names[:5] == ["person", "first", "second", "third", "code 0"]
    assert drawn.column("first").equals(bounding.draw(part).column("first"))


def test_a_worker_says_what_it_runs():
    (told,) = spark_workers.versions(iter([object()]))
    assert told.to_pylist() == [{"python": spark_workers.python_version(), "sfumato": spark_workers.__version__}]


def broken(*_records):
    raise RuntimeError(TOKEN)
    yield


@pytest.mark.parametrize(
    "work",
    [
        lambda: spark_workers.encode_records(broken, iter([1])),
        lambda: spark_workers.encode_records(lambda _: next(broken()), iter([1])),
        lambda: spark_workers.merge_pieces(broken()),
        lambda: spark_workers.draw_tickets(TEXT, KEY, iter([])),
    ],
)
def test_errors_quote_nothing(work):
    with pytest.raises(DataError) as error:
        list(work())
    assert TOKEN not in str(error.value)
    assert error.value.__context__ is None
