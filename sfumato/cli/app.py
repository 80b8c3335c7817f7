"""The command line: a thin face over the library.

Exit 0 done, 2 bad input or a claim that is not kept, 3 refused for want of budget, 4 a claim that could not be checked.
"""

import signal
import sys
from typing import Annotated

import typer

from sfumato._version import __version__
from sfumato.cli.audit_command import audit
from sfumato.cli.custodian_commands import check, demo, evaluate, release
from sfumato.cli.export_command import about, export
from sfumato.cli.ledger_commands import ledger_app
from sfumato.cli.plan_command import plan
from sfumato.cli.receiver_commands import inspect, report, retrain, sample, translate, verify
from sfumato.cli.schema_commands import schema_app
from sfumato.cli.studio_command import studio
from sfumato.cli.terminal import TERMINATED, say

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Release the distribution of a private table under differential privacy, and never a record.",
)
_IN_ORDER_OF_USE = (
    *(demo, check, plan, audit, release),
    *(sample, retrain, translate, inspect, verify, report, about, export, evaluate, studio),
)
for command in _IN_ORDER_OF_USE:
    app.command()(command)
app.add_typer(schema_app, name="schema")
app.add_typer(ledger_app, name="ledger")


def main() -> None:
    """The entry point."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that a file half written is taken away
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    pass
