"""Nothing but the measurements depends on the rows: neighbouring tables in every kind of storage, all that is seen.

A release of one table is compared with a release of its neighbour that is shown the sums of the first. The neighbour's
own sums must lie within what is claimed of them, and everything else must be equal: the bundle to the last byte, header
and sizes of its members among it, errors, progress, output, ledger.
"""

import dataclasses
import functools
from unittest import mock

import pytest

from sfumato.fitting.mechanisms.tables import release as tables
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import reading
from sfumato.trusted.sources import memory
from tests.sources.neighbours import (
    FITTING,
    HOSTILE,
    STORES,
    as_arrow,
    changed,
    rows_of,
    schema_of,
    watched,
)

ROWS = rows_of(60)


@pytest.fixture(autouse=True)
def _short_fit():
    """What the model is like does not matter here."""
    with mock.patch.object(tables, "Fit", functools.partial(tables.Fit, components=1, steps=1)):
        yield


def cases():
    """Under add-remove every record, by person and under label some; the rest, and Spark, in the long checks."""
    for store in STORES:
        for persons in (False, True) if store.persons else (False,):
            for adjacency in Adjacency:
                records = {**FITTING, **(HOSTILE if store.untyped else {})}
                few = adjacency != Adjacency.ADD_REMOVE or persons or "spark" in store.name
                replaced = adjacency == Adjacency.REPLACE and store.name not in ("csv", "arrow, declared")
                long = "spark" in store.name or replaced
                chosen = {name: records[name] for name in ("far out", "nulls", "words") if name in records}
                for more in (False, True):
                    rest = {name: record for name, record in records.items() if name not in chosen}
                    tried = chosen if few and not more else rest if few else {} if more else records
                    if tried:
                        name = f"{store.name}-{'persons' if persons else 'records'}-{adjacency}{'-rest' * more}"
                        marks = [pytest.mark.slow] if more or long else []
                        yield pytest.param(store, persons, adjacency, tried, id=name, marks=marks)


@pytest.mark.filterwarnings("ignore:.*DtypeWarning")
@pytest.mark.parametrize(("store", "persons", "adjacency", "records"), list(cases()))
def test_neighbours_cannot_be_told_apart_but_by_their_sums(store, persons, adjacency, records, tmp_path, request):
    schema = schema_of(store.dates, persons)
    settings = {"adjacency": adjacency, **store.settings}
    first, source = watched(store.put(ROWS, schema, tmp_path, request), schema, tmp_path, **settings)
    assert first.error is None
    for name, record in records.items():
        rows = changed(adjacency, persons, record, ROWS, schema)
        data = store.put(rows, schema, tmp_path, request)
        second, other = watched(data, schema, tmp_path, source.sums, **settings)
        assert dataclasses.asdict(second) == dataclasses.asdict(first), name
        assert max(other.moves(adjacency)) <= 1 + 1e-12, name
        assert max(other.moves(adjacency)) > 0 or persons or name not in ("another", "far out")


def check(store_name: str, folder, request) -> None:
    """One neighbour, by which a fault must show."""
    (store,) = [store for store in STORES if store.name == store_name]
    test_neighbours_cannot_be_told_apart_but_by_their_sums(
        store, False, Adjacency.ADD_REMOVE, {"nulls": FITTING["nulls"]}, folder, request
    )


def test_a_rule_that_asks_for_the_type_of_the_column_is_seen(tmp_path, request, monkeypatch):
    """The fault: true is 1 as a boolean and no number as an object, so that one null changes all others."""
    check("pandas", tmp_path, request)
    monkeypatch.setattr(reading, "unpack", lambda cell, real=reading.unpack: real(b"\x02x"))
    with pytest.raises(AssertionError):
        check("pandas", tmp_path, request)


def test_a_header_that_is_observed_is_seen(tmp_path, request, monkeypatch):
    monkeypatch.setattr(memory, "header_of", lambda data, schema, _, real=memory.header_of: real(data, schema, True))
    data = as_arrow(ROWS, schema_of(False, False)).to_pandas().astype({"age": "int16"})
    schema = schema_of(False, False)
    first, source = watched(data, schema, tmp_path)
    second, _ = watched(data.astype({"age": float}), schema, tmp_path, source.sums)
    assert first.header != second.header


def test_a_count_that_is_told_is_seen(tmp_path, request, monkeypatch):
    def close(self):
        print(sum(batch.num_rows for batch in self._records))

    monkeypatch.setattr(memory.MemorySource, "close", close)
    with pytest.raises(AssertionError):
        check("arrow, declared", tmp_path, request)
