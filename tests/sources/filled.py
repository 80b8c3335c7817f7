"""Databases that hold the mixed table, and the sum that each must give."""

from contextlib import ExitStack

import pytest

from sfumato.errors import DataError
from sfumato.fitting.mechanisms.counts.grids import fine_grid
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources.databases import of_database
from sfumato.trusted.sources.memory import MemorySource
from sfumato.trusted.statistics import Cells
from tests.conftest import MIXED, make_table
from tests.leaks import everything_shown
from tests.sources.filling import fill_duckdb, fill_server, fill_sqlite
from tests.sources.postgresql_server import PASSWORD

TOKEN = "zx81canary"
KINDS = ["postgresql", "sqlite", "duckdb"]


@pytest.fixture
def opened(schema):
    """Opens databases, and closes them after the test."""
    with ExitStack() as stack:

        def opened(database, schema=schema):
            source = of_database(database, schema)
            stack.callback(source.close)
            return source

        yield opened


def cells_of(schema: Schema) -> Cells:
    """Each column, crossed with the target where there is one."""
    grids = {name: fine_grid(codes) for name, codes in Encoder(schema).columns.items()}
    target = (schema.target,) if schema.target else ()
    return Cells(tuple((name, *target) for name in schema.features), grids, schema.target)


@pytest.fixture(scope="module")
def cells():
    return cells_of(Schema.from_yaml(MIXED))


@pytest.fixture(scope="module")
def reference(cells):
    return MemorySource(make_table(400), Schema.from_yaml(MIXED), declared=True).sum(cells)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def people(kind, request, table, tmp_path):
    """The address of a database that has the table."""
    match kind:
        case "postgresql":
            return fill_server(request.getfixturevalue("server"), table)
        case "sqlite":
            return fill_sqlite(tmp_path / "people.sqlite", table)
        case _:
            return fill_duckdb(tmp_path / "people.duckdb", table)


def check_discreet(work) -> None:
    with pytest.raises(DataError) as caught:
        work()
    text = everything_shown(caught.value)
    assert TOKEN not in text
    assert PASSWORD not in text
    assert "libpq" not in text
    assert caught.value.__context__ is None
