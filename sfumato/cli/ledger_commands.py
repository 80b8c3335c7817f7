"""What was spent on which dataset, and what is left."""

import json
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from sfumato.bookkeeping.lines import as_csv, as_json, lines_of
from sfumato.cli.ledger_tables import print_accounts, print_ledger
from sfumato.cli.options import LedgerAddress, Who, Why, open_ledger
from sfumato.cli.terminal import report_errors, say
from sfumato.trusted.adjacency import Adjacency

ledger_app = typer.Typer(no_args_is_help=True, help="What was spent on which dataset, and what is left.")


class Format(StrEnum):
    """How a ledger is exported."""

    JSONL = "jsonl"
    CSV = "csv"
    JSON = "json"


@ledger_app.command("show")
@report_errors
def ledger_show(
    dataset: Annotated[
        str | None, typer.Argument(help="one dataset; all of them by default", show_default=False)
    ] = None,
    ledger: LedgerAddress = None,
) -> None:
    """Show what was spent and what is left, and every release and limit: when, who and why.

    Example: `sfumato ledger show clinic`
    """
    print_ledger(open_ledger(ledger), dataset)


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
    ledger: LedgerAddress = None,
    purpose: Why = None,
    who: Who = None,
) -> None:
    """Refuse, from now on, releases that would take a dataset beyond a total.

    Example: `sfumato ledger set-limit clinic --epsilon 3 --delta 1e-6 --purpose "decision of the board, 12 May"`
    """
    from sfumato.trusted.budget import Budget
    from sfumato.trusted.ledger.purpose import check_purpose

    book = open_ledger(ledger)
    book.set_limit(dataset, Budget(epsilon, delta), adjacency, unit, check_purpose(who, purpose))
    print_accounts(book, dataset)


@ledger_app.command("export")
@report_errors
def ledger_export(
    ledger: LedgerAddress = None,
    form: Annotated[
        Format, typer.Option("--format", help="jsonl: every entry with its hashes; csv or json: releases and limits")
    ] = Format.JSONL,
) -> None:
    """Write the whole ledger to the standard output.

    As jsonl it is every entry with the chain of hashes, one object a line: what to keep a copy of. As csv or json it is
    one line for each release and each limit: date, dataset, epsilon, delta, who and why.

    Example: `sfumato ledger export --format csv > ledger.csv`
    """
    entries = open_ledger(ledger).entries()
    match form:
        case Format.JSONL:
            for entry in entries:
                typer.echo(json.dumps(asdict(entry), sort_keys=True))
        case Format.CSV:
            typer.echo(as_csv(lines_of(entries)), nl=False)
        case Format.JSON:
            typer.echo(as_json(lines_of(entries)), nl=False)


@ledger_app.command("move")
@report_errors
def ledger_move(
    to: Annotated[
        str, typer.Argument(help="an empty ledger: a new file, or postgresql://host/database", show_default=False)
    ],
    ledger: LedgerAddress = None,
) -> None:
    """Go on in another ledger: copy all entries there with their hashes, and close the old one for good.

    Run it while no release is running. If it breaks off, run it again.

    Example: `sfumato ledger move postgresql://dbhost/ledgers --ledger ledger.sqlite`
    """
    from sfumato.trusted.ledger import Ledger

    old, new = open_ledger(ledger), Ledger(to)
    old.move_to(new)
    say(f"{new.place} has all {len(new.entries())} entries; {old.place} is closed. Name the new one from now on.")
