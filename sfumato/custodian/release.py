"""From a private table to the file of a bundle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato import api
from sfumato.archive.whole_files import whole_file
from sfumato.artefact.bundle import room_for
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.release import Release
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.reservation import spent_note
from sfumato.trusted.schema.file import AnySchema


def write_release(
    open_data: Callable[[], Any], schema: AnySchema, out: Path, ledger: Ledger, **options: Any
) -> Release | FamilyRelease:
    """Release a table into a file, whose room on the disk is claimed before anything is spent.

    open_data   gives the table; called when the file is claimed
    options     `epsilon` and what else `sfumato.release` takes

    Edge cases
        Whatever stops it once the budget is entered carries a note that the budget counts as spent.
    """
    released = None
    try:
        with whole_file(out, room_for(schema)) as file:
            released = api.release(open_data(), schema, ledger=ledger, **options)
            released.write(file)
    except BaseException as error:
        if released:  # it was made and counted, and could not be written
            error.add_note(spent_note(ledger, schema.name, released.statement.budget))
        raise
    return released
