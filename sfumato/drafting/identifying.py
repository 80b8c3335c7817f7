"""Columns that a release cannot hold, told by name and declared type alone: ids, what names people, free text."""

import re

_IDS = re.compile(r"(.*_)?(id|uuid|guid|ssn|mrn)")
_PEOPLE = re.compile(
    r"((first|last|middle|full|user|patient)_?|sur|fore)?name|(.*_)?(e_?mail|phone|telephone|mobile|address|street)"
)
_FREE_TEXT = re.compile(r"(.*_)?(notes?|comments?|remarks?|free_?text|text|description)")
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]+")


def is_id(name: str, kind: str) -> bool:
    """Whether a column is called like an id and may hold one; `kind` is "nothing" where the table declares no type."""
    return kind in ("integer", "text", "nothing") and _IDS.fullmatch(_plainly(name)) is not None


def is_free_text(name: str, kind: str) -> bool:
    """Whether a column is called like free text, or like what names a person, and may hold it."""
    called = _PEOPLE.fullmatch(_plainly(name)) or _FREE_TEXT.fullmatch(_plainly(name))
    return kind in ("text", "nothing") and called is not None


def _plainly(name: str) -> str:
    return _WORD_BREAK.sub("_", name.strip()).lower()
