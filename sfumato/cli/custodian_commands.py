"""Commands that meet the private table: demo, release, check, evaluate."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.ledger_tables import print_accounts
from sfumato.cli.options import (
    Adapt,
    Anonymize,
    Approximate,
    Bundle,
    Components,
    Data,
    DatabaseQuery,
    DatabaseTable,
    Device,
    Engine,
    LedgerAddress,
    Mechanism,
    Share,
    Who,
    Why,
    database_or_path,
    open_data,
    open_ledger,
)
from sfumato.cli.receiver_commands import report, sample
from sfumato.cli.terminal import (
    print_column_checks,
    print_evaluation,
    print_family_evaluation,
    print_links,
    print_statement,
    report_errors,
    say,
    working,
)
from sfumato.errors import OutputError, RequestError
from sfumato.trusted.adjacency import Adjacency

if TYPE_CHECKING:
    from sfumato.trusted.schema import FamilySchema


@report_errors
def demo(
    out: Annotated[Path, typer.Option(help="the folder to write to")] = Path("sfumato-demo"),
    family: Annotated[bool, typer.Option("--family", help="three tables instead: patients, stays, diagnoses")] = False,
) -> None:
    """Run release, sample and report on an embedded table of invented hospital stays.

    Example: `sfumato demo --out tour`

    Tables that belong together: `sfumato demo --family --out tour`
    """
    from sfumato.demo import FAMILY, FAMILY_SCHEMA, SCHEMA, TABLE

    data, schema, name, drawn = TABLE, SCHEMA, "clinic.sfumato", "synthetic.csv"
    if family:
        data, schema, name, drawn = FAMILY, FAMILY_SCHEMA, "hospital.sfumato", "synthetic.sqlite"
    bundle, table, page = out / name, out / drawn, out / "report.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
        for made_before in (bundle, table, page):
            made_before.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{out} cannot be used ({error.strerror}); choose another folder") from None
    release(str(data), schema=schema, epsilon=1.0, ledger=str(out / "ledger.sqlite"), out=bundle)
    sample(bundle, out=table)
    report(bundle, out=page)


@report_errors
def release(
    data: Data,
    schema: Annotated[
        Path, typer.Option(help="the YAML file that describes the table in public terms", show_default=False)
    ],
    epsilon: Annotated[float, typer.Option(help="total privacy budget epsilon of this release", show_default=False)],
    out: Annotated[Path, typer.Option(help="the bundle to write", show_default=False)],
    delta: Annotated[float, typer.Option(help="additive failure probability delta")] = 1e-6,
    mechanism: Mechanism = "auto",
    adjacency: Annotated[Adjacency, typer.Option(help="what counts as one change of the table")] = Adjacency.ADD_REMOVE,
    components: Components = None,
    anonymize: Anonymize = None,
    approximate: Approximate = None,
    adapt: Adapt = None,
    share: Share = None,
    table: DatabaseTable = None,
    query: DatabaseQuery = None,
    engine: Annotated[Engine, typer.Option(help="where sums are taken; spark also takes the name of its table")] = (
        Engine.LOCAL
    ),
    ledger: LedgerAddress = None,
    purpose: Why = None,
    who: Who = None,
    device: Device = "cpu",
    seed: Annotated[int | None, typer.Option(help="for tests and studies: marks the release as not private")] = None,
) -> None:
    """Release the distribution of a private table, or of a family of tables, as a bundle.

    Example: `sfumato release stays.parquet --schema stays.yaml --epsilon 1 --out stays.sfumato`

    Example: `sfumato release hospital/ --schema hospital.yaml --epsilon 1 --out hospital.sfumato`

    With `--purpose "yearly report"` the ledger says why; the bundle does not.

    Parts by name: `sfumato release stays.parquet --mechanism 3a --anonymize kernel --adapt leaves --share 0.2 ...`

    From a database: `sfumato release postgresql://dbhost/clinic --table stays --schema stays.yaml ...`; the password
    comes from `PGPASSWORD` or `~/.pgpass`. On a cluster: `PYSPARK_SUBMIT_ARGS="--master yarn pyspark-shell" sfumato
    release s3a://bucket/stays --engine spark ...`
    """
    from sfumato.custodian.release import write_release
    from sfumato.trusted.schema.file import read_schema

    book, known = open_ledger(ledger), read_schema(schema)
    with working("opening the table ...") as progress:
        released = write_release(
            lambda: open_data(data, known, table, query, engine),
            known,
            out,
            book,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            adjacency=adjacency,
            components=components,
            anonymize=anonymize,
            approximate=approximate,
            adapt=adapt,
            share=share,
            seed=seed,
            device=device,
            purpose=purpose,
            who=who,
            progress=progress,
        )
    say(f"{out} holds the release.\n")
    print_statement(released)
    print_accounts(book, released.schema.name)


@report_errors
def evaluate(
    bundle: Bundle,
    real: Annotated[
        Path, typer.Option(help="the table that was released; of a family its folder or database", show_default=False)
    ],
    test: Annotated[
        Path,
        typer.Option(
            help="rows of the same kind that were held out, of other persons; if there are none the real ones again, "
            "and chance counts as 0",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="the HTML file to write; a JSON file goes beside it", show_default=False)],
    rows: Annotated[
        int | None,
        typer.Option("-n", "--rows", help="synthetic rows; by default the noisy number of records"),
    ] = None,
    seed: Annotated[int, typer.Option(help="of the synthetic rows")] = 0,
) -> None:
    """Compare a release with private records: a verdict, columns, pairs, learners, sub-groups. For the custodian alone.

    Example: `sfumato evaluate stays.sfumato --real stays.parquet --test kept.parquet --out private.html`

    Example: `sfumato evaluate hospital.sfumato --real hospital/ --test kept/ --out private.html`
    """
    from sfumato.custodian.evaluation import write_evaluation
    from sfumato.evaluation.evaluation import NOTICE, Evaluation

    with working("opening the bundle ...") as progress:
        result = write_evaluation(bundle, real, test, out, rows=rows, seed=seed, progress=progress)
    if isinstance(result, Evaluation):
        print_evaluation(result)
    else:
        print_family_evaluation(result)
    say(f"\n{out} and {out.with_suffix('.json')} hold the evaluation: {NOTICE}.")


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
    from sfumato.custodian.checking import look_at_format, look_at_table
    from sfumato.evaluation.checking import ADVICE, NOTICE
    from sfumato.trusted.schema import FamilySchema
    from sfumato.trusted.schema.file import read_schema

    known = read_schema(schema)
    if isinstance(known, FamilySchema):
        if table or query:
            raise RequestError("a family takes the tables of its schema by their names; leave out --table and --query")
        _check_family(data, known, out)
        return
    private = database_or_path(data, table, query)
    for hint in look_at_format(private, known):  # said even where the table then cannot be read
        say(hint, "yellow")
    with whole_file(out) if out else nullcontext() as file:
        with working("reading the private table ..."):
            found = look_at_table(private, known)
        if file:
            file.write(found.to_json().encode())
    print_column_checks(found.columns)
    for hint in found.undecided.hints():
        say(hint, "yellow")
    say(f"\nThis was {NOTICE}. {ADVICE}")


def _check_family(data: str, family: "FamilySchema", out: Path | None) -> None:
    """The same of a family: every table, and which rows are linked."""
    from sfumato.archive.whole_files import whole_file
    from sfumato.evaluation.checking import ADVICE, NOTICE
    from sfumato.evaluation.families.checking import check_family

    with whole_file(out) if out else nullcontext() as file:
        with working("reading the private tables ..."):
            found = check_family(data, family)
        if file:
            file.write(json.dumps({"notice": NOTICE, **found.to_dict()}, indent=1).encode())
    for name, checks in found.columns.items():
        say(f"\n{name}", "bold")
        print_column_checks(checks)
    print_links(found.links)
    say(f"\nThis was {NOTICE}. {ADVICE}")
