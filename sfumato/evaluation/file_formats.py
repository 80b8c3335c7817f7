"""How text is written, as far as it can be told by looking: separator and encoding of files, numbers, dates.

For the custodian and for drafts. A release never asks this: it reads a file as the schema says, or as its name does.
"""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sfumato.trusted.encoding.text_formats import reader_of
from sfumato.trusted.schema import TextFormat
from sfumato.trusted.sources.files import csv_start

_PROBE = 1 << 20  # bytes of a file
_SEPARATORS = (",", ";", "\t", "|")
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SIGNS = ((".", None), (",", None), (",", "."), (",", " "), (".", ","), (".", "'"))  # of decimals and thousands
_DAYS = ("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y%m%d")
_WORD = re.compile(r"[^\d\s.,'’+-]+(?: ?[^\d\s.,'’+-]+)*")
_MOST_ALIKE = 0.8  # of the values that cannot be read
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


def likely_format(texts: Mapping[str, int], column_type: str) -> str | None:
    """What to write where texts that cannot be read, each with how often it occurs, look like another format."""
    texts = {text: count for text, count in texts.items() if any(map(str.isdigit, text))}  # others are words: "n/a"
    best = max(_formats(texts, column_type), key=lambda text: _read_by(text, texts, column_type))
    if _read_by(best, texts, column_type) <= _MOST_ALIKE * sum(texts.values()):
        return None
    return f"they could be read with `text: {{{keys_of(best)}}}` in the schema, if that is what they mean"


def _read_by(text: TextFormat, texts: Mapping[str, int], column_type: str) -> int:
    reader = reader_of(column_type, text)
    return sum(count for one, count in texts.items() if reader is not None and reader(one.encode()) is not None)


def _formats(texts: Iterable[str], column_type: str) -> Iterable[TextFormat]:
    """Formats that a column may be written in, the likelier first."""
    if column_type in ("date", "datetime"):
        times = ("", " %H:%M", " %H:%M:%S")
        return (TextFormat.model_validate({f"{column_type}s": day + time}) for day in _DAYS for time in times)
    words = Counter(word.group() for one in texts if (word := _WORD.search(one)))
    units = [(), *((word,) for word, _ in words.most_common(1))]
    return (
        TextFormat.model_validate({"decimal": decimal, "thousands": thousands, "units": unit})
        for unit in units
        for decimal, thousands in _SIGNS
    )


def keys_of(text: TextFormat) -> str:
    """What a format says, as YAML inside of braces."""
    found = text.model_dump(exclude_defaults=True)
    return ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in found.items())


def format_of_header(data: Any) -> TextFormat:
    """What the header line alone tells of the format of a CSV file; a plain format for other tables."""
    start = _start_of(data)
    if start is None:
        return TextFormat()
    content, by_name = start
    encoding = encoding_of(re.split(rb"[\r\n]", content, maxsplit=1)[0])
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
