"""What was spent on which dataset, and what is left."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from sfumato.cli.options import LedgerFile, open_ledger
from sfumato.cli.terminal import print_accounts, report_errors, say
from sfumato.trusted.adjacency import Adjacency

ledger_app = typer.Typer(no_args_is_help=True, help="What was spent on which dataset, and what is left.")


@ledger_app.command("show")
@report_errors
def ledger_show(
    dataset: Annotated[
        str | None, typer.Argument(help="one dataset; all of them by default", show_default=False)
    ] = None,
    ledger: LedgerFile = None,
) -> None:
    """Show what was spent and what is left.

    Example: `sfumato ledger show clinic`
    """
    book = open_ledger(ledger)
    if not book.accounts(dataset):
        say(f"{book.path} has no entries{f' for {dataset}' if dataset else ''} yet.")
    print_accounts(book, dataset)


@ledger_app.command("set-limit")
@report_errors
def ledger_set_limit(
    dataset: Annotated[str, typer.Argument(help="the dataset's name, as in its schema", show_default=False)],
    epsilon: Annotated[float, typer.Option(help="the most that all releases together may spend", show_default=False)],
    delta: Annotated[float, typer.Option(help="at this delta")] = 1e-6,
    adjacency: Annotated[Adjacency, typer.Option(help="counted under this adjacency")] = Adjacency.ADD_REMOVE,
    unit: Annotated[
        str | None, typer.Option(help="counted by person: the column of the schema's unit; by default by record")
    ] = None,
    ledger: LedgerFile = None,
) -> None:
    """Refuse, from now on, releases that would take a dataset beyond a total.

    Example: `sfumato ledger set-limit clinic --epsilon 3 --delta 1e-6`
    """
    from sfumato.trusted.budget import Budget

    book = open_ledger(ledger)
    book.set_limit(dataset, Budget(epsilon, delta), adjacency, unit)
    print_accounts(book, dataset)


@ledger_app.command("export")
@report_errors
def ledger_export(ledger: LedgerFile = None) -> None:
    """Write all entries with their chain of hashes to the standard output, one JSON object a line.

    Example: `sfumato ledger export > ledger.jsonl`
    """
    for entry in open_ledger(ledger).entries():
        typer.echo(json.dumps(asdict(entry), sort_keys=True))
