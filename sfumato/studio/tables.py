"""A chosen table and what is said of it: the draft of its schema, lists of values, the terms of its release."""

import hashlib
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.drafting.codebook import Entry
from sfumato.drafting.draft import draft_schema
from sfumato.drafting.family import draft_family
from sfumato.errors import RequestError
from sfumato.studio.headers import names_and_types, read_columns
from sfumato.studio.locations import Location, open_location
from sfumato.studio.state import hold_lock, is_id, make_id, read_json, write_json, write_private

_WHOLE = re.compile(r"[0-9]+|[0-9]{1,3}([ ,.'_\u00a0\u202f\u2019][0-9]{3})+")
_LIST_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,79}\.(csv|txt)")


@dataclass(frozen=True)
class Terms:
    """What is wanted of a release; `rows` is typed by the user, None where nothing was typed yet."""

    rows: int | None = None
    epsilon: float = 1.0
    delta: float = 1e-6
    adjacency: str = "add-remove"
    mechanism: str = "auto"


@dataclass(frozen=True)
class Table:
    """One chosen table, in a folder of the state.

    header   names and declared types of its columns, as they were when it was chosen
    """

    folder: Path
    location: Location
    header: tuple[tuple[str, str], ...]
    made: float

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def lists(self) -> Path:
        """Where uploaded lists of values are."""
        return self.folder / "lists"

    @property
    def list_names(self) -> list[str]:
        """The uploaded lists."""
        return sorted(path.name for path in self.lists.iterdir() if not path.name.startswith("."))

    @property
    def draft(self) -> str:
        """The schema as it was last written, whether it is complete or not."""
        return (self.folder / "schema.yaml").read_text(encoding="utf-8")

    @property
    def version(self) -> str:
        """Changes with the draft."""
        return version_of(self.draft)

    @property
    def terms(self) -> Terms:
        """What was last wanted of a release."""
        return Terms(**(read_json(self.folder / "terms.json") or {}))

    def write_draft(self, text: str) -> None:
        """Replace the draft, whatever it was."""
        write_private(self.folder / "schema.yaml", text)

    def replace_draft(self, text: str, version: str) -> None:
        """Replace the draft if it still is the one of this version; else `RequestError`. One tab at a time."""
        with hold_lock(self.folder / "draft.lock"):
            if version != self.version:
                raise RequestError(
                    "the description was changed elsewhere since this page was opened, perhaps in another tab; open "
                    "the page again, so that nothing is overwritten"
                )
            self.write_draft(text)

    def write_terms(self, terms: Terms) -> None:
        """Replace the terms."""
        write_json(self.folder / "terms.json", asdict(terms))

    def add_list(self, name: str, content: bytes) -> str:
        """Keep an uploaded list of values; its name."""
        if not _LIST_NAME.fullmatch(name):
            raise RequestError(f"{name!r} is no name of a list; upload a .csv or .txt file, named in plain letters")
        write_private(self.lists / name, content)
        return name

    def draft_anew(self, book: Mapping[str, Entry]) -> tuple[str, ...]:
        """A draft from the header and a code book; the columns that the book describes and the table lacks.

        Edge cases
            A header that is not what it was when the table was chosen: `RequestError`. Nobody has said that it holds
            names.
        """
        if names_and_types(read_columns(self.location)) != self.header:
            raise RequestError("the columns of the table have changed since it was chosen; choose it again in step 1")
        if self.location.family:
            if book:
                raise RequestError("a family is drafted from its headers alone; complete it as YAML")
            self.write_draft(draft_family(self.location.address))
            return ()
        text, absent = draft_schema(open_location(self.location.to_dict()), book)
        self.write_draft(text)
        return absent


def version_of(text: str) -> str:
    """A short mark of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def add_table(state: Path, location: Location, header: tuple[tuple[str, str], ...]) -> Table:
    """Choose a table with these columns: a first draft of its schema is written.

    One that was chosen before, and has the same columns, keeps its draft.
    """
    for known in list_tables(state):
        if (known.location, known.header) == (location, header):
            return known
    folder = state / "tables" / make_id()
    folder.mkdir(mode=0o700)
    (folder / "lists").mkdir(mode=0o700)
    table = Table(folder, location, header, time.time())
    table.draft_anew({})
    content = {"location": location.to_dict(), "header": header, "made": table.made}
    write_json(folder / "table.json", content)  # last: without it there is no table
    return table


def read_table(state: Path, name: str) -> Table | None:
    """A chosen table; None where there is none."""
    folder = state / "tables" / name
    content = read_json(folder / "table.json") if is_id(name) else None
    if content is None:
        return None
    header = tuple((column, kind) for column, kind in content["header"])
    return Table(folder, Location(**content["location"]), header, content["made"])


def list_tables(state: Path) -> list[Table]:
    """All chosen tables, the latest first."""
    found = [read_table(state, path.name) for path in (state / "tables").iterdir()]
    return sorted((table for table in found if table is not None), key=lambda table: -table.made)


def change_terms(terms: Terms, form: Mapping[str, Any]) -> Terms:
    """The terms with what a form says; `RequestError` for what is no number."""
    return replace(
        terms,
        rows=_whole(form.get("rows", "")),
        epsilon=_number(form.get("epsilon") or terms.epsilon, "epsilon"),
        delta=_number(form.get("delta") or terms.delta, "delta"),
        adjacency=str(form.get("adjacency") or terms.adjacency),
        mechanism=str(form.get("mechanism") or terms.mechanism),
    )


def _number(text: Any, name: str) -> float:
    """A decimal comma is read like a point."""
    try:
        return float(str(text).strip().replace(",", "."))
    except ValueError:
        raise RequestError(f"{name} is {text!r}; it must be a number, such as 1 or 1e-6") from None


def _whole(text: Any) -> int | None:
    """An integer, with or without signs between its thousands."""
    plain = str(text).strip()
    if not plain:
        return None
    if not _WHOLE.fullmatch(plain) or len(plain) > 18:
        raise RequestError(f"rows is {text!r}; it must be an integer, your public estimate of the number of records")
    return int(re.sub(r"\D", "", plain))
