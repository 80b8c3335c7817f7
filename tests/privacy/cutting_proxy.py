"""A socket between a client and a PostgreSQL server that loses the connection while a transaction is committed."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = ".s.PGSQL.5432"
_COMMIT, _EXECUTE = b"commit\0", b"E\0\0\0\t"


@contextmanager
def cutting(folder: Path, server: Path, *, commit_arrives: bool) -> Iterator[Path]:
    """A folder with a socket that passes everything on until the client commits; then the client hears no more.

    `commit_arrives`: whether the server gets that commit.
    """
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / _NAME))
        listening.listen()
        thread = threading.Thread(target=_serve, args=(listening, server / _NAME, commit_arrives), daemon=True)
        thread.start()
        yield folder
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def _serve(listening: socket.socket, server: Path, commit_arrives: bool) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listening.accept()
            with client, socket.socket(socket.AF_UNIX) as there:
                there.connect(str(server))
                answers = threading.Thread(target=_answer, args=(there, client), daemon=True)
                answers.start()
                _ask(client, there, commit_arrives)
                client.shutdown(socket.SHUT_RDWR)
                there.shutdown(socket.SHUT_WR)
                answers.join()


def _ask(client: socket.socket, there: socket.socket, commit_arrives: bool) -> None:
    while data := client.recv(65536):
        if _COMMIT in data and _EXECUTE in data:  # the driver prepares it first, in a message of its own
            client.shutdown(socket.SHUT_WR)  # no answer will come through
            if commit_arrives:
                there.sendall(data)
            return
        there.sendall(data)


def _answer(there: socket.socket, client: socket.socket) -> None:
    while data := there.recv(65536):
        with contextlib.suppress(OSError):
            client.sendall(data)
