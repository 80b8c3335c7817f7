"""The order of the site, as Sphinx's tables of contents."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("navigation.toml")
_DOCS = Path(__file__).parents[1]


def sections() -> list[dict[str, Any]]:
    """Caption and pages of every section."""
    found: list[dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["section"]
    return found


def contents() -> str:
    """What is appended to the first page: hidden tables of contents, which the side bar shows."""
    return "\n" + "\n".join(_directive(section["caption"], list(_expand(section["pages"]))) for section in sections())


def pages_in_order() -> Iterator[Path]:
    """The files of the pages in `docs/`, the first one before all others."""
    yield _DOCS / "index.md"
    for section in sections():
        for page in _expand(section["pages"]):
            path = _DOCS / f"{page.rpartition('<')[2].rstrip('>')}.md"
            if path.exists():
                yield path


def _expand(pages: list[str]) -> Iterator[str]:
    for page in pages:
        if "*" in page:
            yield from (path.relative_to(_DOCS).with_suffix("").as_posix() for path in sorted(_DOCS.glob(f"{page}.md")))
        else:
            yield page


def _directive(caption: str, pages: list[str]) -> str:
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
