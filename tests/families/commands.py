"""What tests of the command line share: a hospital with a token in it, in a folder, and its bundle."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.demo import FAMILY_SCHEMA
from tests.families.hospital import tables
from tests.leaks import TOKEN

NAMES = ("patients", "stays", "diagnoses")


def run(*words: object):
    """A command, as a shell would start it."""
    return CliRunner().invoke(app, [str(word) for word in words])


def flat(text: str) -> str:
    """Without the line breaks of a terminal."""
    return " ".join(text.split())


def write_folder(folder: Path, content: dict[str, pa.Table]) -> Path:
    """A Parquet file for each table, whose bytes hold the values as they are."""
    folder.mkdir()
    for name, table in content.items():
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", compression="NONE", use_dictionary=False)
    return folder


def tokened(persons: int) -> dict[str, pa.Table]:
    """The hospital with the token in every key, in a value that is not listed, and in a column that is not read."""
    found = dict(tables(persons))
    for name, keys in (("patients", [0]), ("stays", [0, 1]), ("diagnoses", [0])):
        for place in keys:
            column = found[name].column_names[place]
            values = pa.array([f"{TOKEN} {key}" for key in found[name].column(column).to_pylist()])
            found[name] = found[name].set_column(place, column, values)
        found[name] = found[name].append_column("note", pa.array([TOKEN] * len(found[name])))
    wards = found["stays"].column("ward").to_pylist()
    unlisted = pa.array([TOKEN if place % 9 == 0 else ward for place, ward in enumerate(wards)])
    found["stays"] = found["stays"].set_column(found["stays"].column_names.index("ward"), "ward", unlisted)
    return found


def release(place: Path, *more: object, data: str = "private", out: str = "x.sfumato"):
    """`sfumato release` of a folder in `place`."""
    return run("release", place / data, "--schema", FAMILY_SCHEMA, "--epsilon", 1, "--out", place / out, *more)
