"""Addresses of PostgreSQL servers: how one is recognised, and that it holds no password."""

import re
from urllib.parse import parse_qsl

from sfumato.errors import RequestError

# As libpq splits it: what stands before an @ is the user, whatever it holds.
_SERVER = re.compile(r"postgres(?:ql)?://(?:(?P<user>[^@/]*)@)?[^?]*\??(?P<options>.*)", re.DOTALL)
_SECRETS = {"password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret"}


def is_server(address: object) -> bool:
    """Whether something is the address of a PostgreSQL server."""
    return isinstance(address, str) and _SERVER.fullmatch(address) is not None


def refuse_secrets(address: str) -> None:
    """Raise `RequestError`, which quotes nothing, if the address of a server holds a password."""
    parts = _SERVER.fullmatch(address)
    if parts is None:
        return
    options = {name.lower() for name, _ in parse_qsl(parts["options"], keep_blank_values=True)}
    if ":" in (parts["user"] or "") or options & _SECRETS:
        raise RequestError(
            "the address holds a password, which would show in errors and lists of processes; leave it out, and put it "
            "into PGPASSWORD, into ~/.pgpass (or where PGPASSFILE says) or into a service file"
        )
