"""Options and arguments that several commands share, and how they are opened."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.errors import RequestError

if TYPE_CHECKING:
    from sfumato.trusted.ledger import Ledger
    from sfumato.trusted.schema import FamilySchema, Schema


class Engine(StrEnum):
    """Where the sums of a release are taken."""

    LOCAL = "local"
    SPARK = "spark"


Bundle = Annotated[Path, typer.Argument(help="a bundle, such as B.sfumato", show_default=False)]
Data = Annotated[
    str,
    typer.Argument(
        help="a Parquet or CSV file (also .gz or .zip), a folder of them, .xlsx, .npz or .npy; an address such as "
        "s3://bucket/folder; a database (.duckdb, .sqlite, postgresql://host/name). Of a family: a folder with a file "
        "for each table, a workbook or a database",
        show_default=False,
    ),
]
DatabaseTable = Annotated[str | None, typer.Option("--table", help="of a database: the table")]
DatabaseQuery = Annotated[Path | None, typer.Option("--query", help="of a database: a file with one select")]
LedgerAddress = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="the ledger: a file, or postgresql://host/database; by default $SFUMATO_LEDGER or a file in the user's "
        "data folder",
    ),
]
Who = Annotated[str | None, typer.Option("--who", help="for the ledger: on whose account; by default the user's name")]
Why = Annotated[str | None, typer.Option("--purpose", help="for the ledger: why, in one line; not from the rows")]

Mechanism = Annotated[str, typer.Option("--mechanism", help="auto, tables, mixture, subspace, slices or 3a")]
Components = Annotated[
    int | None,
    typer.Option(
        "--components", help="most Gaussians of a mixture without a category as target; noisy counts say how many"
    ),
]
Anonymize = Annotated[str | None, typer.Option("--anonymize", help="of 3a: tables, slices or kernel")]
Approximate = Annotated[str | None, typer.Option("--approximate", help="of 3a: mixture or generator")]
Adapt = Annotated[str | None, typer.Option("--adapt", help="of 3a: gradients, leaves, released or none")]
Share = Annotated[float | None, typer.Option("--share", help="of 3a: part of the budget for adapt, above 0, below 1")]
Device = Annotated[str, typer.Option("--device", help="cpu, or cuda where there is a GPU and torch")]


def open_data(data: str, schema: "Schema | FamilySchema", table: str | None, query: Path | None, engine: Engine) -> Any:
    """What the words of a command line name: a path, a database, or a frame of Spark; of a family all its tables."""
    from sfumato.trusted.schema import FamilySchema

    if isinstance(schema, FamilySchema):
        if table or query:
            raise RequestError("a family takes the tables of its schema by their names; leave out --table and --query")
        return _family_in_spark(data, schema) if engine == Engine.SPARK else data
    if engine == Engine.SPARK:
        from sfumato.trusted.sources.spark_files import open_frame

        if table or query:
            raise RequestError("--table and --query are for databases; with --engine spark name the table as DATA")
        return open_frame(data, schema)
    return database_or_path(data, table, query)


def _family_in_spark(data: str, family: "FamilySchema") -> dict[str, Any]:
    """The tables below a folder, or in a database of Spark's catalog."""
    from sfumato.trusted.sources.family_opening import file_of
    from sfumato.trusted.sources.spark_files import open_frame

    in_catalog = "/" not in data and not Path(data).exists()
    return {
        name: open_frame(f"{data}.{name}" if in_catalog else file_of(data, name), family.schema_of(name))
        for name in family.tables
    }


def database_or_path(data: str, table: str | None, query: Path | None) -> Any:
    """A path as it is, or a table or query of a database."""
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


def open_ledger(address: str | None) -> "Ledger":
    """The ledger at an address; by default the user's."""
    from sfumato.trusted.ledger import Ledger, default_path

    return Ledger(address or default_path())
