"""Commands that describe a bundle for others: export, about."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Bundle
from sfumato.cli.terminal import report_errors, say
from sfumato.errors import RequestError


class Format(StrEnum):
    """What a bundle is described as."""

    REGISTRY = "registry"
    CROISSANT = "croissant"
    CARD = "card"


@report_errors
def export(
    bundle: Bundle,
    to: Annotated[
        Format,
        typer.Option(help="registry: an entry for the registry of deployments; croissant: JSON-LD; card: Markdown"),
    ],
    out: Annotated[Path, typer.Option(help="the file to write", show_default=False)],
    about: Annotated[
        Path | None,
        typer.Option(help="a YAML file in which the custodian says who, why and since when; a registry needs one"),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="for croissant: synthetic records that were drawn from it, Parquet or CSV")
    ] = None,
) -> None:
    """Describe a bundle for a catalogue: a registry entry, Croissant metadata or a data card.

    `sfumato about` prints an about.yaml to fill in.

    Example: `sfumato export stays.sfumato --to card --out README.md`

    Example: `sfumato export stays.sfumato --to registry --about about.yaml --out stays.yaml`

    Example: `sfumato export stays.sfumato --to croissant --about about.yaml --table some.parquet --out croissant.json`
    """
    from sfumato.archive.whole_files import whole_file
    from sfumato.artefact.about import load_about
    from sfumato.artefact.bundle import open_table
    from sfumato.exports.card import data_card
    from sfumato.exports.croissant import write_croissant
    from sfumato.exports.registry import write_registry_entry

    if table is not None and to != Format.CROISSANT:
        raise RequestError(f"--table is for croissant, and --to is {to}; leave it out")
    said, released = None if about is None else load_about(about), open_table(bundle)
    if to == Format.REGISTRY and said is None:
        raise RequestError("a registry needs to know who is responsible; give --about, see `sfumato about`")
    match to:
        case Format.REGISTRY if said is not None:
            text = write_registry_entry(released, said)
        case Format.CROISSANT:
            text = write_croissant(released, bundle, said, table)
        case _:
            text = data_card(released, said)
    with whole_file(out) as file:
        file.write(text.encode())
    say(f"{out} describes {bundle} ({to}).")


@report_errors
def about() -> None:
    """Print an about.yaml to fill in: what a custodian says about a release, for `report` and `export`.

    Example: `sfumato about > about.yaml`
    """
    from sfumato.artefact.about import about_template

    say(about_template().rstrip())
