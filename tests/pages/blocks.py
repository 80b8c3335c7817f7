"""The blocks of code of a page of Markdown, and what the page says of each.

What a reader is told in words tells the tests as well: "save this as `stays.yaml`" above a block names its file, and a
block of `text` below one is what it prints. Two comments, which no reader sees, may stand above a block: `figures vary`
where numbers differ from run to run, `refused` where each command must fail.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"\b[Ss]ave (?:this|it)[^`]*as\s+`([^`]+)`[^`]*:\s*$")
_REMARK = re.compile(r"<!-- (figures vary|refused) -->")


@dataclass(frozen=True)
class Block:
    """One block: where it stands, what it is, and what the page says of it."""

    page: Path
    line: int
    language: str
    text: str
    saved_as: str | None = None
    prints: str | None = None
    varies: bool = False
    refused: bool = False

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """All blocks with a language, from top to bottom; one of `text` below another is what that one prints."""
    found: list[Block] = []
    for block in _read(page):
        if block.language != "text":
            found.append(block)
        elif found and found[-1].prints is None:
            found[-1] = Block(**{**vars(found[-1]), "prints": block.text, "varies": block.varies})
    return found


def _read(page: Path) -> Iterator[Block]:
    text, end = page.read_text(encoding="utf-8"), 0
    for match in _FENCE.finditer(text):
        above = text[end : match.start()]
        remarks = set(_REMARK.findall(above))
        saved = _SAVED.search(_REMARK.sub("", above).rstrip())
        end = match.end()
        if match["language"]:
            yield Block(
                page,
                text.count("\n", 0, match.start()) + 1,
                match["language"],
                match["text"],
                saved.group(1) if saved else None,
                varies="figures vary" in remarks,
                refused="refused" in remarks,
            )
