"""The command line: a thin face over the library.

Exit 0 done, 2 bad input or a claim that is not kept, 3 refused for want of budget, 4 a claim that could not be checked.
"""

import json
import signal
import sys
from contextlib import nullcontext
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato._version import __version__
from sfumato.cli.terminal import (
    TERMINATED,
    bar,
    fail,
    print_accounts,
    print_check,
    print_column_checks,
    print_evaluation,
    print_statement,
    report_errors,
    say,
    working,
)
from sfumato.errors import OutputError, RequestError
from sfumato.trusted.adjacency import Adjacency

if TYPE_CHECKING:
    from sfumato.trusted.ledger import Ledger
    from sfumato.trusted.schema import Schema

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Release the distribution of a private table under differential privacy, and never a record.",
)
schema_app = typer.Typer(no_args_is_help=True, help="Draft and check the public description of a table.")
ledger_app = typer.Typer(no_args_is_help=True, help="What was spent on which dataset, and what is left.")
app.add_typer(schema_app, name="schema")
app.add_typer(ledger_app, name="ledger")


class Engine(StrEnum):
    """Where the sums of a release are taken."""

    LOCAL = "local"
    SPARK = "spark"


Bundle = Annotated[Path, typer.Argument(help="a bundle, such as B.sfumato", show_default=False)]
Data = Annotated[
    str,
    typer.Argument(
        help="a Parquet or CSV file (also .gz or .zip), a folder of them, .xlsx, .npz or .npy; an address such as "
        "s3://bucket/folder; a database (.duckdb, .sqlite, postgresql://host/name)",
        show_default=False,
    ),
]
DatabaseTable = Annotated[str | None, typer.Option("--table", help="of a database: the table")]
DatabaseQuery = Annotated[Path | None, typer.Option("--query", help="of a database: a file with one select")]
LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", help="the ledger's file; by default $SFUMATO_LEDGER or the user's data folder"),
]


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


@app.command()
@report_errors
def demo(out: Annotated[Path, typer.Option(help="the folder to write to")] = Path("sfumato-demo")) -> None:
    """Run release, sample and report on an embedded table of invented hospital stays.

    Example: `sfumato demo --out tour`
    """
    from sfumato.demo import SCHEMA, TABLE

    bundle, table, page = out / "clinic.sfumato", out / "synthetic.csv", out / "report.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
        for made_before in (bundle, table, page):
            made_before.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{out} cannot be used ({error.strerror}); choose another folder") from None
    release(str(TABLE), schema=SCHEMA, epsilon=1.0, ledger=out / "ledger.sqlite", out=bundle)
    sample(bundle, out=table)
    report(bundle, out=page)


@app.command()
@report_errors
def release(
    data: Data,
    schema: Annotated[
        Path, typer.Option(help="the YAML file that describes the table in public terms", show_default=False)
    ],
    epsilon: Annotated[float, typer.Option(help="total privacy budget epsilon of this release", show_default=False)],
    out: Annotated[Path, typer.Option(help="the bundle to write", show_default=False)],
    delta: Annotated[float, typer.Option(help="additive failure probability delta")] = 1e-6,
    mechanism: Annotated[str, typer.Option(help="auto, tables, mixture, subspace or slices")] = "auto",
    adjacency: Annotated[Adjacency, typer.Option(help="what counts as one change of the table")] = Adjacency.ADD_REMOVE,
    components: Annotated[
        int | None,
        typer.Option(help="Gaussians of a mixture without a category as target; default: chosen from the noisy counts"),
    ] = None,
    table: DatabaseTable = None,
    query: DatabaseQuery = None,
    engine: Annotated[Engine, typer.Option(help="where sums are taken; spark also takes the name of its table")] = (
        Engine.LOCAL
    ),
    ledger: LedgerFile = None,
    seed: Annotated[int | None, typer.Option(help="for tests and studies: marks the release as not private")] = None,
) -> None:
    """Release the distribution of a private table as a bundle.

    Example: `sfumato release stays.parquet --schema stays.yaml --epsilon 1 --out stays.sfumato`

    From a database: `sfumato release postgresql://dbhost/clinic --table stays --schema stays.yaml ...`; the password
    comes from `PGPASSWORD` or `~/.pgpass`. On a cluster: `PYSPARK_SUBMIT_ARGS="--master yarn pyspark-shell" sfumato
    release s3a://bucket/stays --engine spark ...`
    """
    from sfumato import api
    from sfumato.archive.whole_files import whole_file
    from sfumato.artefact.bundle import room_for
    from sfumato.trusted.reservation import spent_note
    from sfumato.trusted.schema import Schema

    book, known, released = _ledger(ledger), Schema.load(schema), None
    try:
        with working("opening the table ...") as progress, whole_file(out, room_for(known)) as file:
            released = api.release(
                _opened(data, known, table, query, engine),
                known,
                epsilon=epsilon,
                delta=delta,
                mechanism=mechanism,
                adjacency=adjacency,
                components=components,
                ledger=book,
                seed=seed,
                progress=progress,
            )
            released.write(file)
    except BaseException as error:
        if released:  # it was made and counted, and could not be written
            error.add_note(spent_note(book, known.name, released.statement.budget))
        raise
    say(f"{out} holds the release.\n")
    print_statement(released)
    print_accounts(book, released.schema.name)


def _opened(data: str, schema: "Schema", table: str | None, query: Path | None, engine: Engine) -> Any:
    """What the words of a command line name: a path, a database, or a frame of Spark."""
    if engine == Engine.SPARK:
        from sfumato.trusted.sources.spark_files import open_frame

        if table or query:
            raise RequestError("--table and --query are for databases; with --engine spark name the table as DATA")
        return open_frame(data, schema)
    return _database_or_path(data, table, query)


def _database_or_path(data: str, table: str | None, query: Path | None) -> Any:
    from sfumato.trusted.sources.databases import Database, is_database

    if not is_database(data):
        if table or query:
            raise RequestError("--table and --query are for databases; leave them out for files")
        return data
    try:
        text = query.read_text(encoding="utf-8") if query else None
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(
            f"{query} cannot be read ({type(error).__name__}); name a file with one select, in UTF-8"
        ) from None
    return Database(data, table=table, query=text)


@app.command()
@report_errors
def sample(
    bundle: Bundle,
    out: Annotated[Path, typer.Option(help="the table to write: .parquet or .csv", show_default=False)],
    rows: Annotated[
        int | None, typer.Option("-n", "--rows", help="how many; by default the noisy number of records")
    ] = None,
    given: Annotated[str | None, typer.Option(help="a condition, such as `age=40..60,sex=F|M,ward=`")] = None,
    seed: Annotated[int | None, typer.Option(help="makes the sample repeatable; it does no harm to privacy")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="add columns with the predicted probabilities of the target")
    ] = False,
    estimate: Annotated[
        str | None,
        typer.Option(help="of a Gaussian mixture: mixture, wide (covers uncertainty), detailed (tails)"),
    ] = None,
) -> None:
    """Draw a synthetic table from a bundle. More rows train better learners and are no less private.

    Example: `sfumato sample stays.sfumato -n 10000 --given "age=40..60" --out some.parquet`
    """
    from sfumato.artefact.bundle import open_release
    from sfumato.cli import table_files
    from sfumato.fitting import conditions

    released = open_release(bundle)
    released = released.estimate(estimate) if estimate else released
    wanted = conditions.parse_given(given) if given else None
    total = released.size if rows is None else rows
    with bar() as progress:
        task = progress.add_task("drawing rows", total=total)
        tables = released.sample_tables(total, given=wanted, seed=seed, probabilities=probabilities)
        table_files.write(tables, released, out, lambda done: progress.advance(task, done))
    say(f"{out} holds {total:,} synthetic rows.")


@app.command()
@report_errors
def retrain(
    bundle: Bundle,
    out: Annotated[Path, typer.Option(help="the bundle to write", show_default=False)],
    generator: Annotated[str, typer.Option(help="mlp, residual, or convolutional for images")] = "mlp",
    epochs: Annotated[int, typer.Option(help="maximum number; training may stop early after half of them")] = 1_000,
    seed: Annotated[int, typer.Option(help="the same seed, the same model")] = 0,
    device: Annotated[str, typer.Option(help="cpu, or cuda where there is one")] = "cpu",
    curve: Annotated[Path | None, typer.Option(help="a picture of the loss to write: .svg")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="a checkpoint file, from which interrupted training resumes")
    ] = None,
) -> None:
    """Train a generator on what a bundle holds. It costs nothing: any number of times, of any kind.

    Example: `sfumato retrain stays.sfumato --generator residual --epochs 2000 --curve loss.svg --out again.sfumato`
    """
    from sfumato.archive.whole_files import whole_file
    from sfumato.artefact.bundle import open_release
    from sfumato.fitting.generators import Epoch
    from sfumato.report.training_curve import Curve

    released, drawn = open_release(bundle), Curve()
    with (
        whole_file(out) as file,
        whole_file(curve) if curve else nullcontext() as sheet,
        bar() as progress,
    ):
        task = progress.add_task("training", total=epochs)

        def show(epoch: Epoch) -> None:
            drawn(epoch)
            progress.update(task, completed=epoch.number, description=f"training, loss {epoch.loss:,.1f}")

        released.retrain(generator, epochs, seed, progress=show, checkpoint=checkpoint, device=device).write(file)
        if sheet:
            sheet.write(str(drawn.svg()).encode())
    stopped = drawn.epochs[-1].number if drawn.epochs else epochs
    say(f"{out} holds a generator ({generator}) after {stopped:,} epochs. The ledger is as it was: nothing was spent.")


@app.command()
@report_errors
def inspect(bundle: Bundle) -> None:
    """Show the statement, the schema and each measurement of a bundle.

    Example: `sfumato inspect stays.sfumato`
    """
    from sfumato.artefact.bundle import open_release

    released = open_release(bundle)
    print_statement(released)
    say("\nschema", "bold")
    say(released.schema.to_yaml())
    say("not protected", "bold")
    for line in released.statement.not_protected:
        say(f"  {line}")


@app.command()
@report_errors
def verify(
    bundle: Bundle,
    features: Annotated[
        Path | None, typer.Option(help="the public features, where a release was fitted with them: Parquet or CSV")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="the custodian's ledger: was this statement written down in it?")
    ] = None,
) -> None:
    """Recompute hashes, format and the whole claim of a bundle from the bundle alone.

    Exit code 0 says that everything was checked and holds, 2 that something does not hold, 4 that nothing was found
    wrong but something could not be checked.

    Example: `sfumato verify stays.sfumato --ledger ledger.sqlite`
    """
    from sfumato.artefact.bundle import open_release
    from sfumato.artefact.verify import Check, Outcome
    from sfumato.artefact.verify import verify as recompute
    from sfumato.cli import table_files
    from sfumato.trusted.ledger import Ledger

    released = open_release(bundle)
    print_check(Check.of("every byte as it was written", holds=True, detail="hashes agree"))
    checks = recompute(
        released,
        None if features is None else table_files.read(features, released.schema),
        None if ledger is None else Ledger(ledger),
    )
    for check in checks:
        print_check(check)
    found = {outcome: [one.what for one in checks if one.outcome == outcome] for outcome in Outcome}
    if failed := found[Outcome.FAILS]:
        fail(f"{bundle} does not keep its claim: {', '.join(failed)}", 2)
    if unchecked := found[Outcome.UNCHECKED]:
        fail(f"{bundle} is not verified; this could not be checked: {', '.join(unchecked)}", 4)


@app.command()
@report_errors
def report(
    bundle: Bundle, out: Annotated[Path, typer.Option(help="the HTML file to write", show_default=False)]
) -> None:
    """Write the public report of a bundle: one page, made from the release alone.

    Example: `sfumato report stays.sfumato --out stays.html`
    """
    from sfumato.archive.whole_files import whole_file
    from sfumato.artefact.bundle import open_release
    from sfumato.report.public import public_report

    page = public_report(open_release(bundle))
    with whole_file(out) as file:
        file.write(page.encode())
    say(f"{out} holds the public report.")


@app.command()
@report_errors
def evaluate(
    bundle: Bundle,
    real: Annotated[Path, typer.Option(help="the table that was released", show_default=False)],
    test: Annotated[Path, typer.Option(help="rows of the same kind that were held out", show_default=False)],
    out: Annotated[Path, typer.Option(help="the HTML file to write; a JSON file goes beside it", show_default=False)],
    rows: Annotated[
        int | None,
        typer.Option("-n", "--rows", help="synthetic rows; by default the noisy number of records"),
    ] = None,
    seed: Annotated[int, typer.Option(help="of the synthetic rows")] = 0,
) -> None:
    """Compare a release with private records: learners, marginals, sub-groups. For the custodian alone.

    Example: `sfumato evaluate stays.sfumato --real stays.parquet --test kept.parquet --out private.html`
    """
    from sfumato.archive.whole_files import whole_file
    from sfumato.artefact.bundle import open_release
    from sfumato.evaluate.evaluation import NOTICE
    from sfumato.evaluate.evaluation import evaluate as compare
    from sfumato.report.private import private_report

    if out.suffix == ".json":
        raise RequestError(f"{out} must be the name of the page; the JSON file goes beside it")
    released = open_release(bundle)
    # the files are claimed first: nothing is computed that cannot be written
    with whole_file(out) as file, whole_file(out.with_suffix(".json")) as numbers:
        with working("opening the bundle ...") as progress:
            result = compare(released, real, test, rows=rows, seed=seed, progress=progress)
        file.write(private_report(result, released).encode())
        numbers.write(json.dumps(result.to_dict(), indent=1).encode())
    print_evaluation(result)
    say(f"\n{out} and {out.with_suffix('.json')} hold the evaluation: {NOTICE}.")


@app.command()
@report_errors
def check(
    data: Data,
    schema: Annotated[Path, typer.Option(help="the YAML file to check the table against", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="a JSON file to write; it is private")] = None,
    table: DatabaseTable = None,
    query: DatabaseQuery = None,
) -> None:
    """Look at a private table before it is released: what would be clamped, unlisted or unreadable. Spends nothing.

    Also tells what would be rounded to the schema's step, and which columns are neither described nor left out.

    Example: `sfumato check stays.csv --schema stays.yaml`
    """
    from sfumato.archive.whole_files import whole_file
    from sfumato.evaluate.checking import ADVICE, NOTICE, check_table
    from sfumato.evaluate.file_formats import check_encoding, check_separator
    from sfumato.evaluate.unreleased import unreleased_columns
    from sfumato.trusted.schema import Schema

    known, private = Schema.load(schema), _database_or_path(data, table, query)
    for hint in filter(None, (check_encoding(private, known.text), check_separator(private, known.text))):
        say(hint, "yellow")
    with whole_file(out) if out else nullcontext() as file:
        with working("reading the private table ..."):
            found, unsaid = check_table(private, known), unreleased_columns(private, known)
        if file:
            content = {"notice": NOTICE, "columns": [one.to_dict() for one in found], **unsaid._asdict()}
            file.write(json.dumps(content, indent=1).encode())
    print_column_checks(found)
    for hint in unsaid.hints():
        say(hint, "yellow")
    say(f"\nThis was {NOTICE}. {ADVICE}")


@schema_app.command("init")
@report_errors
def schema_init(
    data: Data,
    table: DatabaseTable = None,
    query: DatabaseQuery = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            help="a CSV file that says what columns mean: name, type, values (a|b), bounds (0..99), and if you like "
            "missing (yes/no), decimals, step, label. It counts as public"
        ),
    ] = None,
) -> None:
    """Draft a schema from the header alone, to be completed by hand or from a code book.

    No row is read. What the code book describes is complete; of other columns the draft knows the name and the type
    that a Parquet file or a database declares, and says FILL for the rest. Columns that are called like ids or free
    text are left out.

    Example: `sfumato schema init stays.parquet > stays.yaml`

    From a database: `sfumato schema init clinic.duckdb --table stays > stays.yaml`

    With a code book: `sfumato schema init stays.csv --codebook book.csv > stays.yaml`. Lines of book.csv:

    - `name,type,values,bounds,missing`

    - `age,integer,,0..110,`

    - `ward,category,surgery|maternity|other,,yes`
    """
    from sfumato.cli.codebook import read_codebook
    from sfumato.cli.drafting import draft_schema

    book = read_codebook(codebook) if codebook else {}
    draft = draft_schema(_database_or_path(data, table, query), book)
    typer.echo(draft.text, nl=False)
    if draft.absent:
        typer.echo(f"{codebook} also describes {', '.join(draft.absent)}, which {data} does not have", err=True)


@schema_app.command("check")
@report_errors
def schema_check(file: Annotated[Path, typer.Argument(help="the YAML file", show_default=False)]) -> None:
    """Check a schema file: every error names line, key and cure.

    Example: `sfumato schema check stays.yaml`
    """
    from sfumato.cli.planning import refuse_what_cannot_be_planned
    from sfumato.trusted.schema import Schema

    schema = Schema.load(file)
    refuse_what_cannot_be_planned(schema, str(file))
    target = f", target {schema.target}" if schema.target else ", no target"
    unit = f", at most {schema.unit.records} records of each {schema.unit.column}" if schema.unit else ""
    ties = f", {len(schema.constraints)} constraints" if schema.constraints else ""
    say(f"{file} is valid: dataset {schema.name}, {len(schema.by_name)} columns{target}{unit}{ties}.")


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
    book = _ledger(ledger)
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

    book = _ledger(ledger)
    book.set_limit(dataset, Budget(epsilon, delta), adjacency, unit)
    print_accounts(book, dataset)


@ledger_app.command("export")
@report_errors
def ledger_export(ledger: LedgerFile = None) -> None:
    """Write all entries with their chain of hashes to the standard output, one JSON object a line.

    Example: `sfumato ledger export > ledger.jsonl`
    """
    for entry in _ledger(ledger).entries():
        typer.echo(json.dumps(asdict(entry), sort_keys=True))


def _ledger(path: Path | None) -> "Ledger":
    from sfumato.trusted.ledger import Ledger, default_path

    return Ledger(path or default_path())
