"""The reference of the command line, from the help texts that the commands print."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

from sfumato.cli.app import app

_WIDTH = 100


def command_reference() -> str:
    """A page with what `--help` prints for every command."""
    parts = ["# Command line", "What each command prints for `--help`."]
    for path in command_paths(typer.main.get_command(app)):
        parts += [f"## {' '.join(('sfumato', *path))}", f"```text\n{help_of(path)}\n```"]
    return "\n\n".join(parts) + "\n"


def command_paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, that of the whole first: (), ("demo",) ... ("schema", "init")."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from command_paths(inner, (*path, name))


def help_of(path: tuple[str, ...]) -> str:
    """The help text of a command."""
    done = CliRunner().invoke(app, [*path, "--help"], prog_name="sfumato", env={"COLUMNS": str(_WIDTH), "TERM": "dumb"})
    return "\n".join(line.rstrip() for line in done.output.strip("\n").splitlines())
