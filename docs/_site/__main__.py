"""Stages the sources under `build/` and lets Sphinx make the site of them: `python -m docs._site`."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from sphinx.cmd.build import main as run_sphinx

from docs._site.command_pages import command_reference
from docs._site.gallery import gallery_pages
from docs._site.navigation import contents
from docs._site.python_pages import python_reference
from docs._site.repository import DOCS, ROOT, linked_files, page_of, redirect_links, site_path
from docs._site.schema_pages import schema_reference

SOURCES, PAGES, SITE = ROOT / "build" / "site", ROOT / "build" / "site-pages", ROOT / "site"
_HERE = Path(__file__).parent


def stage(folder: Path) -> None:
    """Write every page and picture of the site into a folder, whose tree is that of the site."""
    for uri, text in _texts():
        _write(folder / uri, redirect_links(text, uri))
    _write(folder / "index.md", (folder / "index.md").read_text(encoding="utf-8") + contents())
    for path in _copied():
        _place(folder / site_path(path)).write_bytes(path.read_bytes())


def build() -> int:
    """Build the whole site anew; every warning is an error."""
    for folder in (SOURCES, PAGES, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    stage(SOURCES)
    for name, page in gallery_pages().items():
        _write(PAGES / name, page)
    words = ["-W", "--keep-going", "-n", "-q", "-b", "html", "-c", _HERE, "-d", ROOT / "build" / "site-cache"]
    return int(run_sphinx([str(word) for word in [*words, SOURCES, SITE]]))


def _texts() -> Iterator[tuple[str, str]]:
    for path in sorted(DOCS.rglob("*.md")):
        if not path.is_relative_to(_HERE):
            yield site_path(path), path.read_text(encoding="utf-8")
    for path in linked_files():
        page = page_of(path)
        if page is not None:
            yield site_path(path), page
    yield "reference/commands.md", command_reference()
    yield "reference/python.md", python_reference()
    yield "reference/schema_keys.md", schema_reference()


def _copied() -> Iterator[Path]:
    for path in sorted(DOCS.rglob("*")):
        if path.is_file() and path.suffix in (".json", ".svg", ".png"):
            yield path
    yield from (path for path in linked_files() if page_of(path) is None)


def _write(path: Path, text: str) -> None:
    _place(path).write_text(text, encoding="utf-8")


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


if __name__ == "__main__":
    sys.exit(build())
