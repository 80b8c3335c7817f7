"""Draft and check the public description of a table."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Data, DatabaseQuery, DatabaseTable, database_or_path
from sfumato.cli.terminal import report_errors, say

schema_app = typer.Typer(no_args_is_help=True, help="Draft and check the public description of a table.")


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
    family: Annotated[
        bool, typer.Option("--family", help="DATA is a folder with a file for each table of a family")
    ] = False,
) -> None:
    """Draft a schema from the header alone, to be completed by hand or from a code book.

    No row is read. What the code book describes is complete; of other columns the draft knows the name and the type
    that a Parquet file or a database declares, and says FILL for the rest. Columns that are called like ids or free
    text are left out.

    Example: `sfumato schema init stays.parquet > stays.yaml`

    From a database: `sfumato schema init clinic.duckdb --table stays > stays.yaml`

    Of tables that belong together: `sfumato schema init hospital/ --family > hospital.yaml`

    With a code book: `sfumato schema init stays.csv --codebook book.csv > stays.yaml`. Lines of book.csv:

    - `name,type,values,bounds,missing`

    - `age,integer,,0..110,`

    - `ward,category,surgery|maternity|other,,yes`
    """
    from sfumato.drafting.codebook import read_codebook
    from sfumato.drafting.draft import draft_schema
    from sfumato.drafting.family import draft_family
    from sfumato.errors import RequestError

    if family:
        if table or query or codebook:
            raise RequestError("--family drafts from a folder alone; leave out --table, --query and --codebook")
        typer.echo(draft_family(data), nl=False)
        return
    book = read_codebook(codebook) if codebook else {}
    draft = draft_schema(database_or_path(data, table, query), book)
    typer.echo(draft.text, nl=False)
    if draft.absent:
        typer.echo(f"{codebook} also describes {', '.join(draft.absent)}, which {data} does not have", err=True)


@schema_app.command("check")
@report_errors
def schema_check(file: Annotated[Path, typer.Argument(help="the YAML file", show_default=False)]) -> None:
    """Check a schema file: every error names line, key and cure.

    Example: `sfumato schema check stays.yaml`
    """
    from sfumato.planning.feasibility import refuse_what_cannot_be_planned
    from sfumato.trusted.families import family_layout_of
    from sfumato.trusted.schema import FamilySchema
    from sfumato.trusted.schema.file import read_schema

    schema = read_schema(file)
    if isinstance(schema, FamilySchema):
        views = len(family_layout_of(schema).views)
        columns = sum(len(schema.schema_of(name).by_name) for name in schema.tables)
        say(f"{file} is valid: family {schema.name}, {len(schema.tables)} tables, {columns} columns, {views} views.")
        return
    refuse_what_cannot_be_planned(schema, str(file))
    target = f", target {schema.target}" if schema.target else ", no target"
    unit = f", at most {schema.unit.records} records of each {schema.unit.column}" if schema.unit else ""
    ties = f", {len(schema.constraints)} constraints" if schema.constraints else ""
    say(f"{file} is valid: dataset {schema.name}, {len(schema.by_name)} columns{target}{unit}{ties}.")
