"""A real PostgreSQL server for ledgers."""

from tests.sources.servers import running_server, server

__all__ = ["running_server", "server"]
