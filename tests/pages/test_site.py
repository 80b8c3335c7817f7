"""The parts of the site that are made from code, and the built site itself."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato
from docs._site.docstrings import to_markdown
from docs._site.navigation import pages_in_order
from docs._site.repository import linked_files, redirect_links
from tests.test_examples import MODULES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ROLES = ("custodian", "analyst", "auditor", "researcher", "contributor")
RUN_ELSEWHERE = {"sfumato.audit"}  # takes a minute; the slow test of docs/audit.md runs it
_LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|data)=[\"']?(?:https?:)?//", re.I
)
_LINKED = re.compile(r"<link\b[^>]*\bhref=[\"']?(?:https?:)?//", re.I)
_IN_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", re.I)


def outside(text: str) -> list[str]:
    """What a browser would load from elsewhere for a page or a style sheet."""
    return [match.group() for rule in (_LOADED, _LINKED, _IN_STYLE) for match in rule.finditer(text)]


def test_every_role_has_a_first_page_and_a_tutorial():
    pages = set(pages_in_order())
    for role in ROLES:
        assert {DOCS / "start" / f"{role}.md", DOCS / "tutorials" / f"{role}.md"} <= pages


def test_the_glossary_is_in_order_and_leads_on():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^\*\*(.+?)\.\*\* (.+?)(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    names = [name.lower() for name, _ in entries]
    assert names == sorted(names)
    assert len(names) > 35
    for name, explained in entries:
        assert "](" in explained, name


def test_every_public_name_is_in_the_reference():
    griffe = pytest.importorskip("griffe")
    from docs._site.python_pages import PUBLIC

    names = {name: home for part in PUBLIC.values() for name, home in part.items()}
    assert {name.removeprefix("sfumato.") for name in names} >= set(sfumato.__all__) - {"__version__", "SfumatoError"}
    package = griffe.load("sfumato", search_paths=[str(ROOT)])
    for name, home in names.items():
        found = package[home.removeprefix("sfumato.")]
        assert found.docstring, name
        if ">>>" in found.docstring.value and name not in RUN_ELSEWHERE:
            assert home.rpartition(".")[0] in MODULES, f"the examples of {name} are not run"


def test_the_reference_of_commands_has_every_command():
    from docs._site.command_pages import command_reference

    text = command_reference()
    for command in ("release", "verify", "schema init", "ledger show"):
        assert f"\n## sfumato {command}\n" in text
    assert "additive failure" in text


def test_docstrings_become_lists_headings_and_code():
    arguments = "One line.\n\nrows    how many;\n        at least one\nseed    repeats\n\n"
    made = to_markdown(f"{arguments}Formal guarantees\n    It holds.\n\nExample\n    >>> 1 + 1\n    2\n")
    assert "- `rows`: how many; at least one\n- `seed`: repeats" in made
    assert "**Formal guarantees**\n\nIt holds." in made
    assert "```pycon\n>>> 1 + 1\n2\n```" in made


def test_links_out_of_the_folder_stay_in_the_site():
    assert redirect_links("[a](../sfumato/trusted/noise.py)", "tables.md") == (
        "[a](repository/sfumato/trusted/noise.py.md)"
    )
    assert redirect_links("[a](docs/promise.md#what-it-covers)", "repository/README.md") == (
        "[a](../promise.md#what-it-covers)"
    )
    assert redirect_links("[a](https://example.org)", "x.md") == "[a](https://example.org)"
    assert ROOT / "sfumato" / "trusted" / "noise.py" in linked_files()


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://x.org/a.js">', '<link rel="stylesheet" href="//x.org/a.css">', "@import 'https://x.org/a'",
        "src: url(https://x.org/font.woff)", '<img alt="" src="http://x.org/a.png">',
    ],
)  # fmt: skip
def test_what_a_browser_would_load_is_seen(text):
    assert outside(text)
    assert not outside('<a href="https://x.org">elsewhere</a>')


@pytest.mark.slow
def test_the_site_is_built_without_warnings_and_loads_nothing_from_elsewhere():
    pytest.importorskip("sphinx")
    done = subprocess.run([sys.executable, "-m", "docs._site"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    site = importlib.import_module("docs._site.__main__").SITE
    pages = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    assert len(pages) > 150
    for path in pages:
        assert not outside(path.read_text(encoding="utf-8")), path
    assert "Search.setIndex" in (site / "searchindex.js").read_text(encoding="utf-8")[:100]
