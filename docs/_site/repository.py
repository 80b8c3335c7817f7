"""Files of the repository that pages link to: each gets a page of the site, so that no link leaves it.

A path of the repository becomes a path of the site: `docs/promise.md` is `promise.md`, `sfumato/trusted/noise.py` is
`repository/sfumato/trusted/noise.py.md`, a folder is the page that lists it.
"""

import json
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_LINK = re.compile(r"(\]\(|\bsrc=\"|\bhref=\")([^)\s\"#]+)((?:#[^)\s\"]*)?)")
_SHOWN = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".ipynb": "", ".md": ""}
_UNLISTED = {"__pycache__"}
_ASIDE = "---\norphan: true\nnosearch: true\n---\n\n"


def site_path(path: Path) -> str:
    """Where a file or folder of the repository lies in the site."""
    inside = path.is_relative_to(DOCS)
    uri = path.relative_to(DOCS if inside else ROOT).as_posix()
    if path.is_dir():
        uri += "/README.md" if (path / "README.md").exists() else "/index.md"
    elif not inside and path.suffix in _SHOWN and path.suffix != ".md":
        uri += ".md"
    return uri if inside else f"repository/{uri}"


@cache
def linked_files() -> tuple[Path, ...]:
    """Every file and folder outside of `docs/` that a page leads to, directly or by another one."""
    found: dict[Path, None] = {}
    waiting = [path for path in sorted(DOCS.rglob("*.md")) if "_site" not in path.parts]
    waiting += [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    while waiting:
        path = waiting.pop()
        if not path.is_relative_to(DOCS):
            found[path.parent / "README.md" if path.is_file() and path.name == "README.md" else path] = None
        for target in _targets(path):
            if target not in found and not target.is_relative_to(DOCS):
                waiting.append(target)
    return tuple(sorted({path / "README.md" if _has_readme(path) else path for path in found}))


def page_of(path: Path) -> str | None:
    """The Markdown of a file that is shown as a page; None for a file that is copied as it is."""
    if path.is_dir():
        lines = (f"- [{child.name}{'/' * child.is_dir()}]({child.name})" for child in _children(path))
        return f"{_ASIDE}# {path.relative_to(ROOT)}/\n\n" + "\n".join(lines) + "\n"
    if path.suffix not in _SHOWN:
        return None
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    if path.suffix == ".ipynb":
        return _page_of_notebook(text)
    return f"{_ASIDE}# {path.relative_to(ROOT)}\n\n````{_SHOWN[path.suffix]}\n{text}````\n"


def redirect_links(markdown: str, uri: str) -> str:
    """A page whose links to files of the repository lead to their places in the site."""
    home = _origin(uri)

    def redirect(match: re.Match[str]) -> str:
        before, target, anchor = match.groups()
        path = _resolve(home, target)
        if path is None or not path.is_relative_to(ROOT):
            return match.group()
        return before + posixpath.relpath(site_path(path), posixpath.dirname(uri) or ".") + anchor

    return _LINK.sub(redirect, markdown)


def _origin(uri: str) -> Path:
    """The folder of the repository that the links of a page of the site start from."""
    folder = Path(uri).parent
    outside = folder.parts[:1] == ("repository",)
    return ROOT.joinpath(*folder.parts[1:]) if outside else DOCS / folder


def _resolve(folder: Path, target: str) -> Path | None:
    if "://" in target or target.startswith(("mailto:", "/", "#")):
        return None
    path = Path(posixpath.normpath(folder / target))
    return path if path.exists() else None


def _targets(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from _children(path)
    elif path.suffix in (".md", ".ipynb"):
        for match in _LINK.finditer(page_of(path) or ""):
            target = _resolve(path.parent, match.group(2))
            if target is not None and target.is_relative_to(ROOT):
                yield target


def _children(folder: Path) -> list[Path]:
    shown = (child for child in folder.iterdir() if child.is_dir() or child.suffix in _SHOWN)
    return sorted(child for child in shown if child.name not in _UNLISTED)


def _has_readme(path: Path) -> bool:
    return path.is_dir() and (path / "README.md").exists()


def _page_of_notebook(text: str) -> str:
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join(parts) + "\n"
