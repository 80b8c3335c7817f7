"""How a CSV file is written, as far as its first bytes tell: separator and encoding, and what the schema says of them.

A release never asks this: it reads a file as the schema says, or as its name does.
"""

import codecs
import json
from pathlib import Path
from typing import Any

from sfumato.trusted.schema import TextFormat
from sfumato.trusted.sources.files import csv_start

_PROBE = 1 << 20  # bytes of a file
_SEPARATORS = (",", ";", "\t", "|")
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ONLY_CP1252 = bytes(range(0x80, 0xA0))  # letters there, and control characters in other encodings of single bytes


def check_encoding(data: Any, text: TextFormat) -> str | None:
    """What to write where a CSV file is not encoded as the schema says. Reads rows."""
    start = _start_of(data)
    if start is None or start[0].isascii():
        return None
    found, said = encoding_of(start[0]), text.encoding
    if found == said or (_is_of_bytes(found) and _is_of_bytes(said) and not set(start[0]) & set(_ONLY_CP1252)):
        return None
    cure = f"write `text: {{encoding: {found}}}` into the schema" if found != "utf-8" else "leave `encoding` out of it"
    if _is_of_bytes(found):
        return f"the file is not {said.upper()} and looks like {found}, so that letters beyond ASCII are lost; {cure}"
    return f"the file is {found.upper()} and the schema says {said}, so that letters beyond ASCII are lost; {cure}"


def check_separator(data: Any, text: TextFormat) -> str | None:
    """What to write where the header of a CSV file is separated by something else. Looks at the first line alone."""
    start = _start_of(data)
    if start is None:
        return None
    header, expected = _header_of(start[0], text.encoding), text.separator or start[1]
    found = max(_SEPARATORS, key=header.count)
    if header.count(found) <= header.count(expected):
        return None
    cure = f"write `text: {{separator: {json.dumps(found)}}}` into the schema"
    return f"the header is separated by {found!r}, and {expected!r} is expected; {cure}"


def format_of_header(data: Any) -> TextFormat:
    """What the header line alone tells of the format of a CSV file; a plain format for other tables."""
    start = _start_of(data)
    if start is None:
        return TextFormat()
    content, by_name = start
    line = content[:2] if content.startswith(_MARKS) else content.partition(b"\n")[0]
    encoding = encoding_of(line)
    header = _header_of(content, encoding)
    found = max(_SEPARATORS, key=header.count)
    separator = found if header.count(found) > header.count(by_name) else None
    return TextFormat.model_validate({"separator": separator, "encoding": encoding})


def encoding_of(content: bytes) -> str:
    """The encoding that some bytes look like. Of those of single bytes, the one that most programs write."""
    if content.startswith(_MARKS):
        return "utf-16"
    for encoding in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(content)  # a letter may be cut at the end
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _is_of_bytes(encoding: str) -> bool:
    return not encoding.startswith("utf")


def _header_of(content: bytes, encoding: str) -> str:
    """The first line, as text."""
    text = content.decode(encoding, "replace")
    return text.splitlines()[0] if text else ""


def _start_of(data: Any) -> tuple[bytes, str] | None:
    """The first bytes of one CSV file, and the separator that its name tells; None for other tables."""
    return csv_start(data, _PROBE) if isinstance(data, str | Path) else None
