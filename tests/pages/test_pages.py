"""Every block of code of the site runs, page by page, in a folder of its own."""

import tomllib
from pathlib import Path

import pytest

from docs._site.navigation import pages_in_order
from tests.pages.blocks import Block, blocks_of
from tests.pages.prepared import prepare
from tests.pages.running import ROOT, run_block

LANGUAGES = {"python", "pycon", "console", "yaml"}
PAGES = [ROOT / "README.md", *pages_in_order()]
SLOW = {
    *("README", "audit", "auditor", "choose_epsilon", "evaluation", "families", "framework", "generators", "planning"),
    *("slices", "spark", "subspace"),
}
NOT_RUN = tomllib.loads((Path(__file__).parent / "not_run.toml").read_text(encoding="utf-8"))["block"]


def is_left_out(block: Block) -> bool:
    return any(block.page.name == one["page"] and one["line"] in block.text.splitlines() for one in NOT_RUN)


def marked(page: Path) -> object:
    marks = [pytest.mark.slow] if page.stem in SLOW else []
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", [marked(page) for page in PAGES if blocks_of(page)])
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    names = prepare(page, folder)
    for block in blocks_of(page):
        if block.language in LANGUAGES and not is_left_out(block):
            run_block(block, names, folder)


def test_every_page_of_the_folder_is_in_the_site():
    pages = {path for path in (ROOT / "docs").rglob("*.md") if "_site" not in path.parts}
    assert pages == set(pages_in_order())


def test_what_is_left_out_is_still_there():
    blocks = [block for page in PAGES for block in blocks_of(page)]
    for one in NOT_RUN:
        assert any(block.page.name == one["page"] and one["line"] in block.text.splitlines() for block in blocks), one
        assert one["why"]


def test_every_block_has_a_known_language():
    known = {*LANGUAGES, "sql", "csv", "html"}
    assert {block.language for page in PAGES for block in blocks_of(page)} <= known
