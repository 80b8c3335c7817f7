"""Step 2: the schema as a form, as YAML, from a code book; every change is held against the real rules."""

import re
import tempfile
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse, Response

from sfumato.drafting.codebook import read_codebook
from sfumato.errors import RequestError, SchemaError, SfumatoError
from sfumato.studio.forms import TYPES, columns_of, has_form, read_form, show_column, show_constraints, write_content
from sfumato.studio.presets import PRESETS
from sfumato.studio.problems import OPEN_WORDS, Findings, check_draft, parse_content
from sfumato.studio.rendering import Ask, go, need, render
from sfumato.studio.tables import Table, version_of

_MOST_COLUMNS = 200  # of a form; wider tables are described as YAML
_TEXT = ("separator", "encoding", "decimal", "thousands", "dates", "datetimes")


def show(ask: Ask) -> Response:
    """The draft as it is."""
    return _page(ask, ask.table, open_at=ask.query.get("open", ""))


def _page(
    ask: Ask, table: Table, message: str = "", text: str | None = None, open_at: str = "", status: int = 200
) -> Response:
    draft = table.draft if text is None else text
    findings = check_draft(draft, table.lists)
    return render(
        ask,
        "describe.html",
        step="describe",
        status=status,
        table=table,
        draft=draft,
        version=table.version,
        findings=findings,
        form=_form_of(draft, findings, table),
        presets=PRESETS,
        types=TYPES,
        message=message,
        open_at=open_at,
        open_words=OPEN_WORDS,
        first_open=_first_open(findings),
        summary=_summary(findings),
    )


def _form_of(draft: str, findings: Findings, table: Table) -> dict[str, Any] | None:
    """What the form shows; None where the draft is no single table, has too many columns, or is no YAML at all."""
    try:
        content = parse_content(draft)
        columns = columns_of(content)
    except SchemaError:
        return None
    if "tables" in content or len(columns) > _MOST_COLUMNS or not has_form(content):
        return None
    unit = content.get("unit") if isinstance(content.get("unit"), dict) else {}
    text = content.get("text") if isinstance(content.get("text"), dict) else {}
    described = {str(one["name"]) for one in columns}
    left = [str(name) for name in content.get("leave_out") or []]
    runs = any("{" in name for name in described)
    keys = [one["key"] for one in content.get("constraints") or [] if isinstance(one, dict) and "key" in one]
    said = {*described, *left, *keys, (unit or {}).get("column")}
    return {
        "name": content.get("name", ""),
        "columns": [{**show_column(one), "state": _state(findings, place, one)} for place, one in enumerate(columns)],
        "target": content.get("target") or "",
        "unit": unit or {},
        "constraints": show_constraints(content),
        "text": {key: str((text or {}).get(key, "")).replace("\t", "\\t") for key in _TEXT},
        "left": left,
        "undecided": [] if runs else [name for name, _ in table.header if name not in said],
        "lists": table.list_names,
    }


def _state(findings: Findings, place: int, column: dict[str, Any]) -> dict[str, str]:
    """A column in a few words, and whether something is wrong with it."""
    troubles = findings.of_column(place)
    if not troubles:
        return {"kind": "fine", "words": _describe(column)}
    still_open = all(one.words in OPEN_WORDS for one in troubles)
    return {"kind": "open" if still_open else "wrong", "words": "to fill in" if still_open else "to correct"}


def _describe(column: dict[str, Any]) -> str:
    shown = show_column(column)
    kind = {"category": "list"}.get(shown["type"], shown["type"])
    if shown["estimate"] or shown["discover"]:
        return f"{kind}, found with a part of the budget"
    if shown["low"] or shown["high"]:
        return f"{kind}, {shown['low']} to {shown['high']}"
    if shown["file"]:
        return f"{kind} in {shown['file']}"
    values = shown["values"].splitlines()
    return f"{kind} of {len(values)} values" if values else kind


def _first_open(findings: Findings) -> int | None:
    """The first column that needs something."""
    places = [int(found[1]) for one in findings.troubles if (found := re.match(r"c(\d+)", one.field))]
    return min(places, default=None)


def _summary(findings: Findings) -> str:
    if findings.schema is not None:
        return "The description is complete and valid."
    places = len({one.field for one in findings.troubles} - {"schema"}) + len(findings.general)
    return f"{places} place{'s' * (places != 1)} to fill in or correct."


def _replace(ask: Ask, table: Table) -> str:
    """The draft that the form says, which is then kept."""
    content = parse_content(table.draft)
    need(has_form(content), "the description cannot be shown as a form; correct it as YAML")
    text = write_content(read_form(ask.answers, content, [name for name, _ in table.header]))
    table.replace_draft(text, ask.said("version"))
    return text


def save(ask: Ask) -> Response:
    """Keep what the form says, with what its buttons ask; go on where all is well and that was asked."""
    table = ask.table
    try:
        text = _replace(ask, table)
    except SfumatoError as error:
        return _page(ask, table, str(error), status=409)
    if ask.said("go") and check_draft(text, table.lists).schema is not None:
        return go(ask, "t", table.name, "check")
    place = ask.said("preset").partition(":")[0] or ask.said("place")
    return go(
        ask, "t", table.name, f"describe?open={place}" if place else "describe", mark=f"c{place}" if place else ""
    )


def check_live(ask: Ask) -> Response:
    """The same without leaving the page: what is wrong, field by field, and the draft as YAML."""
    table = ask.table
    try:
        text = _replace(ask, table)
    except SfumatoError as error:
        return JSONResponse({"stale": str(error)}, 409)
    findings = check_draft(text, table.lists)
    troubles: dict[str, list[str]] = {}
    for one in findings.troubles:
        troubles.setdefault(one.field, [])
        troubles[one.field] = findings.of(one.field)
    return JSONResponse(
        {
            "troubles": troubles,
            "states": [_state(findings, place, one) for place, one in enumerate(columns_of(parse_content(text)))],
            "yaml": text,
            "version": version_of(text),
            "complete": findings.schema is not None,
            "summary": _summary(findings),
            "open": OPEN_WORDS,
        }
    )


def save_yaml(ask: Ask) -> Response:
    """Keep a draft that was typed or uploaded; what is no YAML is shown again and not kept."""
    table, uploaded = ask.table, ask.upload("file")
    text = ask.said("yaml").replace("\r\n", "\n")
    try:
        if uploaded:
            text = uploaded[1].decode("utf-8-sig")
        parse_content(text)
        table.replace_draft(text, ask.said("version"))
    except UnicodeDecodeError:
        return _page(ask, table, f"{uploaded[0] if uploaded else ''} is no text in UTF-8; save it so", status=400)
    except SfumatoError as error:
        return _page(ask, table, str(error), text, status=400)
    return go(ask, "t", table.name, "describe", mark="yaml")


def read_book(ask: Ask) -> Response:
    """A fresh draft from the header and an uploaded code book."""
    table, uploaded = ask.table, ask.upload("file")
    if uploaded is None:
        return _page(
            ask, table, "no file was chosen; choose a code book, a CSV file with a line for each column", status=400
        )
    name, content = uploaded
    with tempfile.TemporaryDirectory(dir=table.folder) as folder:
        path = Path(folder) / "book.csv"
        path.write_bytes(content)
        try:
            absent = table.draft_anew(read_codebook(path))
        except SfumatoError as error:
            return _page(ask, table, str(error).replace(str(path), name), status=400)
    if absent:
        return _page(ask, table, f"{name} also describes {', '.join(absent)}, which the table does not have")
    return go(ask, "t", table.name, "describe")


def add_list(ask: Ask) -> Response:
    """Keep a list of values that columns may name."""
    table, uploaded = ask.table, ask.upload("file")
    try:
        if uploaded is None:
            raise RequestError("no file was chosen; choose a .txt file with a value in each line, or a .csv file")
        table.add_list(*uploaded)
    except SfumatoError as error:
        return _page(ask, table, str(error), status=400)
    return go(ask, "t", table.name, "describe", mark="lists")


def download(ask: Ask) -> Response:
    """The draft as a file."""
    headers = {"content-disposition": 'attachment; filename="schema.yaml"'}
    return Response(ask.table.draft, media_type="application/yaml", headers=headers)
